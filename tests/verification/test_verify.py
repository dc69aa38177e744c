"""`causeway verify` names what is different, where, and exits with 9; equal sides exit with 0.

Both sides, and the ledger that claims they are equal, are written by hand: one topic for each case, one
run for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Gap, LedgerRecord, encode
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.task_order import ledger_topic, quarantine_topic
from causeway.kafka.admin import ClusterView
from causeway.rules.quarantine import Label, labelled
from support.records import Rec
from support.verifying import Outcome, run_verify
from support.world import World, now_ms

pytestmark = pytest.mark.spark

AT = now_ms()
ZOO = [
    *(Rec(key, value, (), AT) for key in (None, b"", b"k") for value in (None, b"", b"v")),
    Rec(b"h", b"v", (("a", b"1"), ("b", b"2"), ("a", b"1")), AT),
    Rec(b"h", b"v", (("null", None), ("empty", b""), ("bytes", b"\x00\xff")), AT),
    Rec(b"h", None, (("ключ", "значение".encode()), ("", b"no name")), AT),
    Rec(b"t", b"old", (), 1),
    Rec(b"t", b"late", (), AT + 86_400_000),
]
TEN = [Rec(f"k{n}".encode(), f"v{n}".encode(), (("n", str(n).encode()),), AT + n) for n in range(10)]


@dataclass(slots=True)
class Case:
    """The records of both sides of a topic with one partition, and the ledger's position."""

    source: Sequence[Rec]
    destination: Sequence[Rec]
    position: dict[str, Any] = field(default_factory=dict)  # what differs from "everything was replicated"
    in_ledger: bool = True
    expire: int = 0  # source offsets below are deleted
    expire_there: int = 0  # destination offsets below are deleted
    moves: tuple[tuple[int, int], ...] = ()  # where the position was moved without replication, from and to
    quarantined: tuple[int, ...] = ()  # quarantined source offsets
    config: dict[str, str] = field(default_factory=dict)


def changed(at: int, **fields: Any) -> list[Rec]:
    return [*TEN[:at], TEN[at]._replace(**fields), *TEN[at + 1 :]]


FIRST, LATER = Rec(b"a", b"first", (), AT), Rec(b"a", b"later", (), AT + 1)
OTHER, GONE = Rec(b"b", b"other", (), AT), Rec(b"c", None, (), AT)

CASES: dict[str, Case] = {
    "zoo": Case(ZOO, ZOO),
    "empty": Case([], []),
    "dropped": Case(TEN, [*TEN[:3], *TEN[4:]]),
    "repeated": Case(TEN, [*TEN[:6], TEN[2], *TEN[6:]]),
    "swapped": Case(TEN, [*TEN[:2], TEN[7], *TEN[3:7], TEN[2], *TEN[8:]]),
    "key": Case(TEN, changed(4, key=b"other")),
    "value": Case(TEN, changed(5, value=b"")),
    "null": Case([Rec(b"k", b"", (), AT)], [Rec(b"k", None, (), AT)]),
    "headers": Case(TEN, changed(6, headers=(("n", None),))),
    "timestamp": Case(TEN, changed(7, timestamp=AT)),
    "foreign": Case(TEN, [*TEN, Rec(b"who", b"me", (), AT)]),
    "repeats": Case([TEN[0]] * 5, [TEN[0]] * 5),
    "once-less": Case([TEN[0]] * 5, [TEN[0]] * 4),
    "lagging": Case(TEN, TEN[:6], {"offset": 6}),
    "lost-and-lagging": Case(TEN, TEN[:4], {"offset": 6}),
    "never": Case(TEN, [], in_ledger=False),
    "late": Case(TEN, TEN[4:], {"start": 4}),
    "appended": Case(TEN, [Rec(None, b"was here before", (), AT), *TEN], {"place_start": 1}),
    "expired": Case(TEN, TEN, expire=4),
    "expired-and-lost": Case(TEN, [*TEN[:7], *TEN[8:]], expire=4),
    "expired-there": Case(TEN, TEN, expire_there=4),
    "recreated": Case(TEN, TEN, {"topic_id": "0123456789abcdefghijkl"}),
    "declared": Case(TEN, TEN, {"tally": Tally(delivered=10, filtered=2)}),
    "skipped": Case(TEN, [*TEN[:3], *TEN[6:]], moves=((3, 6),)),
    "skipped-and-lost": Case(TEN, [*TEN[:3], *TEN[7:]], moves=((3, 6),)),
    "moved-back": Case(TEN, [*TEN[:8], *TEN[5:]], moves=((8, 5),)),
    "back-and-forth": Case(TEN, [*TEN[:3], *TEN[3:]], moves=((3, 9), (9, 3))),
    "quarantined": Case(TEN, [*TEN[:4], *TEN[5:]], {"tally": Tally(9, 0, 1)}, quarantined=(4,)),
    "quarantined-and-there": Case(TEN, TEN, {"tally": Tally(9, 0, 1)}, quarantined=(4,)),
    "quarantined-and-gone": Case(TEN, [*TEN[:4], *TEN[5:]], {"tally": Tally(9, 0, 1)}),
    "restarted": Case(
        TEN[:4], [*TEN, *TEN[:4]], {"place_start": 10, "tally": Tally(delivered=4)}, moves=((10, -1),)
    ),
    "compacted": Case(
        [FIRST, OTHER, LATER, GONE], [OTHER, FIRST, LATER], config={"cleanup.policy": "compact"}
    ),
    "compacted-wrong": Case([FIRST, OTHER, LATER], [OTHER, FIRST], config={"cleanup.policy": "compact"}),
}

