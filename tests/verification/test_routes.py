"""`causeway verify` with shared places, placement by key, filters and provenance.

First by hand: one mirror for each kind of route, both sides and the ledgers written so that something is
wrong with them, or only looks so; one run of verify for all. Then with a running mirror.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Adopted, Gap, LedgerRecord, encode
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.route import BY_KEY
from causeway.core.task_order import ledger_topic, quarantine_topic
from causeway.kafka.admin import ClusterView
from causeway.rules.provenance import HEADER
from causeway.rules.quarantine import Label, labelled
from support.records import Rec
from support.verifying import Outcome, run_verify
from support.world import World, now_ms

AT = now_ms()
ONE = [Rec(f"k{n}".encode(), f"a{n}".encode(), (("n", str(n).encode()),), AT + n) for n in range(10)]
TWO = [Rec(f"k{n}".encode(), f"b{n}".encode(), (), AT + n) for n in range(10)]
BOTH = [rec for pair in zip(ONE, TWO, strict=True) for rec in pair]
FOREIGN = Rec(b"who", b"me", (), AT)
OLD = [Rec(b"old", f"{n}".encode(), (), AT - 1_000) for n in range(3)]
COMPACT = {"cleanup.policy": "compact"}

FILTER = """\
class Filter:
    def __init__(self, config):
        self.config = config

    def keep(self, record):
        if record.value == b"b5":
            raise ValueError("not this one")
        return record.value[-1:] not in (b"2", b"7")
