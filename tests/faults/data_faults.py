"""Faults of the data in a scenario, logged as damage. What the mirror reports about them: mirror_reports.py.

Before anything is deleted the workload is stopped and both sides are read: what the topics held is known.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    OffsetSpec,
    ResourceType,
)

from faults.content import TOKEN_HEADER, content, token
from faults.events import DeliveryReport, Drained, Sent, Side, TransactionEnded
from faults.mirror_reports import MirrorReports
from faults.mirrors import CausewayMirror
from faults.processes import held
from faults.reader import drain
from faults.scenario import Scenario
from support.process import eventually
from support.records import end_offsets
from support.topics import delete_topic
from support.world import now_ms


class DataFaults(MirrorReports):
    def __init__(self, scenario: Scenario, mirror: CausewayMirror) -> None:
        super().__init__(scenario, mirror)
        self._replicated: dict[tuple[str, int], int] = {}
        self._tokens = 0

    # ── quiet ────────────────────────────────────────────────────────────────────────────────────

    def all_replicated(self) -> None:
        """Stop writing, wait until the mirror is at the end and its ledger says so; then read both sides."""
        scenario = self.scenario
        scenario.quiet()
        scenario.until(lambda: scenario.unseen.count() == 0, "everything has arrived")
        scenario.until(self.at_ends, "the ledger is at the end")
        self._replicated |= self._last_ends()
        self.mirror.note_ledger(scenario.journal, whole=True)
        scenario.drain("destination")

    def at_ends(self) -> bool:
        """Whether its positions are where the sources ended when they were last read."""
        return self.mirror.at_end(self._last_ends())

    def position(self, suffix: str, partition: int) -> int:
        """The mirror's position when everything was replicated."""
        return self._replicated[self.scenario.topic(suffix), partition]

    def write_more(self, records: int, *suffixes: str) -> None:
        """Write at least this many records, some to each partition; then read the source."""
        self.write_some(records, *suffixes)
        self.scenario.drain("source")

    def write_some(self, records: int, *suffixes: str) -> None:
        scenario = self.scenario
        topics = {scenario.topic(suffix): scenario.topics[scenario.topic(suffix)] for suffix in suffixes}
        before = {topic: self.ends(topic) for topic in topics}
        workload = scenario.write(topics)
        eventually(
            lambda: (
                workload.visible >= records
                and all(end > before[t][n] + 10 for t in topics for n, end in self.ends(t).items())
            ),
            "enough was written",
        )
        workload.stop()

    def know(self, suffix: str) -> None:
        """Read a source topic before it is changed."""
        scenario, topic = self.scenario, self.scenario.topic(suffix)
        drain(scenario.servers["source"], topic, "source", scenario.journal, topic_id=scenario.ids[topic])

    def ends(self, topic: str, side: Side = "source") -> dict[int, int]:
        return end_offsets(self.scenario.servers[side], topic, self.scenario.topics[topic])

    # ── faults of the source ─────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def while_mirror_is(self, when: str) -> Iterator[None]:
        """The mirror's state during the block: `down` (ended), `suspended` (SIGSTOP) or `running`."""
        if when == "down":
            assert self.mirror.stop() == 0, self.mirror.output
            yield
            self.mirror.start()
        elif when == "suspended":
            with held([pid for role in self.mirror.pids().values() for pid in role]):
                yield
        else:
            yield

    def delete_records(self, suffix: str, partition: int) -> int:
        """Delete half of the records that were not replicated; returns the new start of the log."""
        topic = self.scenario.topic(suffix)
        to = (self.position(suffix, partition) + self.ends(topic)[partition]) // 2
        self.remove("source", topic, partition, to)
        return to

    def remove(self, side: Side, topic: str, partition: int, to: int) -> None:
        """Delete everything before this offset; retries if the leader has just changed.

        Each attempt has a client of its own: one that knew the topic before it was recreated, or before all
        brokers restarted, may find no leader for a partition that has one.
        """

        def removed() -> bool:
            admin = AdminClient({"bootstrap.servers": self.scenario.servers[side], "log_level": 0})
            (future,) = admin.delete_records([TopicPartition(topic, partition, to)]).values()
            try:
                future.result()
            except KafkaException as exception:
                if exception.args[0].code() not in (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError._NOENT):
                    raise
                return False
            return True

        eventually(removed, f"records of {topic}[{partition}] are deleted", 20)
        self.scenario.damage("removed", side, topic, partition, to)

    def expire(self, suffix: str, partition: int) -> int:
        """Let retention by size delete all but the newest segment of each partition."""
        scenario, topic = self.scenario, self.scenario.topic(suffix)
        self.alter("source", topic, **{"retention.bytes": "0"})
        starts: list[dict[int, int]] = []

        def still() -> bool:
            """Whether the start is after the replicated offsets, and did not move in several looks."""
            starts.append(self._starts(topic))
            overtaken = all(start > self.position(suffix, n) for n, start in starts[-1].items())
            return overtaken and len(starts) > 40 and all(one == starts[-1] for one in starts[-40:])

        eventually(still, "retention has taken what was not replicated")
        self.alter("source", topic, **{"retention.bytes": "-1"})
        for number, start in starts[-1].items():
            scenario.damage("removed", "source", topic, number, start)
        return starts[-1][partition]

    def delete(self, suffix: str, side: Side = "source", kind: str = "deleted") -> None:
        """Delete the topic; `kind` is `recreated` if another one will be created."""
        topic = self.scenario.topic(suffix)
        self._delete(suffix, side)
        for number in range(self.scenario.topics[topic]):
            self.scenario.damage(kind, side, topic if side == "source" else self.mirror.named(topic), number)

    def delete_delivered(self, suffix: str, partition: int, *, all_of_them: bool = False) -> None:
        """Delete records of the destination, as its own retention would."""
        topic = self.mirror.named(self.scenario.topic(suffix))
        end = end_offsets(
            self.scenario.servers["destination"], topic, self.scenario.topics[self.scenario.topic(suffix)]
        )
        to = end[partition] if all_of_them else end[partition] // 2
        self.remove("destination", topic, partition, to)

    def recreate(self, suffix: str, records: int, partitions: int = 0) -> None:
        """Delete and create the topic again, with at least this many records in each partition."""
        scenario, topic = self.scenario, self.scenario.topic(suffix)
        old, before = scenario.ids[topic], scenario.topics[topic]
        partitions = partitions or before
        self._delete(suffix, "source")
        scenario.create(suffix, partitions)
        for number in range(before):
            scenario.damage("recreated", "source", topic, number, topic_id=old)
        workload = scenario.write({topic: partitions})
        eventually(lambda: min(self.ends(topic).values()) >= records, "the new topic is filled")
        workload.stop()

    def grow(self, suffix: str, partitions: int) -> None:
        topic = self.scenario.topic(suffix)
        self.scenario.admins["source"].create_partitions([NewPartitions(topic, partitions)])[topic].result()
        self.scenario.topics[topic] = partitions

    def hang(self, suffix: str, timeout_seconds: int) -> Hanging:
        """Open a transaction with one record, and leave it open."""
        scenario, topic = self.scenario, self.scenario.topic(suffix)
        producer = Producer(
            {
                "bootstrap.servers": scenario.servers["source"], "transactional.id": f"hanging.{topic}",
                "transaction.timeout.ms": timeout_seconds * 1000,
            }
        )  # fmt: skip
        producer.init_transactions(10)
        producer.begin_transaction()
        offset = self.send(suffix, 0, 100, producer=producer, transaction=f"hanging-{suffix}")
        return Hanging(self, producer, topic, offset, f"hanging-{suffix}")

    def send(
        self, suffix: str, partition: int, size: int, *, key: bytes | None = None,
        producer: Producer | None = None, transaction: str = "", timestamp: int = 0,
    ) -> int:  # fmt: skip
        """Write one record of this size, logged as a workload logs its own; returns its offset."""
        scenario, topic, at = self.scenario, self.scenario.topic(suffix), timestamp or now_ms()
        self._tokens += 1
        name = token("data-faults", self._tokens)
        value, headers = Random(self._tokens).randbytes(size), [(TOKEN_HEADER, name.encode())]
        sent = content(key, value, headers, at, "create")
        scenario.journal.add(
            Sent(scenario.journal.now(), name, topic, partition, sent, transaction, scenario.ids[topic])
        )
        offsets: list[int] = []
        producer = producer or Producer(
            {"bootstrap.servers": scenario.servers["source"], "message.max.bytes": 10_000_000}
        )
        producer.produce(
            topic, value=value, key=key, partition=partition, timestamp=at, headers=headers,
            on_delivery=lambda error, message: offsets.append(-1 if error else message.offset()),
        )  # fmt: skip
        producer.flush(30)
        assert offsets and offsets[0] >= 0, "the source did not take a record"
        scenario.journal.add(DeliveryReport(scenario.journal.now(), name, "ok", offsets[0]))
        return offsets[0]

    def alter(self, side: Side, topic: str, **config: str) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in config.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        for future in self.scenario.admins[side].incremental_alter_configs([resource]).values():
            future.result()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────

    def _last_ends(self) -> dict[tuple[str, int], int]:
        return {
            (one.topic, one.partition): one.end
            for one in self.scenario.journal.history().of(Drained)
            if one.side == "source" and one.topic_id == self.scenario.ids[one.topic]
        }

    def _delete(self, suffix: str, side: Side) -> None:
        topic = self.scenario.topic(suffix)
        delete_topic(self.scenario.admins[side], topic if side == "source" else self.mirror.named(topic))

    def _starts(self, topic: str) -> dict[int, int]:
        spots = {TopicPartition(topic, n): OffsetSpec.earliest() for n in range(self.scenario.topics[topic])}
        asked = self.scenario.admins["source"].list_offsets(spots)
        return {spot.partition: future.result().offset for spot, future in asked.items()}


@dataclass(frozen=True)
class Hanging:
    data_faults: DataFaults
    producer: Producer
    topic: str
    offset: int
    transaction: str

    def end(self, how: str) -> None:
        journal = self.data_faults.scenario.journal
        if how == "committed":
            self.producer.commit_transaction(20)
        elif how == "aborted":
            self.producer.abort_transaction(20)
        else:
            eventually(lambda: self._stable() > self.offset, "its coordinator has aborted it")
        outcome: Literal["committed", "aborted"] = "committed" if how == "committed" else "aborted"
        journal.add(TransactionEnded(journal.now(), self.transaction, outcome, how))

    def _stable(self) -> int:
        spot = {TopicPartition(self.topic, 0): OffsetSpec.latest()}
        admin = self.data_faults.scenario.admins["source"]
        (asked,) = admin.list_offsets(spot, isolation_level=IsolationLevel.READ_COMMITTED).values()
        return int(asked.result().offset)
