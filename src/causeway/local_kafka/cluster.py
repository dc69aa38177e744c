"""A cluster of real brokers (KRaft), each its own process, in one directory.

    <directory>/cluster.json            the cluster's shape, never changed
    <directory>/broker-0/               server.properties, broker.log, process.json, data/
    <directory>/schema-registry/        if it has one (schema_registry.py)

Brokers end with the process that started them, unless they are detached.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from causeway.core.plural import counted
from causeway.errors import SetupError, UsageError
from causeway.local_kafka import cluster_shape, ports, scram_users
from causeway.local_kafka.broker import SETTINGS, START_SECONDS, Broker
from causeway.local_kafka.cluster_shape import ClusterShape
from causeway.local_kafka.jars import DEFAULT_VERSION, kafka_jars
from causeway.local_kafka.java import find_java
from causeway.local_kafka.kept_process import STOP_SECONDS
from causeway.local_kafka.listener_security import ListenerSecurity
from causeway.local_kafka.private_files import write_private
from causeway.local_kafka.properties import render, server_properties
from causeway.local_kafka.schema_registry import SchemaRegistry
from causeway.local_kafka.storage import format_broker

RECORD = "cluster.json"

_REGISTRY = "schema-registry"
_MOST_BROKERS = 9
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


SMALL = "-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For many brokers that live for minutes: the C2 compiler would take more CPU than it saves."""


class EmbeddedCluster:
    """Created by `start` (a new one) or `open` (an existing one). As a context manager it destroys itself."""

    def __init__(self, cluster: ClusterShape, directory: Path, *, detached: bool) -> None:
        self.shape = cluster
        self.name = cluster.name
        self.version = cluster.version
        self.directory = directory
        self.bootstrap_servers = cluster.bootstrap_servers
        self.internal_servers = cluster.internal_servers
        self.proxied_servers = cluster.proxied_servers
        self.brokers = [
            Broker(
                broker,
                broker_directory(directory, broker.id),
                version=cluster.version,
                java_options=cluster.java_options,
                detached=detached,
            )
            for broker in cluster.brokers
        ]
        self._detached = detached
        self.registry = SchemaRegistry.open(directory / _REGISTRY, detached=detached)

    @classmethod
    def start(
        cls,
        name: str,
        brokers: int = 1,
        port: int | None = None,
        version: str = DEFAULT_VERSION,
        config: Mapping[str, str] | None = None,
        directory: Path | None = None,
        *,
        detached: bool = False,
        proxied: Mapping[int, int] | None = None,
        listeners: Mapping[str, ListenerSecurity] | None = None,
        java_options: str = SMALL,
        timeout: float = START_SECONDS,
    ) -> EmbeddedCluster:
        """Create a cluster; returns when it is ready.

        `port` is the first broker's, the next ones follow; `config` is added to every broker's
        server.properties; `proxied` has, for the id of a broker, the port that its PROXY listener
        advertises (it listens on `brokers[i].proxy_target_port`); `listeners` has the security of CLIENT, and
        of further listeners by their names (`servers_of`).
        Raises UsageError for invalid arguments, SetupError if the brokers do not come up.
        """
        check_name(name)
        check_ports(brokers, port)
        if directory is not None and (directory / RECORD).exists():
            raise UsageError("a cluster already exists here", where=str(directory), todo="open or remove it")
        cluster = cluster_shape.new_shape(
            name,
            brokers=brokers,
            port=port,
            version=version,
            java_options=java_options,
            config=config or {},
            proxied=proxied or {},
            listeners=listeners,
        )
        java, jars = find_java(), kafka_jars(version)  # fail before a directory is created
        place = directory or Path(tempfile.mkdtemp(prefix=f"causeway-{name}-"))
        _lay_out(java, jars, cluster, place)
        made = cls(cluster, place.absolute(), detached=detached)
        made.start_brokers(timeout)
        return made

    @classmethod
    def open(cls, directory: Path, *, detached: bool = True) -> EmbeddedCluster:
        """A cluster created by `start`, running or not."""
        return cls(read_shape(directory), directory, detached=detached)

    def servers_of(self, listener: str) -> str:
        """The addresses of one of the further listeners."""
        return self.shape.servers_of(listener)

    def set_scram_user(self, mechanism: str, user: str, password: str) -> None:
        """Add a user that SCRAM listeners accept, or change its password. The cluster must run."""
        scram_users.put(self.internal_servers, mechanism, user, password)

    def remove_scram_user(self, mechanism: str, user: str) -> None:
        scram_users.remove(self.internal_servers, mechanism, user)

    def start_brokers(self, timeout: float = START_SECONDS) -> None:
        """Start the brokers that are down and wait for all; after a failure, kill those started here."""
        down = [broker for broker in self.brokers if not broker.is_up]
        try:
            for broker in down:
                broker.start(wait=False)
            self.wait_ready(timeout)
        except BaseException:
            for broker in down:
                broker.kill()
            raise

    def start_registry(self) -> SchemaRegistry:
        """Start the schema registry beside the brokers; create it if there is none."""
        if self.registry is None:
            self.registry = SchemaRegistry.start(self.directory / _REGISTRY, detached=self._detached)
        else:
            self.registry.start_process()
        return self.registry

    def wait_ready(self, timeout: float = START_SECONDS) -> None:
        """Wait until every running broker responds and sees every other running broker."""
        deadline = time.monotonic() + timeout
        up = [broker for broker in self.brokers if broker.is_up]
        for broker in up or self.brokers:
            broker.wait_ready({running.id for running in up}, max(0.0, deadline - time.monotonic()))

    def stop(self) -> None:
        """Stop brokers and registry cleanly; the data stays."""
        if self.registry is not None:
            self.registry.stop()
        deadline = time.monotonic() + STOP_SECONDS
        for broker in self.brokers:
            broker.ask_to_stop()
        for broker in self.brokers:
            broker.stop(max(0.0, deadline - time.monotonic()))

    def destroy(self) -> None:
        """Kill brokers and registry, since their data is not needed any more, and remove the data."""
        if self.registry is not None:
            self.registry.kill()
        for broker in self.brokers:
            broker.kill()
        shutil.rmtree(self.directory)

    def __enter__(self) -> EmbeddedCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.destroy()