"""
KEPT = [rec for rec in ONE if rec.value not in (b"a2", b"a7")]


@dataclass
class Case:
    """The records of both sides of a route, and how the ledger differs from "everything was replicated"."""

    source: dict[str, Sequence[Rec]]  # by topic; `topic/1` is another partition of it
    destination: Sequence[Sequence[Rec]]  # by partition
    position: dict[str, dict[str, Any]] = field(default_factory=dict)
    place: int = 0
    expire: int = 0  # offsets of the first source that are deleted
    moves: dict[str, tuple[int, int]] = field(default_factory=dict)  # positions that moved, from and to
    quarantined: dict[str, tuple[int, ...]] = field(default_factory=dict)  # quarantined offsets
    config: dict[str, str] = field(default_factory=dict)


def merged(*arrived: Rec, **how: Any) -> Case:
    """Two topics into one."""
    return Case({"one": ONE, "two": TWO}, [arrived], **how)


def keyed(first: Sequence[Rec], second: Sequence[Rec], **how: Any) -> Case:
    """Two partitions of a topic into two, by key."""
    return Case({"t": ONE, "t/1": TWO}, [first, second], place=BY_KEY, **how)


def filtered_case(source: Sequence[Rec], arrived: Sequence[Rec], **position: Any) -> Case:
    return Case({"t": source}, [arrived], {"t": position})


def without(rec: Rec) -> list[Rec]:
    return [record for record in BOTH if record != rec]


def swapped(a: Rec, b: Rec) -> list[Rec]:
    return [{a: b, b: a}.get(record, record) for record in BOTH]


def marked(records: Sequence[Rec], origin: str) -> list[Rec]:
    return [rec._replace(headers=(*rec.headers, (HEADER, origin.encode()))) for rec in records]


EVEN, ODD = BOTH[::4] + BOTH[1::4], BOTH[2::4] + BOTH[3::4]

MERGED = {
    "honest": merged(*BOTH),
    "other-order": merged(*TWO, *ONE),
    "crossed": merged(*swapped(ONE[2], TWO[2])),
    "lost": merged(*without(ONE[3])),
    "repeated": merged(*BOTH, TWO[2]),
    "changed": merged(*(TWO[5]._replace(value=b"other") if rec == TWO[5] else rec for rec in BOTH)),
    "swapped": merged(*swapped(ONE[2], ONE[6])),
    "foreign": merged(*BOTH[:7], FOREIGN, *BOTH[7:]),
    "lagging": merged(*(rec for rec in BOTH if rec not in TWO[6:]), position={"two": {"offset": 6}}),
    "expired": merged(*BOTH, position={"one": {"tally": Tally(delivered=10)}}, expire=4),
    "expired-and-foreign": merged(FOREIGN, *BOTH, position={"one": {"tally": Tally(delivered=10)}}, expire=4),
    "skipped": merged(*(rec for rec in BOTH if rec not in TWO[3:6]), moves={"two": (3, 6)}),
    "skipped-and-lost": merged(*(rec for rec in BOTH if rec not in TWO[3:7]), moves={"two": (3, 6)}),
    "quarantined": merged(
        *without(ONE[4]), position={"one": {"tally": Tally(9, 0, 1)}}, quarantined={"one": (4,)}
    ),
    "restarted": merged(*OLD, *BOTH, moves={"one": (3, -1)}),
    "compacted": Case(
        {"one": [*ONE[:2], ONE[0]._replace(value=b"new")], "two": [Rec(b"other", b"b", (), AT)]},
        [[ONE[1], Rec(b"other", b"b", (), AT), ONE[0]._replace(value=b"new")]],
        config=COMPACT,
    ),
}
KEYED = {
    "keyed": keyed(EVEN, ODD),
    "keyed-lost": keyed(EVEN, ODD[1:]),
    "keyed-twice": keyed(EVEN, [*ODD, EVEN[3]]),
    "keyed-skipped": keyed(
        *([rec for rec in side if rec not in ONE[2:7]] for side in (EVEN, ODD)), moves={"t": (2, 7)}
    ),
    "keyed-swapped": keyed(EVEN, [*ODD[1::-1], *ODD[2:]]),
    "keyed-older": keyed([*OLD, *EVEN], ODD),
    "keyed-older-and-foreign": keyed([*OLD, *EVEN, FOREIGN], ODD),
}
FILTERED = {
    "filtered": filtered_case(ONE, KEPT, tally=Tally(delivered=8, filtered=2)),
    "filtered-wrong": filtered_case(ONE, [*KEPT, ONE[7]], tally=Tally(delivered=9, filtered=1)),
    "filtered-lost": filtered_case(ONE, KEPT[1:], tally=Tally(delivered=8, filtered=2)),
    "raises": filtered_case(TWO, [*TWO[:2], *TWO[3:5]], offset=5, tally=Tally(delivered=4, filtered=1)),
}


ADOPTED = {
    "adopted": keyed([*OLD, ONE[4], *EVEN], ODD),
    "adopted-lost": keyed([*OLD, *EVEN], ODD[:-1]),
}


class Stage:
    """Writes cases to both sides of a world, and the mirrors' ledgers."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.views = {
            on: ClusterView(Cluster(on, {"bootstrap.servers": world.servers[on]})) for on in world.servers
        }
        self.ids = {on: view.cluster_id() for on, view in self.views.items()}

    def ledger(self, mirror: int) -> str:
        name = f"{self.world.mirror}-{mirror}" if mirror else self.world.mirror
        topics = [NewTopic(ledger_topic(name), 2, 1, config=COMPACT), NewTopic(quarantine_topic(name), 1, 1)]
        for future in self.world.admin("destination").create_topics(topics).values():
            future.result()
        return ledger_topic(name)

    def set(self, ledger: str, name: str, case: Case) -> dict[str, str]:
        """Returns which source topics go where."""
        world = self.world
        to = world.topic(f"{name}.to", len(case.destination), on="destination", config=case.config)
        for number, records in enumerate(case.destination):
            world.produce(to, [(number, rec) for rec in records], on="destination")
        topics = {spelled.partition("/")[0] for spelled in case.source}
        partitions = sum("/" in spelled for spelled in case.source) + 1
        for topic in topics:
            world.topic(f"{name}.{topic}", partitions, config=case.config)
        for spelled, records in case.source.items():
            topic, _, partition = spelled.partition("/")
            source = SourcePartition(self.ids["source"], world.name(f"{name}.{topic}"), int(partition or 0))
            world.produce(source.topic, [(source.partition, rec) for rec in records])
            position = self.replicated(source, to, case.place, case.position.get(spelled, {}))
            self.write(ledger, position)
            if spelled in case.moves:
                self.write(ledger, self.moved(position, *case.moves[spelled]))
            for offset in case.quarantined.get(spelled, ()):
                self.quarantine(position, offset, records[offset])
        first = world.name(f"{name}.{min(topics)}")
        if case.expire:
            world.delete_records(first, 0, case.expire)
        return {world.name(f"{name}.{topic}"): to for topic in topics}

    def replicated(self, source: SourcePartition, to: str, place: int, changed: dict[str, Any]) -> Position:
        here, there = self.views["source"], self.views["destination"]
        fields: dict[str, Any] = {
            "start": 0,
            "offset": here.offsets([source[1:]], "stable")[source[1:]],
            "tally": Tally(),
            **changed,
        }
        return Position(
            source=source,
            topic_id=here.describe([source.topic])[source.topic].topic_id,
            epoch=-1,
            place=Place(to, there.describe([to])[to].topic_id, place),
            place_start=0,
            place_end=there.offsets([(to, 0)], "stable")[to, 0] if place != BY_KEY else -1,
            generation=1,
            at=AT,
            **fields,
        )

    def moved(self, position: Position, begin: int, end: int) -> Gap:
        """To -1: the topic was recreated after it was replicated up to there."""
        old = position.topic_id if end >= 0 else "0123456789abcdefghijkl"
        return Gap(
            *position.source, topic_id=old, begin=begin, to_topic_id=position.topic_id, end=max(end, 0),
            verdict="gap", by="me@here", why="", at=AT,
        )  # fmt: skip

    def quarantine(self, position: Position, offset: int, record: Rec) -> None:
        label = Label(position.source, position.topic_id, offset, record.timestamp, "too large")
        headers = tuple(labelled(record.headers, label))
        self.world.produce(
            quarantine_topic(self.world.mirror), [(0, record._replace(headers=headers))], on="destination"
        )

    def write(self, ledger: str, record: LedgerRecord) -> None:
        producer = Producer({"bootstrap.servers": self.world.servers["destination"], "log_level": 0})
        key, value = encode(record)
        producer.produce(ledger, value, key, partition=0 if isinstance(record, Adopted) else 1)
        assert producer.flush(30) == 0


