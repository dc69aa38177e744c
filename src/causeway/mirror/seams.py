"""Finding the seams: each source partition is held against all partitions of its destination topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from causeway.kafka.admin import ClusterView
from causeway.kafka.tails import Ending, Spot
from causeway.mirror.hints import Asked, Hint
from causeway.mirror.sides import Sides
from causeway.model.order import Lane
from causeway.model.position import SourcePartition
from causeway.model.route import BY_KEY
from causeway.model.seam import Seam, Tail, Window
from causeway.policy import placement
from causeway.policy.advice import SEARCHED, advice, larger_window, reads_all
from causeway.policy.seam import find_seam

Endings = Mapping[Spot, Ending[bytes]]


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of one source partition, and the seam in it."""

    window: Window
    tails: Sequence[Tail]
    seam: Seam
    wider: int = 0  # the --window that would decide where this one did not


@dataclass(slots=True)
class Topic:
    """The lanes that write to one destination topic, and the end of each of its partitions."""

    name: str
    lanes: list[Lane]
    tails: list[Tail]
    windows: dict[SourcePartition, Window]
    lenient: Callable[[Lane], bool]
    scattered: bool = False  # the old tool's records are not where the mirror would put them

    def places(self, lane: Lane) -> list[Tail]:
        """Where a lane's records may be."""
        number = lane.place.partition
        return self.tails if self.scattered or number == BY_KEY else [self.tails[number]]

    def unowned(self) -> list[int]:
        """Partitions that no lane writes to."""
        if self.scattered or any(lane.place.partition == BY_KEY for lane in self.lanes):
            return []
        return sorted(set(range(len(self.tails))) - {lane.place.partition for lane in self.lanes})


@dataclass(frozen=True, slots=True)
class Searched:
    """What lies before the tails of a topic was searched for these contents, and those were there."""

    wanted: set[bytes]
    held: set[bytes]

    def of(self, window: Window) -> int | None:
        """How many contents of this window were there; None if none of them was searched for."""
        mine = {seen.print for seen in window.records}
        return None if mine.isdisjoint(self.wanted) else len(mine & self.held)


