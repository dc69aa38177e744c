"""Checks handoffs against everything in a destination topic, and gives advice where they fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from causeway.adoption.resume_hints import Hint
from causeway.adoption.rules import placement
from causeway.adoption.rules.advice import SEARCHED, advice, larger_window, reads_all
from causeway.adoption.rules.placement import Rest
from causeway.adoption.sides import AdoptionSides
from causeway.core.handoff import Handoff, Tail, Window
from causeway.core.position import SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.task_order import Lane
from causeway.core.topic import Spot


@dataclass(frozen=True, slots=True)
class FoundHandoff:
    """What was read of one source partition, and its handoff."""

    window: Window
    tails: Sequence[Tail]
    seam: Handoff
    wider: int = 0  # the --window that would decide if this one did not


@dataclass(slots=True)
class DestinationTopic:
    """The lanes that write to one destination topic, and the end of each of its partitions."""

    name: str
    lanes: list[Lane]
    tails: list[Tail]
    windows: dict[SourcePartition, Window]
    lenient: Callable[[Lane], bool]
    scattered: bool = False  # the old tool's records are not where the mirror would put them
    rest: Rest = field(init=False)

    def __post_init__(self) -> None:
        self.rest = Rest.of(self.tails)

    def places(self, lane: Lane) -> list[Tail]:
        """The tails in which a lane's records may be."""
        number = lane.place.partition
        return self.tails if self.scattered or number == BY_KEY else [self.tails[number]]

    def unowned(self) -> list[int]:
        """Partitions that no lane writes to."""
        if self.scattered or any(lane.place.partition == BY_KEY for lane in self.lanes):
            return []
        return sorted(set(range(len(self.tails))) - {lane.place.partition for lane in self.lanes})


@dataclass(frozen=True, slots=True)
class Searched:
    """What lies before the tails of a topic was searched for `wanted`; `held` was found there."""

    wanted: set[bytes]
    held: set[bytes]

    def of(self, window: Window) -> int | None:
        """How many contents of this window were found; None if none of them was searched for."""
        mine = {seen.print for seen in window.records}
        return None if mine.isdisjoint(self.wanted) else len(mine & self.held)


def search(
    sides: AdoptionSides,
    most: int,
    topics: Iterable[DestinationTopic],
    hints: Mapping[SourcePartition, Hint],
    found: Mapping[SourcePartition, FoundHandoff],
) -> dict[str, Searched]:
    """By topic: which records after the handoffs lie on the destination before the tails.

    Only topics where that is in doubt, and which have no more than `most` offsets there, are searched.
    """
    searched: dict[str, Searched] = {}
    spans: dict[Spot, tuple[int, set[bytes]]] = {}
    for topic in topics:
        nothing = any(_is_nothing(topic, lane, found[lane.source], hints) for lane in topic.lanes)
        torn = any(found[lane.source].seam.verdict in ("torn", "strange") for lane in topic.lanes)
        if not nothing and not torn and not _unexplained(topic, found):
            continue
        if not 0 < topic.rest.unread <= most:
            continue
        mine = [found[lane.source] for lane in topic.lanes]
        wanted = placement.following(
            (one.window, one.seam.repeat or 0)
            for one in mine
            if one.seam.verdict in ("clean", "torn", "strange", "unmatched")
        )
        searched[topic.name] = Searched(wanted, set())
        spans |= {
            (topic.name, number): (tail.begin, wanted)
            for number, tail in enumerate(topic.tails)
            if wanted and tail.begin > tail.log_start
        }
    for (name, _), prints in sides.held_before(spans).items() if spans else ():
        searched[name].held.update(prints)
    return searched


def explain(
    topic: DestinationTopic,
    hints: Mapping[SourcePartition, Hint],
    found: dict[SourcePartition, FoundHandoff],
    searched: Searched | None,
) -> None:
    """Check the handoffs against everything in the destination topic."""
    comparable = any(found[lane.source].seam.found for lane in topic.lanes)
    known = {seen.print for lane in topic.lanes for seen in topic.windows[lane.source].records}
    held = Counter(print for tail in topic.tails for print in tail.prints)
    strangers = sum(count for print, count in held.items() if print not in known)
    doubts, unowned = _unexplained(topic, found), set(topic.unowned())
    if searched is not None:
        doubts = {number: count for number, count in doubts.items() if number in unowned}
    by_key = not topic.scattered and topic.lanes[0].place.partition == BY_KEY
    amid = {number: placement.amid(tail, known, by_key=by_key) for number, tail in enumerate(topic.tails)}
    newest, here, there = sum(amid.values()), _most_of(amid), _most_of(doubts)
    for lane in topic.lanes:
        one, hint = found[lane.source], hints[lane.source]
        seam, window = one.seam, one.window
        if _is_nothing(topic, lane, one, hints):
            seam = placement.not_found(
                window,
                topic.rest,
                hint.offset,
                hinted=hint.known,
                comparable=comparable,
                buried=searched.of(window) if searched is not None else None,
                held=held,
                strangers=strangers,
            )
        elif searched is None:
            seam = placement.unsure(seam, window, topic.rest)
        elif seam.verdict in ("clean", "torn", "strange"):
            seam = placement.contradicted(seam, window, searched.held, held)
        mixed = lane.shared or topic.scattered
        where, count = here if mixed and window.end < window.log_end else there
        if seam.verdict == "clean" and count:
            seam = placement.doubted(seam, f"{topic.name}[{where}]", count)
        seam = placement.beside_strangers(
            seam, window, topic.rest, strangers, newest, searched=searched is not None
        )
        found[lane.source] = replace(one, seam=seam)