def vanished(stage: Stage, ledger: str) -> dict[str, str]:
    """Of two topics in one place, the second was deleted: its records have no source any more."""
    routes = stage.set(ledger, "vanished", merged(*BOTH))
    gone = stage.world.name("vanished.two")
    source = SourcePartition(stage.ids["source"], gone, 0)
    stage.write(
        ledger,
        stage.replicated(source, stage.world.name("vanished.to"), 0, {"tally": Tally(delivered=10)}),
    )
    admin = stage.world.admin()
    for future in admin.delete_topics([gone], operation_timeout=30).values():
        future.result()
    return {name: to for name, to in routes.items() if name != gone}


def both_ways(stage: Stage, ledger: str) -> dict[str, str]:
    """Records of both sides in topics of one name; a mark shows their origin."""
    here, there = stage.ids["source"], stage.ids["destination"]
    own = [Rec(b"own", f"{n}".encode(), (), AT) for n in range(4)]
    came = [Rec(b"came", f"{n}".encode(), (), AT) for n in range(3)]
    source = [*ONE[:5], *marked(came, there), *ONE[5:]]
    arrived = [*own[:2], *marked(ONE, here), *own[2:]]
    changed = [*arrived[:4], ONE[2], *arrived[5:]]
    tally = {"t": {"tally": Tally(delivered=10, filtered=3)}}
    return {
        **stage.set(ledger, "marked", Case({"t": source}, [arrived], tally)),
        **stage.set(ledger, "unmarked", Case({"t": source}, [changed], tally)),
    }


def adopted(stage: Stage, ledger: str) -> dict[str, str]:
    """Records of another tool, with a duplicate, are before the position where it stopped."""
    routes = {
        to: where for name, case in ADOPTED.items() for to, where in stage.set(ledger, name, case).items()
    }
    ends = {f"{to}[0]": 4 if to.endswith("adopted.to") else 3 for to in routes.values()}
    stage.write(ledger, Adopted(1, "me", "group", "", {}, {}, ends, AT))
    return routes


@pytest.fixture(scope="module")
def outcome(world: World) -> Outcome:
    stage = Stage(world)
    ledgers = [stage.ledger(number) for number in range(5)]
    (world.directory / "sieve.py").write_text(FILTER)
    routes = [
        {to: where for name, case in cases.items() for to, where in stage.set(ledger, name, case).items()}
        for ledger, cases in zip(ledgers, (MERGED, KEYED, FILTERED), strict=False)
    ]
    routes[0] |= vanished(stage, ledgers[0])
    routes.append(both_ways(stage, ledgers[3]))
    routes.append(adopted(stage, ledgers[4]))
    extra: list[dict[str, Any]] = [
        {"merge": True},
        {"partitions": "by-key", "on_existing_records": "append"},
        {"filters": [{"filter": "sieve.py"}]},
        {"provenance": True},
        {"partitions": "by-key"},
    ]
    config = world.mirrors(
        *(
            {"topics": list(renamed), "rename": renamed, **more}
            for renamed, more in zip(routes, extra, strict=True)
        )
    )
    return run_verify(config, "-o", "json")


@pytest.fixture(scope="module")
def partitions(world: World, outcome: Outcome) -> dict[str, list[dict[str, Any]]]:
    """The partitions of each case."""
    cases: dict[str, list[dict[str, Any]]] = {}
    for mirror in json.loads(outcome.stdout)["mirrors"]:
        for row in mirror["partitions"]:
            name = row["topic"].removeprefix(f"{world.mirror}.").rpartition(".")[0]
            cases.setdefault(name, []).append(row)
    return cases


