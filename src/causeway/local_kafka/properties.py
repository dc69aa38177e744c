"""The server.properties of a broker: a pure function of the cluster's shape.

Listeners, all on 127.0.0.1: CLIENT is for users, and so are the further ones that a cluster may have, each
with its own security. INTERNAL, always PLAINTEXT, is for traffic between brokers and for readiness checks.
PROXY, if requested, advertises the port of a proxy between client and broker.
"""

from __future__ import annotations

from causeway.local_kafka.cluster_shape import CLIENT, BrokerShape, ClusterShape
from causeway.local_kafka.listener_security import ListenerSecurity
from causeway.local_kafka.ports import HOST

DATA = "data"


def server_properties(cluster: ClusterShape, broker: BrokerShape) -> dict[str, str]:
    replicas = str(min(3, len(cluster.brokers)))
    min_isr = str(min(2, len(cluster.brokers)))
    is_controller = broker in cluster.controllers
    listeners = {CLIENT: broker.client_port, **broker.more_ports, "INTERNAL": broker.internal_port}
    advertised = dict(listeners)
    if broker.proxy_target_port is not None and broker.proxied_port is not None:
        listeners["PROXY"] = broker.proxy_target_port
        advertised["PROXY"] = broker.proxied_port
    if is_controller:
        listeners["CONTROLLER"] = broker.controller_port
    return {
        "process.roles": "broker,controller" if is_controller else "broker",
        "node.id": str(broker.id),
        "controller.quorum.voters": ",".join(
            f"{voter.id}@{HOST}:{voter.controller_port}" for voter in cluster.controllers
        ),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL",
        "listeners": _addresses(listeners),
        "advertised.listeners": _addresses(advertised),
        "listener.security.protocol.map": ",".join(
            f"{name}:{cluster.listeners.get(name, ListenerSecurity()).protocol}"
            for name in (CLIENT, *broker.more_ports, "INTERNAL", "PROXY", "CONTROLLER")
        ),
        # Relative to the broker's directory: Kafka would split a path that contains a comma.
        "log.dirs": DATA,
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min_isr,
        "share.coordinator.state.topic.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": min_isr,
        # A killed broker is rejected until its old session has expired: 9 s by default.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        # An idle controller writes a record every 500 ms by default: a fifth of what an idle broker costs.
        "metadata.max.idle.interval.ms": "5000",
        # The default of 128 MB is allocated at start, from a heap of 512 MB.
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        **{
            key: value
            for name, security in cluster.listeners.items()
            for key, value in security.settings(name).items()
        },
        **cluster.config,
    }


def render(properties: dict[str, str]) -> str:
    return "".join(f"{key}={_escaped(value)}\n" for key, value in properties.items())


def _addresses(listeners: dict[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in listeners.items())


def _escaped(value: str) -> str:
    r"""Java reads the file as Latin-1: everything except plain ASCII is written as \uXXXX."""
    units = value.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(
        chr(code) if 32 <= code < 127 and chr(code) != "\\" else f"\\u{code:04x}" for code in codes
    )
