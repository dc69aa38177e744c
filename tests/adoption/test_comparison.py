"""Handoffs compared with all partitions of a destination topic; both sides are lists.

Whatever the old tool did, a clean handoff is where its copy ends, and the reported counts are correct.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pytest

from causeway.adoption.destination_topic import SearchResult
from causeway.adoption.handoff_advice import window_to_try
from causeway.adoption.handoff_search import HandoffSearch
from causeway.adoption.resume_hints import AdoptOptions, Hint
from causeway.adoption.rules.handoff import window_around
from causeway.adoption.sides import AdoptionSides
from causeway.core.handoff import SourceRecord, Window
from causeway.core.position import Place, SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.task_order import Lane
from causeway.core.topic import Spot
from causeway.kafka.admin import ClusterView
from causeway.kafka.range_reader import Ending

SIZE = 10


def source(number: int) -> SourcePartition:
    return SourcePartition("here", "t", number)


@dataclass
class Lists:
    """Source partitions, and destination partitions, as lists of contents."""

    sources: list[list[bytes]]
    places: list[list[bytes]]
    size: int = SIZE

    def spots(self, topic: str) -> list[Spot]:
        return [(topic, n) for n in range(len(self.places))]

    def endings(self) -> dict[Spot, Ending[bytes]]:
        return {
            ("t", n): Ending(place[-self.size :], max(0, len(place) - self.size), len(place))
            for n, place in enumerate(self.places)
        }

    def windows(
        self,
        lanes: Sequence[Lane],
        hints: Mapping[SourcePartition, Hint],
        places: Callable[[Lane], int],
        *,
        by_key: bool,
    ) -> dict[SourcePartition, Window]:
        windows = {}
        for lane in lanes:
            digests = self.sources[lane.source.partition]
            begin, end = window_around(hints[lane.source].offset, self.size, places(lane), 0, len(digests))
            seen = [SourceRecord(n, digests[n]) for n in range(begin, end)]
            windows[lane.source] = Window(seen, begin, end, 0, len(digests))
        return windows

    def found_before(self, wanted: Mapping[Spot, tuple[int, Collection[bytes]]]) -> dict[Spot, set[bytes]]:
        return {
            spot: set(self.places[spot[1]][:upto]) & set(digests) for spot, (upto, digests) in wanted.items()
        }

    def last_found(
        self, wanted: Mapping[SourcePartition, tuple[Window, Collection[bytes]]]
    ) -> dict[SourcePartition, int]:
        last = {}
        for source_partition, (window, digests) in wanted.items():
            outside = [*range(window.start), *range(window.end, window.log_end)]
            there = [n for n in outside if self.sources[source_partition.partition][n] in digests]
            if there:
                last[source_partition] = there[-1]
        return last

    def compacted(self, _lanes: Sequence[Lane]) -> set[tuple[str, str]]:
        return set()


class Destination:
    def cluster_id(self) -> str:
        return "there"


def compared(lists: Lists, hints: Sequence[Hint], by_key: bool = False) -> list[SearchResult]:
    lanes = [
        Lane(source(n), "", Place("t", "", BY_KEY if by_key else n), None, shared=by_key)
        for n in range(len(lists.sources))
    ]
    search = HandoffSearch(
        AdoptOptions("group", window=lists.size), cast(AdoptionSides, lists), cast(ClusterView, Destination())
    )
    known = {source(n): hint for n, hint in enumerate(hints)}
    results = search.run(lanes, known, lists.endings())
    return [results[lane.source] for lane in lanes]


def contents(number: int, count: int) -> list[bytes]:
    return [f"{number}-{n}".encode() for n in range(count)]


@dataclass
class Takeover:
    lists: Lists
    copied: list[int]
    hints: list[Hint]
    by_key: bool

    def check(self, results: Sequence[SearchResult]) -> None:
        for number, (at, result) in enumerate(zip(self.copied, results, strict=True)):
            handoff, digests = result.handoff, self.lists.sources[number]
            if handoff.verdict == "clean":
                assert handoff.repeat_from == at, (number, handoff)
            there = {digest for place in self.lists.places for digest in place}
            if handoff.verdict not in ("clean", "unmatched", "beyond_window"):
                assert handoff.repeat_from is not None
                twice = sum(digest in there for digest in digests[handoff.repeat_from :])
                assert handoff.twice.least <= twice <= handoff.twice.most, (number, handoff, twice)
                if handoff.lose_from is not None:
                    lost = sum(
                        digest not in there for digest in digests[handoff.repeat_from : handoff.lose_from]
                    )
                    assert handoff.lost.least <= lost <= handoff.lost.most, (number, handoff, lost)


def takeover(seed: int) -> Takeover:
    """A copy by a tool that keeps partitions, puts all records into one, or anywhere; and may change."""
    draw = random.Random(seed)
    lengths = [draw.choice([0, 4, 15, 40, 90]) for _ in range(draw.randint(1, 3))]
    sources = [contents(number, count) for number, count in enumerate(lengths)]
    copied = [draw.choice([0, count, draw.randint(0, count)]) for count in lengths]
    places: list[list[bytes]] = [[] for _ in range(len(sources) + draw.choice([0, 0, 1]))]
    habits: list[Callable[[int], int]] = [
        lambda number: number,
        lambda number: 0,
        lambda number: (number + 1) % len(places),
        lambda number: draw.randrange(len(places)),
    ]
    habit, later = draw.choices(habits, k=2)
    change = draw.choice([0, 1_000, draw.randint(0, 100)])  # after this many records it puts them elsewhere
    turn = draw.choice([1, 3, 100])  # records of a partition before the next partition's
    upto, count = [0] * len(sources), 0
    while waiting := [n for n, at in enumerate(upto) if at < copied[n]]:
        number = draw.choice(waiting)
        for _ in range(min(turn, copied[number] - upto[number])):
            place = habit(number) if count < change else later(number)
            places[place].append(sources[number][upto[number]])
            upto[number] += 1
            count += 1
    hints = []
    for at, length in zip(copied, lengths, strict=True):
        wrong = at + draw.choice([0, draw.randint(-5, 5), draw.randint(-90, 90)])
        known = draw.random() < 0.8
        hints.append(Hint(min(max(0, wrong), length) if known else 0, "", known))
    return Takeover(Lists(sources, places, draw.choice([SIZE, 20])), copied, hints, draw.random() < 0.3)


@pytest.mark.no_cover
@pytest.mark.parametrize("first", range(0, 4_000, 1_000))
def test_no_claim_about_a_handoff_is_wrong(first: int) -> None:
    """And with the advised window everything that can be known is known."""
    for seed in range(first, first + 1_000):
        copy = takeover(seed)
        if not any(copy.copied):
            continue  # nothing to adopt
        for attempt in range(6):  # noqa: B007
            results = compared(copy.lists, copy.hints, copy.by_key)
            copy.check(results)
            wider = window_to_try(results)
            if not wider:
                break
            copy.lists.size = wider
        refused = [(n, each.handoff) for n, each in enumerate(results) if each.handoff.verdict != "clean"]
        assert not refused, (seed, attempt, refused)


@pytest.mark.parametrize("first", range(0, 4_000, 1_000))
def test_the_reported_counts_are_correct(first: int) -> None:
    """The copies lack some of their last records, or others' records are among them."""
    for seed in range(first, first + 1_000):
        copy, draw = takeover(seed), random.Random(-seed)
        lost: set[bytes] = set()
        for digests, at in zip(copy.lists.sources, copy.copied, strict=True):
            if at > 8 and draw.random() < 0.7:
                lost.update(draw.sample(digests[at - 8 : at - 1], draw.randint(1, 3)))
        copy.lists.places = [
            [digest for digest in place if digest not in lost] for place in copy.lists.places
        ]
        if draw.random() < 0.2:
            draw.choice(copy.lists.places).extend(contents(99, draw.randint(1, 5)))
        if any(copy.copied):
            copy.check(compared(copy.lists, copy.hints, copy.by_key))