EQUAL = {
    "zoo", "empty", "repeats", "late", "appended", "expired", "expired-there", "declared", "compacted",
    "transactions", "skipped", "back-and-forth", "quarantined", "restarted",
}  # fmt: skip


class Stage:
    """Writes cases to both sides of a world, and the ledger."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.views = {
            on: ClusterView(Cluster(on, {"bootstrap.servers": world.servers[on]})) for on in world.servers
        }
        admin = world.admin("destination")
        ledger = NewTopic(ledger_topic(world.mirror), 2, 1, config={"cleanup.policy": "compact"})
        quarantine = NewTopic(quarantine_topic(world.mirror), 1, 1)
        for future in admin.create_topics([ledger, quarantine]).values():
            future.result()

    def set(self, suffix: str, case: Case) -> None:
        world = self.world
        topic = self.topic(suffix, case.config)
        world.produce(topic, [(0, record) for record in case.source])
        world.produce(topic, [(0, record) for record in case.destination], on="destination")
        if case.in_ledger:
            position = replace(self.replicated(topic), **case.position)
            self.write(position)
            self.move(position, case.moves)
            self.quarantine(position, [(offset, case.source[offset]) for offset in case.quarantined])
        self.delete("source", topic, case.expire)
        self.delete("destination", topic, case.expire_there)

    def topic(self, suffix: str, config: dict[str, str] | None = None) -> str:
        for on in ("source", "destination"):
            self.world.topic(suffix, on=on, config=config)
        return self.world.name(suffix)

    def replicated(self, topic: str) -> Position:
        """The position of a mirror that replicated everything there is."""
        source, destination = self.views["source"], self.views["destination"]
        return Position(
            source=SourcePartition(source.cluster_id(), topic, 0),
            topic_id=source.describe([topic])[topic].topic_id,
            start=0,
            offset=source.offsets([(topic, 0)], "stable")[topic, 0],
            epoch=-1,
            place=Place(topic, destination.describe([topic])[topic].topic_id, 0),
            place_start=0,
            place_end=destination.offsets([(topic, 0)], "stable")[topic, 0],
            generation=1,
            at=AT,
        )

    def move(self, position: Position, moves: Sequence[tuple[int, int]]) -> None:
        """To -1: the topic was recreated after it was replicated up to there."""
        for at, (begin, end) in enumerate(moves):
            old = position.topic_id if end >= 0 else "0123456789abcdefghijkl"
            gap = Gap(
                *position.source, topic_id=old, begin=begin, to_topic_id=position.topic_id, end=max(end, 0),
                verdict="gap", by="me@here", why="it was time", at=AT + at,
            )  # fmt: skip
            self.write(gap)

    def quarantine(self, position: Position, records: Sequence[tuple[int, Rec]]) -> None:
        for offset, record in records:
            label = Label(position.source, position.topic_id, offset, record.timestamp, "too large")
            headers = tuple(labelled(record.headers, label))
            self.world.produce(
                quarantine_topic(self.world.mirror),
                [(0, record._replace(headers=headers))],
                on="destination",
            )

    def write(self, record: LedgerRecord) -> None:
        producer = Producer({"bootstrap.servers": self.world.servers["destination"], "log_level": 0})
        key, value = encode(record)
        producer.produce(ledger_topic(self.world.mirror), value, key, partition=1)
        assert producer.flush(30) == 0

    def delete(self, on: str, topic: str, before: int) -> None:
        if before:
            admin = self.world.admin(on)
            for future in admin.delete_records([TopicPartition(topic, 0, before)]).values():
                future.result(30)


@pytest.fixture(scope="module")
def outcome(world: World) -> Outcome:
    """One run over all cases."""
    stage = Stage(world)
    for suffix, case in CASES.items():
        stage.set(suffix, case)
    both_ways_in_transactions(stage)
    return run_verify(world.config(), "-o", "json")


def both_ways_in_transactions(stage: Stage) -> None:
    """Aborted records and markers are at other offsets on each side, also at the end."""
    topic = stage.topic("transactions")
    pieces = [(ZOO[:4], "commit"), (TEN, "abort"), (ZOO[4:], "commit"), (TEN[:1], "abort")]
    for records, outcome in pieces:
        stage.world.produce(topic, [(0, record) for record in records], transaction=outcome)
    for record in ZOO:
        stage.world.produce(topic, [(0, record)], on="destination", transaction="commit")
    stage.write(stage.replicated(topic))


@pytest.fixture(scope="module")
def partitions(world: World, outcome: Outcome) -> dict[str, dict[str, Any]]:
    """The one partition of each topic, by the topic's suffix."""
    report = json.loads(outcome.stdout)["mirrors"][0]
    return {row["topic"].removeprefix(f"{world.mirror}."): row for row in report["partitions"]}


