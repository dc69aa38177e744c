"""What is done to the data of a day, logged as damage. What the mirror says about it: hearing.py.

Before anything is taken away it is quiet, and both sides were read: what the topics held is known.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    OffsetSpec,
    ResourceType,
)

from faults.content import TOKEN_HEADER, content, token
from faults.day import Day
from faults.events import Answered, Drained, Ended, Sent, Side
from faults.hearing import Hearing
from faults.mirrors import CausewayMirror
from faults.processes import held
from faults.reader import drain
from support.process import eventually
from support.records import end_offsets
from support.topics import delete_topic
from support.world import now_ms


class Harm(Hearing):
    def __init__(self, day: Day, mirror: CausewayMirror) -> None:
        super().__init__(day, mirror)
        self._carried: dict[tuple[str, int], int] = {}
        self._tokens = 0

    # ── quiet ────────────────────────────────────────────────────────────────────────────────────

    def all_carried(self) -> None:
        """Nobody writes, the mirror is at the end and says so; both sides are known."""
        day = self.day
        day.quiet()
        day.until(lambda: day.unseen.count() == 0, "everything has arrived")
        day.until(self.at_ends, "the mirror says that it is at the end")
        self._carried |= self._last_ends()
        self.mirror.note_books(day.journal, whole=True)
        day.drain("destination")

    def at_ends(self) -> bool:
        """Whether it says that it is where the sources were last seen to end."""
        return self.mirror.at_end(self._last_ends())

    def position(self, suffix: str, partition: int) -> int:
        """Where the mirror was when everything was carried."""
        return self._carried[self.day.topic(suffix), partition]

    def write_more(self, records: int, *suffixes: str) -> None:
        """So many, with some in each partition; all that the source holds is known when this ends."""
        self.write_some(records, *suffixes)
        self.day.drain("source")

    def write_some(self, records: int, *suffixes: str) -> None:
        day = self.day
        topics = {day.topic(suffix): day.topics[day.topic(suffix)] for suffix in suffixes}
        before = {topic: self.ends(topic) for topic in topics}
        workload = day.write(topics)
        eventually(
            lambda: (
                workload.visible >= records
                and all(end > before[t][n] + 10 for t in topics for n, end in self.ends(t).items())
            ),
            "enough was written",
        )
        workload.stop()

    def know(self, suffix: str) -> None:
        """What a source topic holds, before it is changed."""
        day, topic = self.day, self.day.topic(suffix)
        drain(day.servers["source"], topic, "source", day.journal, topic_id=day.ids[topic])

    def ends(self, topic: str, side: Side = "source") -> dict[int, int]:
        return end_offsets(self.day.servers[side], topic, self.day.topics[topic])

    # ── harm to the source ───────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def meanwhile(self, when: str) -> Iterator[None]:
        """What is the mirror doing: it is `away` (stopped), `behind` (standing still), or `running`."""
        if when == "away":
            assert self.mirror.stop() == 0, self.mirror.output
            yield
            self.mirror.start()
        elif when == "behind":
            with held([pid for role in self.mirror.pids().values() for pid in role]):
                yield
        else:
            yield

    def delete_records(self, suffix: str, partition: int) -> int:
        """Half of what was not carried; where the log begins from now on."""
        topic = self.day.topic(suffix)
        to = (self.position(suffix, partition) + self.ends(topic)[partition]) // 2
        self.remove("source", topic, partition, to)
        return to

    def remove(self, side: Side, topic: str, partition: int, to: int) -> None:
        """Everything before this offset; who leads may have changed just now, and the client not know it."""

        def removed() -> bool:
            admin = self.day.admins[side]
            (future,) = admin.delete_records([TopicPartition(topic, partition, to)]).values()
            try:
                future.result()
            except KafkaException as exception:
                if exception.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:
                    raise
                admin.list_topics(timeout=10)
                return False
            return True

        eventually(removed, f"records of {topic}[{partition}] are deleted", 20)
        self.day.damage("removed", side, topic, partition, to)

    def expire(self, suffix: str, partition: int) -> int:
        """Retention by size takes whatever it can: all but the newest segment of each partition."""
        day, topic = self.day, self.day.topic(suffix)
        self.alter("source", topic, **{"retention.bytes": "0"})
        starts: list[dict[int, int]] = []

        def still() -> bool:
            """Past what was carried, and not moving: retention looks several times in between."""
            starts.append(self._starts(topic))
            overtaken = all(start > self.position(suffix, n) for n, start in starts[-1].items())
            return overtaken and len(starts) > 40 and all(one == starts[-1] for one in starts[-40:])

        eventually(still, "retention has taken what was not carried")
        self.alter("source", topic, **{"retention.bytes": "-1"})
        for number, start in starts[-1].items():
            day.damage("removed", "source", topic, number, start)
        return starts[-1][partition]

    def delete(self, suffix: str, side: Side = "source", kind: str = "deleted") -> None:
        """The topic is gone; `kind`: what it will have been when somebody creates another one."""
        topic = self.day.topic(suffix)
        self._delete(suffix, side)
        for number in range(self.day.topics[topic]):
            self.day.damage(kind, side, topic if side == "source" else self.mirror.named(topic), number)

    def delete_delivered(self, suffix: str, partition: int, *, all_of_them: bool = False) -> None:
        """Records that have arrived, as the destination's own retention takes them."""
        topic = self.mirror.named(self.day.topic(suffix))
        end = end_offsets(self.day.servers["destination"], topic, self.day.topics[self.day.topic(suffix)])
        to = end[partition] if all_of_them else end[partition] // 2
        self.remove("destination", topic, partition, to)

    def recreate(self, suffix: str, records: int, partitions: int = 0) -> None:
        """Under its name again, each partition with at least so many records."""
        day, topic = self.day, self.day.topic(suffix)
        old, before = day.ids[topic], day.topics[topic]
        partitions = partitions or before
        self._delete(suffix, "source")
        day.create(suffix, partitions)
        for number in range(before):
            day.damage("recreated", "source", topic, number, topic_id=old)
        workload = day.write({topic: partitions})
        eventually(lambda: min(self.ends(topic).values()) >= records, "the new topic is filled")
        workload.stop()

    def grow(self, suffix: str, partitions: int) -> None:
        topic = self.day.topic(suffix)
        self.day.admins["source"].create_partitions([NewPartitions(topic, partitions)])[topic].result()
        self.day.topics[topic] = partitions

    def hang(self, suffix: str, timeout_seconds: int) -> Hanging:
        """A transaction with one record, which nobody ends for now."""
        day, topic = self.day, self.day.topic(suffix)
        producer = Producer(
            {
                "bootstrap.servers": day.servers["source"], "transactional.id": f"hanging.{topic}",
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
        """One record of this size, logged as a workload logs its own; its offset."""
        day, topic, at = self.day, self.day.topic(suffix), timestamp or now_ms()
        self._tokens += 1
        name = token("harm", self._tokens)
        value, headers = Random(self._tokens).randbytes(size), [(TOKEN_HEADER, name.encode())]
        sent = content(key, value, headers, at, "create")
        day.journal.add(Sent(day.journal.now(), name, topic, partition, sent, transaction, day.ids[topic]))
        offsets: list[int] = []
        producer = producer or Producer(
            {"bootstrap.servers": day.servers["source"], "message.max.bytes": 10_000_000}
        )
        producer.produce(
            topic, value=value, key=key, partition=partition, timestamp=at, headers=headers,
            on_delivery=lambda error, message: offsets.append(-1 if error else message.offset()),
        )  # fmt: skip
        producer.flush(30)
        assert offsets and offsets[0] >= 0, "the source did not take a record"
        day.journal.add(Answered(day.journal.now(), name, "ok", offsets[0]))
        return offsets[0]

    def alter(self, side: Side, topic: str, **config: str) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in config.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        for future in self.day.admins[side].incremental_alter_configs([resource]).values():
            future.result()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────

    def _last_ends(self) -> dict[tuple[str, int], int]:
        return {
            (one.topic, one.partition): one.end
            for one in self.day.journal.history().of(Drained)
            if one.side == "source" and one.topic_id == self.day.ids[one.topic]
        }

    def _delete(self, suffix: str, side: Side) -> None:
        topic = self.day.topic(suffix)
        delete_topic(self.day.admins[side], topic if side == "source" else self.mirror.named(topic))

    def _starts(self, topic: str) -> dict[int, int]:
        spots = {TopicPartition(topic, n): OffsetSpec.earliest() for n in range(self.day.topics[topic])}
        asked = self.day.admins["source"].list_offsets(spots)
        return {spot.partition: future.result().offset for spot, future in asked.items()}


@dataclass(frozen=True)
class Hanging:
    harm: Harm
    producer: Producer
    topic: str
    offset: int
    transaction: str

    def end(self, how: str) -> None:
        journal = self.harm.day.journal
        if how == "committed":
            self.producer.commit_transaction(20)
        elif how == "aborted":
            self.producer.abort_transaction(20)
        else:
            eventually(lambda: self._stable() > self.offset, "its coordinator has aborted it")
        outcome: Literal["committed", "aborted"] = "committed" if how == "committed" else "aborted"
        journal.add(Ended(journal.now(), self.transaction, outcome, how))

    def _stable(self) -> int:
        spot = {TopicPartition(self.topic, 0): OffsetSpec.latest()}
        admin = self.harm.day.admins["source"]
        (asked,) = admin.list_offsets(spot, isolation_level=IsolationLevel.READ_COMMITTED).values()
        return int(asked.result().offset)
