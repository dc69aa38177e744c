"""Records that the ledger skipped, and records in quarantine, are reported and not missing; nothing else is.

Mirrors are simulated: they replicate, an operator moves them, and they quarantine records. What arrived
is then compared with the source, as pairs and as pools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Gap
from causeway.core.pair import Filtering, Pair
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.verify_report import Findings
from causeway.kafka.digest_reader import PartitionReader
from causeway.rules.gaps import begun_again, moved
from causeway.verification.comparison_job import compare_pair
from causeway.verification.pool_comparison import compare_pool
from causeway.verification.rules.grouping import PlaceBounds, group_pairs
from causeway.verification.rules.pairing import Bounds, pair_of, with_quarantine_mismatch

RECORDS = 40
HERE, THERE = Cluster("src", {"bootstrap.servers": "x:1"}), Cluster("dst", {"bootstrap.servers": "x:2"})
PLACE = Place("to", "there", 0)


class Message:
    unreadable = ""

    def __init__(self, offset: int, content: str, key: str = "") -> None:
        self._offset, self._content, self._key = offset, content.encode(), key.encode()

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes:
        return self._content

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000


@dataclass
class Played:
    """A mirror of one partition, and where its records arrived."""

    topic: str = "orders"
    position: Position = field(init=False)
    gaps: list[Gap] = field(default_factory=list)
    labels: Counter[int] = field(default_factory=Counter)
    arrived: list[int] = field(default_factory=list)  # source offsets
    log_start: int = 0
    compacted_away: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        source = SourcePartition("paris", self.topic, 0)
        self.position = Position(source, "here", 5, 5, -1, PLACE, 0, -1, 1, 0)

    def replicate(self, upto: int, quarantined: Sequence[int] = ()) -> None:
        position, tally = self.position, self.position.tally
        offsets = range(position.offset, max(position.offset, upto))
        rejected = [offset for offset in offsets if offset in quarantined]
        delivered = [offset for offset in offsets if offset not in quarantined]
        self.labels.update(rejected)
        self.arrived += delivered
        tally = replace(
            tally,
            delivered=tally.delivered + len(delivered),
            quarantined=tally.quarantined + len(rejected),
        )
        end = offsets.stop if offsets else position.offset
        self.position = replace(position, offset=end, place_end=10**9, tally=tally)

    def move(self, to: int) -> None:
        self.position, gap = moved(
            self.position, to, verdict="skip", by="me@here", why="it was time", at=len(self.gaps)
        )
        self.gaps.append(gap)

    def expire(self, before: int) -> None:
        self.log_start = before

    def pair(self, *, compacted: bool = False) -> Pair:
        bounds = Bounds("here", self.log_start, RECORDS, "there", 0, 10**6, RECORDS)
        return pair_of(
            self.position.source,
            self.position,
            bounds,
            compacted=compacted,
            source_compacted=compacted,
            timestamps=True,
            gaps=self.gaps,
            labels=self.labels,
        )

    def log(self, keys: int = 1_000) -> list[Message]:
        left = sorted(set(range(self.log_start, RECORDS)) - self.compacted_away)
        return [self.record(offset, offset, keys) for offset in left]

    def record(self, at: int, original: int, keys: int = 1_000) -> Message:
        return Message(at, f"{self.topic} {original}", f"k{original % keys}")


def comparing(logs: dict[str, list[Message]]) -> Any:
    """Both clusters, by the names of their topics."""

    def read(self: PartitionReader, start: int) -> Iterator[list[Any]]:
        wanted = [message for message in logs[self._topic] if message.offset() >= start]
        for at in range(0, len(wanted), 7):
            yield wanted[at : at + 7]

    return patch.object(PartitionReader, "_messages", read)


def compared(played: Played, arrived: Sequence[int] | None = None) -> Findings:
    """As a pair; `arrived` in place of what the mirror delivered."""
    arrived_records = played.arrived if arrived is None else arrived
    pair = played.pair()
    with comparing(
        {
            played.topic: played.log(),
            "to": [played.record(at, original) for at, original in enumerate(arrived_records)],
        }
    ):
        findings = compare_pair(pair, HERE, THERE)
    return with_quarantine_mismatch(
        findings, missing=pair.missing_in_quarantine, uncounted=pair.uncounted_in_quarantine
    )


def pooled(players: Sequence[Played], arrived: Sequence[tuple[int, int]], **how: Any) -> list[Findings]:
    """All of them in one place; `arrived` has pairs of a player's number and a source offset."""
    keys = 5 if how.get("compacted") else 1_000
    pairs = [player.pair(**how) for player in players]
    alone, [pool] = group_pairs(pairs, [], {("to", 0): PlaceBounds(0, 10**6)})
    assert not alone
    with comparing(
        {player.topic: player.log(keys) for player in players}
        | {"to": [players[who].record(at, n, keys) for at, (who, n) in enumerate(arrived)]}
    ):
        return list(compare_pool(pool, {"paris": HERE}, THERE, Filtering()).members)


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("replicate"), st.integers(5, RECORDS), st.sets(st.integers(5, RECORDS), max_size=4)
        ),
        st.tuples(st.just("move"), st.integers(0, RECORDS)),
    ),
    max_size=7,
)