def advise(
    sides: AdoptionSides,
    size: int,
    topics: Iterable[DestinationTopic],
    hints: Mapping[SourcePartition, Hint],
    found: dict[SourcePartition, FoundHandoff],
) -> None:
    """Give the operator's options, and the `--window` with which there would be nothing to choose."""
    lost: dict[SourcePartition, tuple[Window, set[bytes]]] = {}
    for topic in topics:
        prints = {print for tail in topic.tails for print in tail.prints}
        sought = {
            lane.source: (one.window, prints)
            for lane in topic.lanes
            if (one := found[lane.source]).seam.verdict in ("unmatched", "beyond", "absent")
        }
        outside = sum(
            window.log_end - window.log_start - (window.end - window.start) for window, _ in sought.values()
        )
        if 0 < outside <= SEARCHED * size:
            lost.update(sought)
    last = dict.fromkeys(lost, -1) | (sides.last_held(lost) if lost else {})
    for topic in topics:
        comparable = any(found[lane.source].seam.found for lane in topic.lanes)
        whole = reads_all(
            (
                (one.window, hints[lane.source].offset, len(one.tails))
                for lane in topic.lanes
                for one in (found[lane.source],)
            ),
            topic.tails,
        )
        for lane in topic.lanes:
            one, hint = found[lane.source], hints[lane.source].offset
            wider = larger_window(
                one.seam,
                one.window,
                topic.rest,
                hint,
                places=len(one.tails),
                size=size,
                whole=whole,
                comparable=comparable,
                last=last.get(lane.source),
            )
            todo = "" if one.seam.verdict == "clean" else advice(one.seam, one.window, hint)
            found[lane.source] = replace(one, seam=replace(one.seam, todo=todo), wider=wider)


def window_to_try(found: Iterable[FoundHandoff]) -> int:
    """The `--window` that would decide all of these; 0 if none would.

    A handoff may be strange only because of another partition's records: then the window that decides that
    partition is enough.
    """
    refused = [one for one in found if one.seam.verdict != "clean"]
    own = max((one.wider for one in refused if one.seam.verdict != "strange"), default=0)
    return own or max((one.wider for one in refused), default=0)


def _is_nothing(
    topic: DestinationTopic, lane: Lane, found: FoundHandoff, hints: Mapping[SourcePartition, Hint]
) -> bool:
    """Whether none of the lane's records is where it may be: then the rest of the topic decides."""
    hint = hints[lane.source]
    if found.window.log_start == found.window.log_end:
        return False
    if all(tail.end == 0 for tail in found.tails):
        return True
    own = not lane.shared and not topic.scattered  # it has its own partition, which holds records of others
    known = not hint.known or found.window.log_start <= hint.offset <= found.window.log_end
    return found.seam.verdict == "unmatched" and not found.seam.found and not own and known


def _unexplained(topic: DestinationTopic, found: Mapping[SourcePartition, FoundHandoff]) -> dict[int, int]:
    """Partitions that hold more records than the handoffs explain, and how many more."""
    extra = {number: len(topic.tails[number].prints) for number in topic.unowned()}
    for lane in topic.lanes if not topic.scattered else ():
        if not lane.shared:
            one, number = found[lane.source], lane.place.partition
            if one.seam.verdict == "unmatched":
                extra[number] = len(topic.tails[number].prints)
            elif one.seam.lose is not None:
                extra[number] = placement.unexplained(one.window, topic.tails[number], one.seam.lose)
    return {number: count for number, count in extra.items() if count}


def _most_of(counts: Mapping[int, int]) -> tuple[int, int]:
    """The partition with the most, and how many."""
    return max(counts.items(), key=lambda item: item[1], default=(0, 0))
