"""Reading a ledger to its end gives the same state as following it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import pytest

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import (
    CONTROL,
    Cut,
    Event,
    Generation,
    Heartbeat,
    Hidden,
    Lease,
    LedgerRecord,
    Stopped,
    encode,
)
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Limits, SeenLedger, ledger_topic
from causeway.kafka.admin import ClusterView
from causeway.kafka.delivery_guarantee import AtLeastOnce
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.ledger_topics import ensure_topics
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.task_errors import Again
from support.process import eventually
from support.world import World

SOURCE = SourcePartition("c", "t", 0)
POSITION = Position(SOURCE, "id", 0, 0, -1, Place("t", "id", 0), 0, -1, 1, 0)
LIMITS = Limits(1_000, 1 << 20, 1, 10, 1 << 20, 1_000, 100_000, 1)


def write(cluster: Cluster, mirror: str, *records: tuple[int, LedgerRecord]) -> None:
    delivery = DestinationProducer(cluster, LIMITS, "none", AtLeastOnce())
    try:
        delivery.commit([(ledger_topic(mirror), number, *encode(record)) for number, record in records])
    finally:
        delivery.close()


def read(
    cluster: Cluster, mirror: str, partitions: Iterable[int], seen: SeenLedger | None = None
) -> LedgerReader:
    reader = LedgerReader(cluster, mirror, partitions, seen)
    try:
        reader.read_to_end(30)
    finally:
        reader.close()
    return reader


def test_resuming_after_the_seen_offsets_gives_the_same_state(world: World) -> None:
    cluster = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    ensure_topics(ClusterView(cluster), world.mirror, 2, 1)
    other = replace(POSITION, source=SOURCE._replace(partition=1))
    write(
        cluster,
        world.mirror,
        (CONTROL, Lease(1, "a", "h", 1, 1)),
        (CONTROL, Generation(1, 2, 1)),
        (1, replace(POSITION, offset=5)),
        (1, other),
        (1, Stopped("c", "t", 1, "gap", "what", "todo", 1, lease=1)),
        (1, Heartbeat(1, 1, 3, 0, "h", 1, ended=True)),
        (1, Hidden("t", 0, 7, *SOURCE, offset=5, at=1)),
        (2, Hidden("t", 1, 8, *SOURCE, offset=5, at=1)),
        (2, replace(POSITION, source=SOURCE._replace(partition=2))),
    )
    seen = read(cluster, world.mirror, range(3)).seen(1)
    write(
        cluster,
        world.mirror,
        (1, replace(POSITION, offset=9)),
        (1, Stopped("c", "t", 1, "", "", "", 2, lease=1)),
        (CONTROL, Cut(1, 3, "why", 2)),
    )

    on = read(cluster, world.mirror, [CONTROL, 1], SeenLedger(**json_round(seen)))
    whole = read(cluster, world.mirror, [CONTROL, 1])

    assert on.state == whole.state
    assert on.state.positions[SOURCE].offset == 9
    assert not on.state.stopped
    assert [hidden.end for hidden in on.state.hidden] == [7]
    assert dict(seen.offsets)[1] == 5, "only what came since was read"


def test_a_ledger_shorter_than_what_was_seen_is_read_from_its_beginning(world: World) -> None:
    cluster = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    ensure_topics(ClusterView(cluster), world.mirror, 1, 1)
    write(cluster, world.mirror, (1, POSITION))
    beyond = SeenLedger(((CONTROL, 0), (1, 1_000)), ())

    with pytest.raises(Again, match="from its beginning"):
        reader = LedgerReader(cluster, world.mirror, [CONTROL, 1], beyond)
        try:
            eventually(lambda: reader.poll(0.2), "it is noticed")
        finally:
            reader.close()


def json_round(seen: SeenLedger) -> dict[str, Any]:
    """Encoded and decoded, as in a task order."""
    return {name: tuple(map(tuple, each)) for name, each in json.loads(json.dumps(asdict(seen))).items()}


def test_the_newest_record_of_each_key_gives_the_same_state_as_all_records(world: World) -> None:
    cluster = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    ensure_topics(ClusterView(cluster), world.mirror, 2, 1)
    following = LedgerReader(cluster, world.mirror, range(3))
    stopped = Stopped("c", "t", 0, "gap", "what", "todo", 1, lease=1)
    written: list[tuple[int, LedgerRecord]] = [
        (CONTROL, Lease(1, "a", "h", 1, 1)),
        (CONTROL, Lease(2, "b", "h", 1, 2)),
        *[(1, replace(POSITION, offset=offset, at=offset)) for offset in range(50)],
        (2, replace(POSITION, source=SOURCE._replace(partition=1), offset=7)),
        (1, stopped),
        (1, replace(stopped, verdict="", at=2)),
        *[(1, Event(1, number, number, "info", f"event {number}")) for number in range(40)],
    ]
    write(cluster, world.mirror, *written)

    polled: list[LedgerRecord] = []

    def all_polled() -> bool:
        polled.extend(following.poll(0.2))
        return len(polled) == len(written)

    eventually(all_polled, "all records are polled")
    state = read(cluster, world.mirror, range(3)).state
    following.close()

    assert state == following.state
    assert state.positions[SOURCE].offset == 49
    assert state.newest_lease() == 2
    assert not state.stopped
    assert {event.number for event in state.events.values()} == set(range(8, 40)), "the rest has rotated away"


def test_a_watching_reader_returns_all_records_written_since(world: World) -> None:
    cluster = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    ensure_topics(ClusterView(cluster), world.mirror, 1, 1)
    write(cluster, world.mirror, (CONTROL, Lease(1, "a", "h", 1, 1)), (1, POSITION))
    watching = LedgerReader(cluster, world.mirror, range(2))
    polled: list[LedgerRecord] = []
    try:
        watching.read_to_end(30)
        watching.watch()
        since = [replace(POSITION, offset=POSITION.offset + more, at=more) for more in range(1, 6)]
        for position in since:
            write(cluster, world.mirror, (1, position))

        def all_polled() -> bool:
            polled.extend(watching.poll(0.2))
            return len(polled) >= len(since)

        eventually(all_polled, "all records are polled")
    finally:
        watching.close()

    assert polled == since
    assert watching.state.newest_lease() == 1
