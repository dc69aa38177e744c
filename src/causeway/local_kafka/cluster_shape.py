"""What a cluster consists of: a frozen value, decided once and kept in its cluster.json.

Node ids start at 0, so `brokers[i]` is the broker with id i.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from causeway.local_kafka.listener_security import ListenerSecurity
from causeway.local_kafka.ports import HOST, free_ports

CONTROLLERS = 3
CLIENT = "CLIENT"


@dataclass(frozen=True)
class BrokerShape:
    """The ports of one broker. They never change, so a restarted broker has the same address."""

    id: int
    client_port: int
    internal_port: int
    controller_port: int
    proxy_target_port: int | None = None
    proxied_port: int | None = None
    more_ports: Mapping[str, int] = field(default_factory=dict)  # of further listeners


@dataclass(frozen=True)
class ClusterShape:
    name: str
    version: str
    cluster_id: str
    java_options: str
    config: Mapping[str, str]
    brokers: tuple[BrokerShape, ...]
    listeners: Mapping[str, ListenerSecurity] = field(default_factory=dict)

    @property
    def controllers(self) -> tuple[BrokerShape, ...]:
        return self.brokers[:CONTROLLERS]

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{broker.client_port}" for broker in self.brokers)

    @property
    def internal_servers(self) -> str:
        return ",".join(f"{HOST}:{broker.internal_port}" for broker in self.brokers)

    @property
    def proxied_servers(self) -> str:
        ports = [broker.proxied_port for broker in self.brokers if broker.proxied_port is not None]
        return ",".join(f"{HOST}:{port}" for port in ports)

    def servers_of(self, listener: str) -> str:
        """The brokers' addresses on one of the further listeners."""
        return ",".join(f"{HOST}:{broker.more_ports[listener]}" for broker in self.brokers)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> ClusterShape:
        """Raises ValueError, KeyError or TypeError for a text that to_json did not write."""
        record: dict[str, Any] = json.loads(text)
        brokers = tuple(BrokerShape(**broker) for broker in record.pop("brokers"))
        listeners = {
            name: ListenerSecurity(**{**security, "mechanisms": tuple(security["mechanisms"])})
            for name, security in record.pop("listeners", {}).items()
        }
        return cls(**record, brokers=brokers, listeners=listeners)


def new_shape(
    name: str,
    *,
    brokers: int,
    port: int | None,
    version: str,
    java_options: str,
    config: Mapping[str, str],
    proxied: Mapping[int, int],
    listeners: Mapping[str, ListenerSecurity] | None = None,
) -> ClusterShape:
    """The shape of a new cluster: chooses its id and its ports."""
    listeners = dict(listeners or {})
    more = [name for name in listeners if name != CLIENT]
    given = [] if port is None else [port + node for node in range(brokers)]
    # One more for each given port: a free port may be one of those.
    spare = iter([free for free in free_ports((5 + len(more)) * brokers) if free not in given])
    shapes = tuple(
        BrokerShape(
            id=node,
            client_port=given[node] if given else next(spare),
            internal_port=next(spare),
            controller_port=next(spare),
            proxy_target_port=next(spare) if node in proxied else None,
            proxied_port=proxied.get(node),
            more_ports={name: next(spare) for name in more},
        )
        for node in range(brokers)
    )
    return ClusterShape(name, version, new_uuid(), java_options, dict(config), shapes, listeners)


def new_uuid() -> str:
    """An id in Kafka's format: base64, and like Kafka's never with a leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