def test_different_sides_exit_with_9_and_standard_output_is_one_object(outcome: Outcome) -> None:
    assert outcome.exit_code == 9, outcome.stderr
    assert json.loads(outcome.stdout)["equal"] is False
    assert "both sides differ" in outcome.stderr


def test_every_case_gets_its_verdict(partitions: dict[str, dict[str, Any]]) -> None:
    assert set(partitions) == {*CASES, "transactions"}
    assert {suffix for suffix, row in partitions.items() if row["equal"]} == EQUAL


@pytest.mark.parametrize(
    ("suffix", "kind", "source_offset", "destination_offset"),
    [
        ("dropped", "missing", 3, None),
        ("repeated", "duplicated", 2, 6),
        ("key", "changed", 4, 4),
        ("value", "changed", 5, 5),
        ("null", "changed", 0, 0),
        ("headers", "changed", 6, 6),
        ("timestamp", "changed", 7, 7),
        ("foreign", "unexpected", None, 10),
        ("expired-and-lost", "missing", 7, None),
        ("compacted-wrong", "changed", 2, 1),
        ("skipped-and-lost", "missing", 6, None),
        ("quarantined-and-there", "unexpected", None, 4),
        ("quarantined-and-gone", "missing", 4, None),
    ],
)
def test_one_difference_has_its_kind_and_its_coordinates(
    partitions: dict[str, dict[str, Any]],
    suffix: str,
    kind: str,
    source_offset: int | None,
    destination_offset: int | None,
) -> None:
    assert partitions[suffix]["counts"] == {kind: 1}
    [place] = partitions[suffix]["first"][kind]
    assert (place["source"], place["destination"]) == (source_offset, destination_offset)


@pytest.mark.parametrize(
    ("suffix", "fields"),
    [
        ("key", ["key"]),
        ("value", ["value"]),
        ("null", ["value"]),
        ("headers", ["headers"]),
        ("timestamp", ["timestamp"]),
        ("compacted-wrong", ["value", "timestamp"]),
    ],
)
def test_changed_fields_are_named(
    partitions: dict[str, dict[str, Any]], suffix: str, fields: list[str]
) -> None:
    assert partitions[suffix]["first"]["changed"][0]["fields"] == fields