class Comparison:
    def __init__(self, asked: Asked, sides: Sides, destination: ClusterView) -> None:
        self._asked = asked
        self._sides = sides
        self._destination = destination

    def compare(
        self, lanes: Sequence[Lane], hints: Mapping[SourcePartition, Hint], endings: Endings
    ) -> dict[SourcePartition, Found]:
        topics = self._topics(lanes, hints, endings)
        found: dict[SourcePartition, Found] = {}
        for topic in topics:
            found |= self._seams(topic, hints)
        searched = self._search(topics, hints, found)
        for topic in topics:
            self._explain(topic, hints, found, searched.get(topic.name))
        self._advise(topics, hints, found)
        return found

    def _topics(
        self, lanes: Sequence[Lane], hints: Mapping[SourcePartition, Hint], endings: Endings
    ) -> list[Topic]:
        """What was read, with windows as wide as the old tool's placement asks for."""
        partitions = {lane.place.topic: len(self._sides.spots(lane.place.topic)) for lane in lanes}
        windows = self._sides.windows(
            lanes,
            hints,
            lambda lane: partitions[lane.place.topic] if lane.place.partition == BY_KEY else 1,
            by_key=True,
        )
        compacted, there = self._sides.compacted(lanes), self._destination.cluster_id()
        by_name: dict[str, list[Lane]] = {}
        for lane in lanes:
            by_name.setdefault(lane.place.topic, []).append(lane)
        topics = []
        for name, mine in by_name.items():
            tails = [
                Tail(one.seen, one.begin, one.end, one.log_start)
                for one in (endings[spot] for spot in self._sides.spots(name))
            ]
            homes = [None if lane.place.partition == BY_KEY else lane.place.partition for lane in mine]
            topic = Topic(
                name,
                mine,
                tails,
                windows,
                lambda lane: not compacted.isdisjoint((lane.source[:2], (there, lane.place.topic))),
                placement.is_elsewhere([windows[lane.source] for lane in mine], homes, tails),
            )
            topics.append(topic)
        # Records of many partitions lie in each: what the tails hold reaches further back on the source.
        scattered = [lane for topic in topics if topic.scattered for lane in topic.lanes]
        if scattered:
            windows |= self._sides.windows(
                scattered, hints, lambda lane: partitions[lane.place.topic], by_key=False
            )
        return topics

    def _seams(self, topic: Topic, hints: Mapping[SourcePartition, Hint]) -> dict[SourcePartition, Found]:
        found = {}
        for group in _sharing(topic):
            windows = [topic.windows[lane.source] for lane in group]
            windows_with = Counter(print for one in windows for print in {seen.print for seen in one.records})
            complete = all(window.start == 0 for window in windows)
            for lane, window in zip(group, windows, strict=True):
                hint = hints[lane.source]
                offset = hint.offset
                if topic.scattered and self._asked.origin == "destination-end":
                    offset = min(offset, window.log_end)  # the end of records of many partitions
                seam = find_seam(
                    window,
                    topic.places(lane),
                    offset,
                    hinted=hint.known,
                    exclusive=not lane.shared and not topic.scattered,
                    lenient=topic.lenient(lane),
                    complete=complete,
                    windows_with=windows_with,
                )
                found[lane.source] = Found(window, topic.places(lane), seam)
        return found

    def _search(
        self,
        topics: Iterable[Topic],
        hints: Mapping[SourcePartition, Hint],
        found: Mapping[SourcePartition, Found],
    ) -> dict[str, Searched]:
        """By topic: which records after the seams lie on the destination before the tails.

        Only topics where that is in question, and whose partitions are not too long, are searched.
        """
        searched: dict[str, Searched] = {}
        spans: dict[Spot, tuple[int, set[bytes]]] = {}
        for topic in topics:
            nothing = any(_is_nothing(topic, lane, found[lane.source], hints) for lane in topic.lanes)
            torn = any(found[lane.source].seam.verdict in ("torn", "strange") for lane in topic.lanes)
            if not nothing and not torn and not _unexplained(topic, found):
                continue
            if not 0 < placement.unread(topic.tails) <= self._most():
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
        for (name, _), prints in self._sides.held_before(spans).items() if spans else ():
            searched[name].held.update(prints)
        return searched

    def _explain(
        self,
        topic: Topic,
        hints: Mapping[SourcePartition, Hint],
        found: dict[SourcePartition, Found],
        searched: Searched | None,
    ) -> None:
        """Hold the seams against all that the destination topic has."""
        comparable = any(found[lane.source].seam.found for lane in topic.lanes)
        known = {seen.print for lane in topic.lanes for seen in topic.windows[lane.source].records}
        held = Counter(print for tail in topic.tails for print in tail.prints)
        strangers = sum(count for print, count in held.items() if print not in known)
        doubts, unowned = _unexplained(topic, found), set(topic.unowned())
        if searched is not None:
            doubts = {number: count for number, count in doubts.items() if number in unowned}
        by_key = not topic.scattered and topic.lanes[0].place.partition == BY_KEY
        last = {number: placement.amid(tail, known, by_key=by_key) for number, tail in enumerate(topic.tails)}
        for lane in topic.lanes:
            one, hint = found[lane.source], hints[lane.source]
            seam, window = one.seam, one.window
            if _is_nothing(topic, lane, one, hints):
                seam = placement.not_found(
                    window,
                    topic.tails,
                    hint.offset,
                    hinted=hint.known,
                    comparable=comparable,
                    buried=searched.of(window) if searched is not None else None,
                    held=held,
                    strangers=strangers,
                )
            elif searched is None:
                seam = placement.unsure(seam, topic.tails)
            elif seam.verdict in ("clean", "torn", "strange"):
                seam = placement.contradicted(seam, window, searched.held, held)
            mixed = lane.shared or topic.scattered
            extra = last if mixed and window.end < window.log_end else doubts
            if seam.verdict == "clean" and any(extra.values()):
                where, count = max(extra.items(), key=lambda item: item[1])
                seam = placement.doubted(seam, f"{topic.name}[{where}]", count)
            seam = placement.beside_strangers(
                seam, window, topic.tails, strangers, sum(last.values()), searched=searched is not None
            )
            found[lane.source] = replace(one, seam=seam)

    def _advise(
        self,
        topics: Iterable[Topic],
        hints: Mapping[SourcePartition, Hint],
        found: dict[SourcePartition, Found],
    ) -> None:
        lost: dict[SourcePartition, tuple[Window, set[bytes]]] = {}
        for topic in topics:
            prints = {print for tail in topic.tails for print in tail.prints}
            sought = {
                lane.source: (one.window, prints)
                for lane in topic.lanes
                if (one := found[lane.source]).seam.verdict in ("unmatched", "beyond", "absent")
            }
            outside = sum(
                window.log_end - window.log_start - (window.end - window.start)
                for window, _ in sought.values()
            )
            if 0 < outside <= self._most():
                lost.update(sought)
        last = dict.fromkeys(lost, -1) | (self._sides.last_held(lost) if lost else {})
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
                    topic.tails,
                    hint,
                    places=len(one.tails),
                    size=self._asked.window,
                    whole=whole,
                    comparable=comparable,
                    last=last.get(lane.source),
                )
                todo = "" if one.seam.verdict == "clean" else advice(one.seam, one.window, hint)
                found[lane.source] = replace(one, seam=replace(one.seam, todo=todo), wider=wider)

    def _most(self) -> int:
        return SEARCHED * self._asked.window