EQUAL = {
    "honest", "other-order", "crossed", "expired", "vanished", "compacted", "keyed", "keyed-older",
    "filtered", "marked", "adopted", "skipped", "quarantined", "restarted", "keyed-skipped",
}  # fmt: skip


def test_every_case_gets_its_verdict(outcome: Outcome, partitions: dict[str, list[dict[str, Any]]]) -> None:
    assert outcome.exit_code == 9, outcome.stderr
    assert set(partitions) == {*MERGED, *KEYED, *FILTERED, *ADOPTED, "vanished", "marked", "unmarked"}
    assert {name for name, parts in partitions.items() if all(row["equal"] for row in parts)} == EQUAL


@pytest.mark.parametrize(
    ("case", "number", "kind", "here", "partition", "there"),
    [
        ("lost", 0, "missing", 3, None, None),
        ("repeated", 1, "duplicated", 2, 0, 20),
        ("changed", 1, "changed", 5, 0, 11),
        ("foreign", 0, "unexpected", None, 0, 7),
        ("expired-and-foreign", 0, "unexpected", None, 0, 7),  # one of five; unknown which
        ("keyed-lost", 0, "missing", 1, None, None),
        ("keyed-twice", 0, "duplicated", 6, 0, 3),  # either of the two may be called the copy
        ("keyed-swapped", 0, "out_of_order", 1, 1, 1),
        ("keyed-older-and-foreign", 0, "unexpected", None, 0, 13),
        ("filtered-wrong", 0, "unexpected", None, None, 8),
        ("filtered-lost", 0, "missing", 0, None, None),
        ("unmarked", 0, "missing", 2, None, None),
        ("adopted-lost", 1, "missing", 9, None, None),
        ("skipped-and-lost", 1, "missing", 6, None, None),
    ],
)
def test_one_difference_has_its_kind_and_its_coordinates(
    partitions: dict[str, list[dict[str, Any]]],
    case: str,
    number: int,
    kind: str,
    here: int | None,
    partition: int | None,
    there: int | None,
) -> None:
    counts = [row["counts"] for row in partitions[case]]
    assert counts[number] == {kind: 1}
    assert not any(count for n, kinds in enumerate(counts) if n != number for count in kinds.values())
    [place] = partitions[case][number]["first"][kind]
    assert (place["source"], place["partition"], place["destination"]) == (here, partition, there)


def test_other_differences_are_named(partitions: dict[str, list[dict[str, Any]]]) -> None:
    assert partitions["changed"][1]["first"]["changed"][0]["fields"] == ["value"]
    assert partitions["swapped"][0]["counts"] == {"out_of_order": 2}
    assert partitions["lagging"][1]["counts"] == {"lagging": 4}
    assert partitions["raises"][0]["counts"] == {"lagging": 5}
    [note] = partitions["raises"][0]["notes"]
    assert note.startswith("not replicated from offset 5 on: filter ")
    assert "ValueError: not this one" in note


def test_explained_differences_are_noted(
    outcome: Outcome, partitions: dict[str, list[dict[str, Any]]]
) -> None:
    assert [row["expired_on_source"] for row in partitions["expired"]] == [4, 0]
    assert partitions["filtered"][0]["ledger_counts"] == {"filtered": 2}
    assert (partitions["filtered"][0]["filtered"], partitions["filtered"][0]["notes"]) == (2, [])
    assert "now, but the ledger counts 1" in partitions["filtered-wrong"][0]["notes"][0]
    assert "4 records of the destination itself" in partitions["marked"][0]["notes"][0]
    assert {row["destination_partition"] for row in partitions["keyed"]} == {None}
    assert [row["skipped"] for row in partitions["skipped"]] == [0, 3]
    assert [row["skipped"] for row in partitions["keyed-skipped"]] == [5, 0]
    assert [row["quarantined"] for row in partitions["quarantined"]] == [1, 0]
    assert "replicated up to offset 3" in partitions["restarted"][0]["notes"][0]
    merging, by_key, _, _, taken_over = json.loads(outcome.stdout)["mirrors"]
    assert taken_over["notes"] == []
    notes = " ".join(by_key["notes"])
    assert notes.count("3 records before the first record of this mirror") == 2
    assert any("vanished.two is not compared" in note for note in merging["notes"])
    assert any("up to 10 records from sources that are not compared" in note for note in merging["notes"])