def play(steps: Sequence[tuple[Any, ...]], topic: str = "orders") -> Played:
    played = Played(topic)
    for name, *rest in steps:
        getattr(played, name)(*rest)
    return played


def assert_findings(findings: Findings, played: Played) -> None:
    """All differences are found, and no others."""
    position, times = played.position, Counter(played.arrived)
    before = range(min([5, *(gap.end for gap in played.gaps)]), position.offset)
    quarantined = [n for n in before if played.labels[n] and not times[n]]
    counts = Counter(findings.counts)
    del counts["out_of_order"]  # depends on where it moved back to
    assert counts == {
        kind: count
        for kind, count in (
            ("duplicated", sum(count - 1 for count in times.values())),
            ("lagging", sum(not times[n] for n in range(position.offset, RECORDS))),
        )
        if count
    }
    assert findings.quarantined == len(quarantined)
    assert findings.skipped == sum(not times[n] for n in before) - len(quarantined)
    back = any(gap.skipped < 0 for gap in played.gaps)
    assert back or not findings.counts.get("out_of_order")


@given(steps)
def test_whatever_an_operator_does_every_record_of_a_pair_is_accounted_for(steps: Any) -> None:
    played = play(steps)

    assert_findings(compared(played), played)


@given(steps, steps, st.randoms(use_true_random=False))
def test_whatever_an_operator_does_every_record_of_a_pool_is_accounted_for(
    first: Any, second: Any, mix: Any
) -> None:
    players = [play(first), play(second, "payments")]
    turns = [0] * len(players[0].arrived) + [1] * len(players[1].arrived)
    mix.shuffle(turns)
    waiting = [iter(player.arrived) for player in players]

    results = pooled(players, [(who, next(waiting[who])) for who in turns])

    for findings, played in zip(results, players, strict=True):
        assert_findings(findings, played)


@given(steps, st.data())
def test_a_record_that_is_lost_next_to_a_gap_is_missing(steps: Any, data: Any) -> None:
    played = play(steps)
    times = Counter(played.arrived)
    required = [n for n in times if times[n] == 1 and n < played.position.offset]
    if not required:
        return
    lost = data.draw(st.sampled_from(sorted(required)))

    findings = compared(played, [n for n in played.arrived if n != lost])

    assert findings.counts["missing"] == 1
    assert findings.first["missing"][0].source == lost


def test_a_gap_is_noted_with_its_offsets_and_who_made_it() -> None:
    played = play([("replicate", 10), ("move", 20), ("replicate", 30), ("move", 28), ("replicate", RECORDS)])

    findings, pair = compared(played), played.pair()

    assert pair.notes[0] == (
        "skipped offsets 10 to 19 (10), 1970-01-01 00:00:00 UTC, by me@here: it was time"
    )
    assert pair.notes[1].startswith("moved back from offset 30 to 28, 2 offsets to replicate again, ")
    assert (findings.skipped, findings.counts) == (10, {"duplicated": 2})
    assert {at.source for at in findings.first["duplicated"]} == {28, 29}
    assert Pair.from_json(pair.to_json()) == pair


def test_records_skipped_and_replicated_later_are_required() -> None:
    played = play([("replicate", 10), ("move", 30), ("move", 10), ("replicate", RECORDS)])

    assert (compared(played).counts, compared(played).skipped) == ({}, 0)
    assert compared(played, [n for n in played.arrived if n != 20]).counts == {"missing": 1}


def test_after_a_move_before_the_start_everything_from_there_is_compared() -> None:
    played = play([("replicate", 10), ("move", 2), ("replicate", RECORDS)])

    assert played.pair().source_from == 2
    assert compared(played).counts == {"duplicated": 5}


def test_offsets_that_retention_deleted_before_the_gap_excuse_nothing_else() -> None:
    played = play([("replicate", 10), ("move", 20), ("replicate", RECORDS), ("expire", 20)])
    begun = play([("move", 20), ("replicate", RECORDS), ("expire", 20)])

    assert (played.pair().source_expired, compared(played).expired_on_source) == (5, 5)
    assert (begun.pair().source_trimmed, begun.pair().source_expired) == (False, 0)
    assert compared(begun, [0, *begun.arrived]).counts == {"unexpected": 1}