def broker_directory(cluster: Path, node: int) -> Path:
    return cluster / f"broker-{node}"


def _lay_out(java: Path, jars: Path, cluster: ClusterShape, directory: Path) -> None:
    """Write everything a cluster needs to disk. The record comes last: without it there is no cluster."""
    for broker in cluster.brokers:
        place = broker_directory(directory, broker.id)
        format_broker(java, jars, cluster, broker, place)
        write_private(place / SETTINGS, render(server_properties(cluster, broker)))
    write_private(directory / RECORD, cluster.to_json())


def read_shape(directory: Path) -> ClusterShape:
    record = directory / RECORD
    try:
        return ClusterShape.from_json(record.read_text())
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(
            "the description of this cluster cannot be read",
            where=str(record),
            why=str(error),
            todo=f"kill its brokers, if any, and remove {directory}",
        ) from error


def check_name(name: str) -> None:
    """A name becomes a directory name, so it must not lead elsewhere."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid cluster name", todo="use letters, digits, - and _")


def check_ports(brokers: int, port: int | None) -> None:
    if not 1 <= brokers <= _MOST_BROKERS:
        raise UsageError(
            f"a cluster cannot have {counted(brokers, 'broker')}", todo=f"use 1 to {_MOST_BROKERS} brokers"
        )
    if port is None:
        return
    if not 1 <= port <= 65536 - brokers:
        raise UsageError(f"port {port} is out of range", todo="use a port between 1 and 65535")
    for number in range(port, port + brokers):
        if not ports.is_free(number):
            raise UsageError(
                f"port {number} is in use",
                where=f"{ports.HOST}:{number}",
                todo="choose another --port, or omit it to use a free one",
            )
