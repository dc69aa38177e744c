"""Causeway's ledger and offset map as events. Other tools have none."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from causeway.core.position import Position
from causeway.core.task_order import offset_map_topic
from causeway.rules.ledger_state import LedgerState
from faults.events import LedgerPosition, Mapped, Side, Topics
from faults.history import Journal
from support.process import eventually
from support.records import read_all


def ledger_position(position: Position, at: int, writer: str) -> LedgerPosition:
    tally, place, source = position.tally, position.place, position.source
    return LedgerPosition(
        at, source.topic, source.partition, position.start, position.offset,
        tally.delivered, tally.filtered, tally.quarantined, tally.holes, tally.skipped,
        to=place.topic, to_partition=place.partition, to_end=position.place_end,
        writer=writer, topic_id=position.topic_id,
    )  # fmt: skip


def note_ledger(journal: Journal, image: LedgerState) -> None:
    """Add the ledger's positions to the journal."""
    at = journal.now()
    journal.add(
        *(ledger_position(position, at, str(position.generation)) for position in image.positions.values())
    )


def note_offset_map(journal: Journal, servers: str, mirror: str) -> None:
    """Add every run of the offset map to the journal."""
    for entries in read_all(servers, offset_map_topic(mirror)).values():
        for entry in entries:
            _, topic, partition = (entry.key or b"").decode().split("|")
            body = json.loads(entry.value or b"")
            to, _, to_partition = body["to"]
            journal.add(
                *(
                    Mapped(
                        journal.now(), topic, int(partition), source, to, to_partition, destination, length,
                        body["topic_id"],
                    )
                    for source, destination, length in body["runs"]
                )
            )  # fmt: skip


def note_topics(journal: Journal, admin: AdminClient, side: Side, made: Collection[str] = ()) -> None:
    """Add the topics that exist; waits for those just created, which not every broker may know."""
    names: tuple[str, ...] = ()

    def known() -> bool:
        nonlocal names
        names = tuple(sorted(admin.list_topics(timeout=10).topics))
        return set(made) <= set(names)

    eventually(known, f"{', '.join(made)} are listed", 20)
    journal.add(Topics(journal.now(), side, names))


def topic_ids(admin: AdminClient, topics: Collection[str]) -> dict[str, str]:
    """The topics' ids."""
    found: dict[str, str] = {}

    def known() -> bool:
        """A new topic is not known to every broker at once."""
        with contextlib.suppress(KafkaException):
            for name, future in admin.describe_topics(TopicCollection(list(topics))).items():
                found[name] = str(future.result().topic_id)
        return len(found) == len(topics)

    eventually(known, f"{', '.join(topics)} are known", 20)
    return found
