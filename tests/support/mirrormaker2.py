"""A real MirrorMaker 2, in its dedicated mode, as a process of its own.

Its jars come through Ivy like the brokers'. Two settings: as it is shipped, and with everything that its
manual requires for exactly-once. The differences to a user's file are for a small cluster (one replica)
and for shorter waits (its topic refresh interval).
"""

from __future__ import annotations

import json
import re
import signal
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from confluent_kafka import KafkaException

from causeway.local_kafka import DEFAULT_VERSION, find_java, process, resolve
from causeway.local_kafka.ports import HOST, free_ports
from causeway.local_kafka.process import ProcessId, Watchdog
from causeway.local_kafka.properties import render
from support.records import Rec, read_all

Setting = Literal["default", "exactly-once"]
VERSION = DEFAULT_VERSION
TRANSACTION_TIMEOUT_MS = 10_000
STOP_SECONDS = 40.0

_ONE_REPLICA = (
    "replication.factor", "checkpoints.topic.replication.factor", "heartbeats.topic.replication.factor",
    "offset-syncs.topic.replication.factor", "offset.storage.replication.factor",
    "status.storage.replication.factor", "config.storage.replication.factor",
)  # fmt: skip
_JVM = (
    "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
    # Each client would otherwise list all its settings.
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.producer.ProducerConfig=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.consumer.ConsumerConfig=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.admin.AdminClientConfig=warn",
)  # fmt: skip
_MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
_NOT_SENT = re.compile(r"\{id=MirrorSourceConnector-\d+\} failed to send record to (\S+):")
_STATUS_OF_TASK = b"status-task-MirrorSourceConnector-"


@dataclass(frozen=True)
class Flow:
    """From where to where, and what. Internal topics are named after `name`, so each flow needs its own."""

    name: str
    source_servers: str
    destination_servers: str
    topics: str  # an expression, as MirrorMaker 2 reads it

    @property
    def status_topic(self) -> str:
        return f"mm2-status.{self.name}.internal"


def properties(flow: Flow, setting: Setting, rest_port: int = 0) -> dict[str, str]:
    """The mm2.properties of a flow. Exactly-once needs the REST server, for fence requests."""
    there, back = f"{flow.name}->dst", f"dst->{flow.name}"
    shipped = {
        "clusters": f"{flow.name}, dst",
        f"{flow.name}.bootstrap.servers": flow.source_servers,
        "dst.bootstrap.servers": flow.destination_servers,
        f"{there}.enabled": "true",
        f"{there}.topics": flow.topics,
        f"{back}.enabled": "false",
        f"{back}.emit.heartbeats.enabled": "false",
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        **dict.fromkeys(_ONE_REPLICA, "1"),
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "refresh.topics.interval.seconds": "1",
    }
    if setting == "default":
        return shipped
    return {
        **shipped,
        "dst.exactly.once.source.support": "enabled",
        f"{flow.name}.consumer.isolation.level": "read_committed",
        "dst.producer.transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS),
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": f"http://{HOST}:{rest_port}",
    }


class MirrorMaker2:
    """One node, as a mirror for a scenario: it has no ledger that others could read."""

    has_ledger = False

    def __init__(
        self, directory: Path, source_servers: str, destination_servers: str, setting: Setting, *,
        own_eyes: str = "",  # the destination's servers for our own requests, if a proxy is between
    ) -> None:  # fmt: skip
        self.name = f"m{uuid.uuid4().hex[:8]}"
        self.setting = setting
        self.flow = Flow(f"src-{self.name}", source_servers, destination_servers, rf"{self.name}\..*")
        self.log = directory / f"mm2-{self.name}.log"
        self._own_eyes = own_eyes or destination_servers
        self._directory = directory
        self._file = directory / "mm2.properties"
        self._file.write_text(render(properties(self.flow, setting, free_ports(1)[0])))
        self._process: ProcessId | None = None
        self._watchdog: Watchdog | None = None

    def start(self) -> None:
        assert not self.alive, "it runs already"
        self.kill()
        java, jars = find_java(), resolve("org.apache.kafka", "connect-mirror", VERSION)
        command = [str(java), *_JVM, "-cp", f"{jars}/*", _MAIN, self._file.name]
        self._process = process.spawn(command, self._directory, self.log)
        self._watchdog = Watchdog(self._process)

    def kill(self) -> None:
        self._send(signal.SIGKILL)
        if self._process is not None:
            assert process.wait_gone(self._process, 20), f"{self._process} cannot be killed"
        if self._watchdog is not None:
            self._watchdog.disarm()
        self._process = self._watchdog = None

    def stop(self) -> int:
        """SIGTERM, as its own script does. The JVM's exit code shows only that."""
        self._send(signal.SIGTERM)
        ended = self._process is None or process.wait_gone(self._process, STOP_SECONDS)
        self.kill()
        return 0 if ended else 128 + signal.SIGKILL

    @property
    def alive(self) -> bool:
        return self._process is not None and process.is_alive(self._process)

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def named(self, topic: str) -> str:
        return topic

    def pids(self) -> dict[str, list[int]]:
        return {"jvm": [self._process.pid]} if self._process is not None else {}

    def note_ledger(self, journal: object, *, whole: bool) -> None:
        """Its positions are Connect's, in Connect's own topics."""

    def note_map(self, journal: object) -> None:
        """Its offset syncs name some records, not all."""

    def at_end(self, ends: Mapping[tuple[str, int], int]) -> bool:
        return True

    def failures(self) -> list[str]:
        """Why its tasks have failed, by their status records."""
        try:
            partitions = read_all(self._own_eyes, self.flow.status_topic).values()
        except (KafkaException, KeyError):
            return []  # it has no state yet
        return failed([row for rows in partitions for row in rows])

    def refused(self) -> set[str]:
        """Topics to which it could not send, as its log names them."""
        return set(_NOT_SENT.findall(self.output))

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None:
            process.send(self._process, number)


def failed(statuses: list[Rec]) -> list[str]:
    """From the records of its status topic: the reason of each failed task that replicates records."""
    last = {row.key: row.value for row in statuses if row.key and row.key.startswith(_STATUS_OF_TASK)}
    states = [json.loads(value) for value in last.values() if value]
    return [str(state.get("trace") or "no reason given") for state in states if state["state"] == "FAILED"]
