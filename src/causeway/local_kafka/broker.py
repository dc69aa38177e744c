"""One broker: a directory with its settings, log and data, and its process, if it runs."""

from __future__ import annotations

import signal
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from causeway.local_kafka import ports
from causeway.local_kafka.cluster_shape import BrokerShape
from causeway.local_kafka.jars import kafka_jars
from causeway.local_kafka.java import find_java
from causeway.local_kafka.kept_process import STOP_SECONDS, KeptProcess

SETTINGS = "server.properties"
START_SECONDS = 60.0
_POLL_SECONDS = 0.05

_LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
    # Otherwise each start would list all 400 settings, twice.
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.utils.AppInfoParser=warn",
)


class Broker:
    def __init__(
        self, shape: BrokerShape, directory: Path, *, version: str, java_options: str, detached: bool
    ) -> None:
        self.id = shape.id
        self.port = shape.client_port
        self.proxy_target_port = shape.proxy_target_port
        self.directory = directory
        self.log = directory / "broker.log"
        self._internal_port = shape.internal_port
        self._version = version
        self._java_options = java_options
        self._process = KeptProcess(f"broker {shape.id}", directory, self.log, detached=detached)

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def is_up(self) -> bool:
        return self._process.is_up

    def start(self, *, wait: bool = True, timeout: float = START_SECONDS) -> None:
        """Start on the same port with the same data; raises SetupError if it does not come up."""
        if self.is_up:
            return
        java, jars = find_java(), kafka_jars(self._version)
        options = [*shared_classes(java, jars), *self._java_options.split(), *_LOGGING]
        self._process.start([str(java), *options, "-cp", f"{jars}/*", "kafka.Kafka", SETTINGS])
        if wait:
            self.wait_ready({self.id}, timeout)

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Stop it with SIGTERM; after the timeout, with SIGKILL."""
        self._process.stop(timeout)

    def ask_to_stop(self) -> None:
        self._process.ask_to_stop()

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self._process.kill()

    def pause(self) -> None:
        self._process.send(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send(signal.SIGCONT)

    def wait_ready(self, expected: Iterable[int], timeout: float = START_SECONDS) -> None:
        """Wait until this broker's own metadata lists all expected brokers; raises SetupError otherwise.

        Each attempt uses a new client: a client that knows the cluster would ask any broker, and the other
        brokers list a killed one for some more seconds.
        """
        wanted = set(expected)
        deadline = time.monotonic() + timeout
        while self.is_up:
            if ports.answers(self._internal_port) and wanted <= self._brokers_seen():
                return
            if time.monotonic() >= deadline:
                raise self._process.failure(f"was not ready within {timeout:.0f} s")
            time.sleep(_POLL_SECONDS)
        raise self._process.failure("ended during its start")

    def _brokers_seen(self) -> set[int]:
        client = AdminClient(
            {
                "bootstrap.servers": f"{ports.HOST}:{self._internal_port}",
                "log_level": 0,
                "error_cb": lambda _error: None,
            }
        )
        try:
            return set(client.list_topics(timeout=2).brokers)
        except KafkaException:
            return set()  # not ready yet: the caller's deadline decides


def class_archive(java: Path, jars: Path) -> Path:
    """The archive of Kafka's parsed classes for this Java (class_data_sharing.py)."""
    binary = java.resolve()
    return jars / f"classes-{zlib.crc32(f'{binary} {binary.stat().st_mtime_ns}'.encode()):08x}.jsa"


def shared_classes(java: Path, jars: Path) -> list[str]:
    """The JVM options for that archive, if it exists."""
    path = class_archive(java, jars)
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", "-Xlog:cds=off"] if path.is_file() else []