@pytest.mark.parametrize(
    ("labels", "arrived", "counts"),
    [
        ({7: 1}, [5, 6, 8, 9], {}),
        ({7: 1}, [5, 6, 7, 8, 9], {"unexpected": 1}),  # in quarantine, and delivered too
        ({}, [5, 6, 8, 9], {"missing": 1}),  # the quarantine lost it
        ({}, [5, 6, 7, 8, 9], {"missing": 1}),  # a record whose offset is unknown
        ({7: 1, 8: 1}, [5, 6, 9], {"unexpected": 1}),  # the ledger counts one only
        ({7: 1, 30: 1}, [5, 6, 8, 9], {}),  # the second came later
    ],
)
def test_the_ledger_the_quarantine_and_the_destination_must_agree(
    labels: dict[int, int], arrived: list[int], counts: dict[str, int]
) -> None:
    played = play([("replicate", 10, {7})])
    played.labels = Counter(labels)

    differences = {
        kind: count for kind, count in compared(played, arrived).counts.items() if kind != "lagging"
    }

    assert differences == counts
    disagree = sum(count for offset, count in labels.items() if offset < 10) != 1
    assert any("the quarantine topic holds" in note for note in played.pair().notes) == disagree


def test_a_recreated_topic_is_compared_from_its_beginning() -> None:
    """In a place of its own nothing else is compared; in a shared one the older records are foreign."""
    played = Played()
    played.replicate(20)
    before = list(played.arrived)
    played.position, gap = begun_again(
        replace(played.position, topic_id="old"), "here", 0, PLACE, 15, "recreated", 9
    )
    played.gaps.append(gap)
    played.arrived.clear()
    played.replicate(RECORDS)
    other = play([("replicate", RECORDS)], "payments")

    pair = played.pair()
    old = [Message(at, f"older {n}") for at, n in enumerate(before)]
    new = [played.record(at + len(old), n) for at, n in enumerate(played.arrived)]
    with comparing({"orders": played.log(), "to": [*old, *new]}):
        assert (pair.place_from, compare_pair(pair, HERE, THERE).counts) == (15, {})
    assert pair.notes[0].startswith(
        "started with another topic of this name at offset 0; the one before was replicated up to offset 20, "
    )
    _, [pool] = group_pairs([other.pair(), pair], [], {("to", 0): PlaceBounds(0, 10**6)})
    theirs = [other.record(at + 100, n) for at, n in enumerate(other.arrived)]
    shared = {"orders": played.log(), "payments": other.log(), "to": [*old, *new, *theirs]}
    with comparing(shared):
        result = compare_pool(pool, {"paris": HERE}, THERE, Filtering())
    assert [member.counts for member in result.members] == [{}, {}]
    assert "up to 20 records from sources that are not compared" in result.notes[0]


def test_compacted_topics_may_lack_what_a_skipped_record_replaced() -> None:
    """Each of five keys was replicated once, and its newer record skipped: the source may have only that."""
    played = play([("replicate", 10), ("move", 15), ("move", 15), ("replicate", 15)])
    alone, pools = group_pairs([played.pair(compacted=True)], [], {("to", 0): PlaceBounds(0, 10**6)})
    assert (alone, len(pools)) == ([], 1), "a pool compares more closely"
    played.compacted_away = {*range(5, 10), *range(15, RECORDS)}

    [findings] = pooled([played], [(0, n) for n in played.arrived], compacted=True)

    assert (findings.skipped, findings.counts) == (5, {})


def test_without_gaps_nothing_is_read_twice() -> None:
    """A pair without gaps costs nothing more: the reader's batches are returned unchanged."""
    from causeway.verification.expected_records import ExpectedRecords

    played = play([("replicate", RECORDS)])
    batches = [played.log()]
    with patch.object(PartitionReader, "_messages", lambda self, start: iter(batches)):
        assert next(ExpectedRecords(HERE, played.pair(), Filtering())._messages(0)) is batches[0]
        apart = replace(played.pair(), skipped=((1_000, 2_000),))
        assert next(ExpectedRecords(HERE, apart, Filtering())._messages(0)) is batches[0]


def test_counts_of_a_tally_still_balance() -> None:
    played = play([("replicate", 10, {7}), ("move", 20), ("replicate", 30), ("move", 12), ("replicate", 15)])

    assert played.position.offset - played.position.start == played.position.tally.offsets
    assert played.position.tally == Tally(delivered=17, quarantined=1, skipped=-8)