def test_records_are_counted_on_both_sides(partitions: dict[str, list[dict[str, Any]]]) -> None:
    for case, there in (("honest", 20), ("lost", 19), ("repeated", 21), ("keyed-older", 23)):
        assert [one["source_records"] for one in partitions[case]] == [10, 10]
        assert sum(one["destination_records"] for one in partitions[case]) == there


COUNTRIES = """\
class Filter:
    def __init__(self, config):
        self.drop = config["drop"].encode()

    def keep_all(self, records):
        return [not record.value.startswith(self.drop) for record in records]
"""


@contextmanager
def writing(world: World, topics: Sequence[str]) -> Iterator[None]:
    """Keep writing to these topics."""
    done = threading.Event()

    def keep_on() -> None:
        start = 2_000_000
        while not done.wait(0.2):
            for topic in topics:
                world.produce(topic, world.numbers(60, 3, start))
            start += 60

    writer = threading.Thread(target=keep_on)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()


def test_with_a_running_mirror_every_route_is_equal(world: World) -> None:
    """All kinds of routes while the mirror runs, under load; then with a moved place and a changed filter."""
    stage = {name: world.topic(f"run.{name}", 3) for name in ("mapped", "keyed", "a", "b", "folded", "both")}
    world.topic("run.few", 2, on="destination")
    older = world.topic("run.older", 4, on="destination")
    world.produce(older, world.numbers(40, 4, start=5_000_000), on="destination")
    world.topic("run.both", 3, on="destination")
    for topic in stage.values():
        world.produce(topic, world.numbers(900, 3))
    world.produce(stage["b"], world.numbers(300, 3))  # some of them identical in value and key
    world.produce(stage["both"], world.numbers(600, 3, start=1_000_000), on="destination")
    (world.directory / "drop.py").write_text(COUNTRIES)
    both = {"topics": [stage["both"]], "provenance": True, "on_existing_records": "append"}
    few, all_in = world.name("run.few"), world.name("run.all")

    def config(to: Sequence[int], drop: str) -> Any:
        pairs = [{"src": src, "dest": dest} for src, dest in enumerate(to)]
        mapped = {"prefix": "eu.", "topics": [stage["mapped"]], "partition_map": {stage["mapped"]: pairs}}
        dropping = [{"filter": "drop.py", "config": {"drop": drop}}]
        return world.mirrors(
            {**mapped, "name": f"{world.mirror}-run"},
            {
                "topics": [stage["keyed"]],
                "rename": {stage["keyed"]: older},
                "partitions": "by-key",
                "on_existing_records": "append",
                "filters": dropping,
                "name": f"{world.mirror}-keyed",
            },
            {
                "topics": [stage["a"], stage["b"], stage["folded"]],
                "rename": {stage["a"]: all_in, stage["b"]: all_in, stage["folded"]: few},
                "merge": True,
                "modulo": True,
                "partition_map": {stage["a"]: 1},
                "name": f"{world.mirror}-merged",
            },
            {**both, "name": f"{world.mirror}-there"},
            {**both, "name": f"{world.mirror}-back", "source": "dst", "destination": "src"},
        )

    first = config((2, 0, 1), "3")
    mirror = world.run(first)
    with writing(world, [stage[name] for name in ("keyed", "a")]):
        outcome = run_verify(first, "--wait", "--timeout", "2m")
    assert mirror.stop() == 0, mirror.output

    assert outcome.exit_code == 0, outcome.stdout + outcome.stderr
    assert f"{stage['a']} → {all_in}" in outcome.stdout
    assert "filtered records" in outcome.stdout
    assert "40 records before the first record of this mirror" in outcome.stdout

    world.produce(stage["mapped"], world.numbers(90, 3, start=900))
    moved = config((0, 1, 2), "4")
    world.carry_all(moved, "--mirror", f"{world.mirror}-run")
    outcome = run_verify(
        moved, "-o", "json", "--mirror", f"{world.mirror}-run", "--mirror", f"{world.mirror}-keyed"
    )

    assert outcome.exit_code == 9, outcome.stdout + outcome.stderr
    mapped, keyed = json.loads(outcome.stdout)["mirrors"]
    assert mapped["equal"], mapped
    assert all("another partition" in row["notes"][0] for row in mapped["partitions"])
    assert mapped["topics"][0]["source_records"] == mapped["topics"][0]["destination_records"] == 990
    assert keyed["counts"]["missing"] + keyed["counts"]["changed"] == 111
    assert keyed["counts"]["unexpected"] + keyed["counts"]["changed"] > 0
    notes = [note for row in keyed["partitions"] for note in row["notes"]]
    assert any("the filters have changed" in note for note in notes)