def test_swapped_records_are_out_of_order_and_nothing_is_missing(
    partitions: dict[str, dict[str, Any]],
) -> None:
    assert partitions["swapped"]["counts"] == {"out_of_order": 2}
    places = {(at["source"], at["destination"]) for at in partitions["swapped"]["first"]["out_of_order"]}
    assert places == {(2, 7), (7, 2)}


def test_one_of_five_equal_records_is_missing(partitions: dict[str, dict[str, Any]]) -> None:
    assert partitions["once-less"]["counts"] == {"missing": 1}


def test_records_after_the_position_are_lagging_and_those_before_it_are_missing(
    partitions: dict[str, dict[str, Any]],
) -> None:
    assert partitions["lagging"]["counts"] == {"lagging": 4}
    assert partitions["lagging"]["first"]["lagging"][0]["source"] == 6
    assert partitions["lost-and-lagging"]["counts"] == {"missing": 2, "lagging": 4}


def test_a_topic_that_was_never_replicated_is_missing_altogether(
    partitions: dict[str, dict[str, Any]],
) -> None:
    assert partitions["never"]["counts"] == {"missing": 10}
    assert partitions["never"]["notes"] == ["never replicated"]


def test_a_late_start_and_expired_records_are_labelled_not_counted(
    partitions: dict[str, dict[str, Any]],
) -> None:
    assert "configured to start at offset 4" in partitions["late"]["notes"][0]
    assert (
        partitions["expired"]["expired_on_source"],
        partitions["expired-there"]["expired_on_destination"],
    ) == (4, 4)
    assert "log starts at offset 4" in partitions["expired"]["notes"][0]
    assert "log starts at offset 4" in partitions["expired-there"]["notes"][0]
    assert partitions["declared"]["ledger_counts"] == {"filtered": 2}


def test_a_recreated_source_topic_has_not_been_replicated(partitions: dict[str, dict[str, Any]]) -> None:
    assert partitions["recreated"]["counts"] == {"missing": 10}
    assert "created again" in partitions["recreated"]["notes"][0]


def test_records_are_counted_on_both_sides(partitions: dict[str, dict[str, Any]]) -> None:
    for suffix in ("zoo", "transactions"):
        assert partitions[suffix]["source_records"] == partitions[suffix]["destination_records"] == len(ZOO)
    assert (partitions["dropped"]["source_records"], partitions["dropped"]["destination_records"]) == (10, 9)


def test_skipped_and_quarantined_records_are_counted_with_who_skipped_them(
    partitions: dict[str, dict[str, Any]], outcome: Outcome
) -> None:
    assert (partitions["skipped"]["skipped"], partitions["skipped"]["source_records"]) == (3, 7)
    assert partitions["skipped"]["notes"][0].startswith("skipped offsets 3 to 5 (3), ")
    assert partitions["skipped"]["notes"][0].endswith("by me@here: it was time")
    assert (partitions["quarantined"]["quarantined"], partitions["quarantined"]["ledger_counts"]) == (
        1,
        {"quarantined": 1},
    )
    assert partitions["quarantined-and-gone"]["notes"] == [
        "the ledger counts 1 quarantined record, the quarantine topic holds 0"
    ]
    assert partitions["back-and-forth"]["skipped"] == 0
    report = json.loads(outcome.stdout)["mirrors"][0]
    assert (report["skipped"], report["quarantined"]) == (6, 2)


def test_records_that_an_operator_repeated_are_duplicated(partitions: dict[str, dict[str, Any]]) -> None:
    assert partitions["moved-back"]["counts"] == {"duplicated": 3}
    assert partitions["moved-back"]["notes"][0].startswith(
        "moved back from offset 8 to 5, 3 offsets to replicate again"
    )


def test_a_restarted_topic_is_compared_from_its_restart(partitions: dict[str, dict[str, Any]]) -> None:
    assert partitions["restarted"]["source_records"] == partitions["restarted"]["destination_records"] == 4
    assert "the one before was replicated up to offset 10" in partitions["restarted"]["notes"][0]
