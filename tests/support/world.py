"""Two clusters, a mirror between them, and what a test does to them."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from causeway.config.toml import written
from causeway.core.cluster import Cluster
from causeway.core.task_order import offset_map_topic
from causeway.errors import Unreachable
from causeway.kafka.ledger import read_image
from causeway.local_kafka import EmbeddedCluster
from causeway.rules.ledger_state import LedgerState
from support.process import Causeway
from support.records import Rec, end_offsets, read_all, read_offsets

ALIASES = {"source": "src", "destination": "dst"}
UNBOUNDED = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def cluster_lines(alias: str, properties: Mapping[str, Any]) -> list[str]:
    """A cluster in TOML, from a client's properties; what is a table already, such as `sasl`, stays one."""
    others = {key: value for key, value in properties.items() if key != "bootstrap.servers"}
    tables = {key: others.pop(key) for key in list(others) if isinstance(others[key], Mapping)}
    lines = [f"[clusters.{alias}]", f"bootstrap_servers = {written(properties['bootstrap.servers'])}"]
    for name, table in (("properties", others), *tables.items()):
        if table or name != "properties":
            lines.append(f"[clusters.{alias}.{name}]")
            lines += [f"{written(key)} = {written(value)}" for key, value in table.items()]
    return lines


class World:
    """A mirror with a name of its own, so that tests share clusters without meeting."""

    def __init__(self, source: EmbeddedCluster, destination: EmbeddedCluster, directory: Path) -> None:
        self.source = source
        self.destination = destination
        self.directory = directory
        self.mirror = f"m{uuid.uuid4().hex[:8]}"
        self.servers = {"source": source.bootstrap_servers, "destination": destination.bootstrap_servers}
        self.logins: dict[str, Mapping[str, Any]] = {}  # client properties of the mirror, by side
        self.registries: dict[str, Mapping[str, Any]] = {}  # tables of schema registries, by name
        self._processes: list[Causeway] = []
        self._admins: dict[str, AdminClient] = {}
        self._configs = 0

    def name(self, suffix: str = "t") -> str:
        return f"{self.mirror}.{suffix}"

    def topic(
        self,
        suffix: str = "t",
        partitions: int = 1,
        *,
        on: str = "source",
        config: Mapping[str, str] | None = None,
    ) -> str:
        name = self.name(suffix)
        admin = self.admin(on)
        topic = NewTopic(name, partitions, 1, config={**UNBOUNDED, **(config or {})})
        for future in admin.create_topics([topic]).values():
            future.result()
        return name

    def admin(self, on: str = "source") -> AdminClient:
        """Kept: futures of a client that is gone never end."""
        if on not in self._admins:
            self._admins[on] = AdminClient({"bootstrap.servers": self.servers[on], "log_level": 0})
        return self._admins[on]

    def produce(
        self,
        topic: str,
        records: Iterable[tuple[int, Rec]],
        *,
        on: str = "source",
        transaction: str | None = None,
        **properties: Any,
    ) -> None:
        """Write (partition, record) pairs; in one committed or aborted transaction where asked for."""
        conf: dict[str, Any] = {
            "bootstrap.servers": self.servers[on], "linger.ms": 5, "message.max.bytes": 10_000_000,
            "queue.buffering.max.messages": 1_000_000, **properties,
        }  # fmt: skip
        if transaction:
            conf["transactional.id"] = f"test-{uuid.uuid4().hex}"
        producer = Producer(conf)
        errors: list[str] = []

        def report(error: Any, _message: Any) -> None:
            if error is not None:
                errors.append(str(error))

        if transaction:
            producer.init_transactions(10)
            producer.begin_transaction()
        for partition, rec in records:
            while True:
                try:
                    producer.produce(
                        topic, value=rec.value, key=rec.key, partition=partition,
                        timestamp=rec.timestamp, headers=list(rec.headers) or None, on_delivery=report,
                    )  # fmt: skip
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        assert producer.flush(30) == 0
        if transaction == "commit":
            producer.commit_transaction(10)
        elif transaction == "abort":
            producer.abort_transaction(10)
        assert not errors, errors[:3]

    def numbers(
        self, count: int, partitions: int = 1, start: int = 0, size: int = 20
    ) -> list[tuple[int, Rec]]:
        """Records that carry their number, spread over partitions."""
        at = now_ms()
        return [
            (n % partitions, Rec(f"k{n % 97}".encode(), f"{n}".encode().ljust(size, b"."), (), at))
            for n in range(start, start + count)
        ]

    def config(self, topics: Sequence[str] | None = None, **mirror: Any) -> Path:
        """A configuration file for this world's mirror; None leaves a key out."""
        return self.mirrors({"topics": list(topics or [f"{self.mirror}\\..*"]), **mirror})

    def mirrors(self, *mirrors: Mapping[str, Any]) -> Path:
        """A configuration file with several mirrors, the first with this world's name."""
        self._configs += 1
        path = self.directory / f"mirror-{self._configs}.toml"
        lines = [
            line
            for on, servers in self.servers.items()
            for line in cluster_lines(
                ALIASES.get(on, on), {"bootstrap.servers": servers, **self.logins.get(on, {})}
            )
        ]
        for name, registry in self.registries.items():
            lines.append(f"[registries.{name}]")
            lines += [f"{key} = {written(value)}" for key, value in registry.items()]
        for place, mirror in enumerate(mirrors):
            settings: dict[str, Any] = {
                "name": self.mirror if place == 0 else f"{self.mirror}-{place}",
                "source": "src", "destination": "dst",
                "refresh": "500ms", "heartbeat": "500ms", "transaction_timeout": "10s", **mirror,
            }  # fmt: skip
            lines.append("[[mirrors]]")
            lines += [f"{key} = {written(value)}" for key, value in settings.items() if value is not None]
        path.write_text("\n".join(lines) + "\n")
        return path

    def run(self, config: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Causeway:
        log = self.directory / f"run-{len(self._processes)}.log"
        process = Causeway("run", config, *arguments, log=log, env=env)
        self._processes.append(process)
        return process

    def carry_all(self, config: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Causeway:
        """Run to the end of now, and expect that to end well."""
        process = self.run(config, "--stop-at-end", *arguments, env=env)
        code = process.wait()
        assert code == 0, f"exit code {code}\n{process.output}"
        return process

    def with_a_gap(self, suffix: str = "t") -> tuple[str, Path]:
        """A topic whose partition 1 was carried up to 50 and begins at 70 now; and the configuration."""
        topic = self.topic(suffix, 2)
        self.produce(topic, self.numbers(100, 2))
        config = self.config()
        self.carry_all(config)
        self.produce(topic, self.numbers(100, 2, 100))
        self.delete_records(topic, 1, 70)
        return topic, config

    def read(self, topic: str, on: str = "destination") -> dict[int, list[Rec]]:
        return read_all(self.servers[on], topic)

    def count(self, topic: str, on: str = "destination") -> int:
        """Offsets in a topic: enough to see that something moves."""
        partitions = self.admin(on).list_topics(topic, timeout=10).topics[topic].partitions
        return sum(end_offsets(self.servers[on], topic, len(partitions)).values()) if partitions else 0

    def source_partitions(self, topic: str) -> int:
        return len(self.admin().list_topics(topic, timeout=10).topics[topic].partitions)

    def ledger(self, mirror: str = "", on: str = "destination") -> LedgerState:
        """Its state now. A broker of a busy machine may respond late."""
        cluster = Cluster("dst", {"bootstrap.servers": self.servers[on]})
        for _ in range(5):
            with contextlib.suppress(Unreachable):
                return read_image(cluster, mirror or self.mirror)
        return read_image(cluster, mirror or self.mirror)

    def carried(self) -> int:
        """Records the ledger says were delivered."""
        return sum(position.tally.delivered for position in self.ledger().positions.values())

    def offset_map(self, topic: str) -> dict[int, dict[int, int]]:
        """Source offset → destination offset of every mapped record, by partition."""
        mapped: dict[int, dict[int, int]] = {}
        for found in read_all(self.servers["destination"], offset_map_topic(self.mirror)).values():
            for rec in found:
                _, name, partition = (rec.key or b"").decode().split("|")
                if name == topic:
                    for source, destination, length in json.loads(rec.value or b"")["runs"]:
                        pairs = {source + n: destination + n for n in range(length)}
                        mapped.setdefault(int(partition), {}).update(pairs)
        return mapped

    def assert_mapped(self, topic: str, to: str, mirror: str = "") -> None:
        """The offset map leads from every record of the topic to the very same one, wherever that is."""
        servers = self.servers["destination"]
        here, there = read_offsets(self.servers["source"], topic), read_offsets(servers, to)
        originals = {(number, offset): rec for number, found in here.items() for offset, rec in found}
        copies = {(number, offset): rec for number, found in there.items() for offset, rec in found}
        for entries in read_all(servers, offset_map_topic(mirror or self.mirror)).values():
            for entry in entries:
                _, name, partition = (entry.key or b"").decode().split("|")
                body = json.loads(entry.value or b"")
                for source, destination, length in body["runs"] if name == topic else ():
                    for n in range(length):
                        original = originals.pop((int(partition), source + n))
                        assert copies[body["to"][2], destination + n] == original
        assert not originals

    def assert_mirrored(self, *topics: str) -> None:
        """Both sides hold the same records, in the same order, partition by partition; the books balance."""
        for topic in topics:
            here, there = self.read(topic, "source"), self.read(topic)
            assert set(here) <= set(there), f"{topic}: partitions {set(here) - set(there)} are missing"
            for partition, wanted in here.items():
                found = there[partition]
                if found != wanted:
                    at = next(
                        (n for n, (a, b) in enumerate(zip(wanted, found, strict=False)) if a != b), len(found)
                    )
                    raise AssertionError(
                        f"{topic}[{partition}]: {len(wanted)} records here, {len(found)} there,"
                        f" first difference at {at}: {wanted[at : at + 2]} became {found[at : at + 2]}"
                    )
        for source, position in self.ledger().positions.items():
            tally = position.tally
            assert position.offset - position.start == tally.offsets, (
                f"{source}: the books do not balance: {position}"
            )

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        for future in self.admin().delete_records([TopicPartition(topic, partition, before)]).values():
            future.result()

    def alter(self, topic: str, setting: str, value: str, *, on: str = "source") -> None:
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        for future in self.admin(on).incremental_alter_configs([resource]).values():
            future.result()

    def close(self) -> None:
        for process in self._processes:
            if process.alive:
                process.kill()