def _is_nothing(topic: Topic, lane: Lane, found: Found, hints: Mapping[SourcePartition, Hint]) -> bool:
    """Whether nothing of the lane is where it may be: then the rest of the topic decides."""
    hint = hints[lane.source]
    if found.window.log_start == found.window.log_end:
        return False
    if all(tail.end == 0 for tail in found.tails):
        return True
    own = not lane.shared and not topic.scattered  # a partition of its own, with records of others
    known = not hint.known or found.window.log_start <= hint.offset <= found.window.log_end
    return found.seam.verdict == "unmatched" and not found.seam.found and not own and known


def _unexplained(topic: Topic, found: Mapping[SourcePartition, Found]) -> dict[int, int]:
    """Partitions that hold more records than the seams explain, and how many more."""
    extra = {number: len(topic.tails[number].prints) for number in topic.unowned()}
    for lane in topic.lanes if not topic.scattered else ():
        if not lane.shared:
            one, number = found[lane.source], lane.place.partition
            if one.seam.verdict == "clean":
                extra[number] = placement.unexplained(one.window, topic.tails[number], one.seam.repeat or 0)
            elif one.seam.verdict == "unmatched":
                extra[number] = len(topic.tails[number].prints)
    return {number: count for number, count in extra.items() if count}


def _sharing(topic: Topic) -> list[list[Lane]]:
    """Lanes whose records may meet in one partition, together; others alone."""
    groups: dict[object, list[Lane]] = {}
    for lane in topic.lanes:
        groups.setdefault("" if lane.shared or topic.scattered else lane.source, []).append(lane)
    return list(groups.values())


def window_to_try(found: Iterable[Found]) -> int:
    """The `--window` that would decide all of these; 0 where none would.

    Where a seam was not found at all, that comes first: the others may be in doubt for its records alone.
    """
    refused = [one for one in found if one.seam.verdict != "clean"]
    first = [one.wider for one in refused if one.seam.verdict in ("unmatched", "beyond") and one.wider]
    return max(first or [one.wider for one in refused], default=0)
