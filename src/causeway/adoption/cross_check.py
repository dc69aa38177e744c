"""Checks handoffs against everything in a destination topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from causeway.adoption.destination_topic import DestinationTopic, SearchResult
from causeway.adoption.resume_hints import Hint
from causeway.adoption.rules import placement
from causeway.adoption.sides import AdoptionSides
from causeway.core.handoff import Window
from causeway.core.position import SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.task_order import Lane
from causeway.core.topic import Spot


@dataclass(frozen=True, slots=True)
class SearchedTopic:
    """The records before a topic's tails were searched for `wanted`; `found` is on the destination."""

    wanted: set[bytes]
    found: set[bytes]

    def count(self, window: Window) -> int | None:
        """How many contents of this window were found; None if none of them was searched for."""
        digests = {record.digest for record in window.records}
        return None if digests.isdisjoint(self.wanted) else len(digests & self.found)


def search_before_tails(
    sides: AdoptionSides,
    most: int,
    topics: Iterable[DestinationTopic],
    hints: Mapping[SourcePartition, Hint],
    results: Mapping[SourcePartition, SearchResult],
) -> dict[str, SearchedTopic]:
    """By topic: which records after the handoffs are on the destination before the tails.

    Only topics where that is in doubt, and which have no more than `most` offsets there, are searched.
    """
    searched: dict[str, SearchedTopic] = {}
    spans: dict[Spot, tuple[int, set[bytes]]] = {}
    for topic in topics:
        of_topic = [results[lane.source] for lane in topic.lanes]
        none_found = any(_none_found(topic, lane, results[lane.source], hints) for lane in topic.lanes)
        in_doubt = any(result.handoff.verdict in ("incomplete", "unexpected") for result in of_topic)
        if not none_found and not in_doubt and not _unexplained(topic, results):
            continue
        if not 0 < topic.uncovered.unread <= most:
            continue
        wanted = placement.contents_after(
            (result.window, result.handoff.repeat_from or 0)
            for result in of_topic
            if result.handoff.verdict in ("clean", "incomplete", "unexpected", "unmatched")
        )
        searched[topic.name] = SearchedTopic(wanted, set())
        spans |= {
            (topic.name, number): (tail.begin, wanted)
            for number, tail in enumerate(topic.tails)
            if wanted and tail.begin > tail.log_start
        }
    for (name, _), digests in sides.found_before(spans).items() if spans else ():
        searched[name].found.update(digests)
    return searched


def check_handoffs(
    topic: DestinationTopic,
    hints: Mapping[SourcePartition, Hint],
    results: dict[SourcePartition, SearchResult],
    searched: SearchedTopic | None,
) -> None:
    """Check the handoffs against everything in the destination topic."""
    comparable = any(results[lane.source].handoff.matched for lane in topic.lanes)
    known = {record.digest for lane in topic.lanes for record in topic.windows[lane.source].records}
    in_tails = Counter(digest for tail in topic.tails for digest in tail.digests)
    unknown_records = sum(count for digest, count in in_tails.items() if digest not in known)
    unexplained, unowned = _unexplained(topic, results), set(topic.unowned())
    if searched is not None:
        unexplained = {number: count for number, count in unexplained.items() if number in unowned}
    by_key = not topic.scattered and topic.lanes[0].place.partition == BY_KEY
    newest = {
        number: placement.unknown_after_first(tail, known, by_key=by_key)
        for number, tail in enumerate(topic.tails)
    }
    most_unknown, most_unexplained = _largest(newest), _largest(unexplained)
    for lane in topic.lanes:
        result, hint = results[lane.source], hints[lane.source]
        handoff, window = result.handoff, result.window
        if _none_found(topic, lane, result, hints):
            handoff = placement.not_found(
                window,
                topic.uncovered,
                hint.offset,
                hinted=hint.known,
                comparable=comparable,
                before_tails=searched.count(window) if searched is not None else None,
                in_tails=in_tails,
                unknown_records=unknown_records,
            )
        elif searched is None:
            handoff = placement.with_unsearched(handoff, window, topic.uncovered)
        elif handoff.verdict in ("clean", "incomplete", "unexpected"):
            handoff = placement.contradicted(handoff, window, searched.found, in_tails)
        mixed = lane.shared or topic.scattered
        partition, count = most_unknown if mixed and window.end < window.log_end else most_unexplained
        if handoff.verdict == "clean" and count:
            handoff = placement.with_unexplained(handoff, f"{topic.name}[{partition}]", count)
        handoff = placement.with_unknown_records(
            handoff,
            window,
            topic.uncovered,
            unknown_records,
            sum(newest.values()),
            searched=searched is not None,
        )
        results[lane.source] = replace(result, handoff=handoff)


def _none_found(
    topic: DestinationTopic, lane: Lane, result: SearchResult, hints: Mapping[SourcePartition, Hint]
) -> bool:
    """Whether none of the lane's records is where it may be: then the rest of the topic decides."""
    hint, window, handoff = hints[lane.source], result.window, result.handoff
    if window.log_start == window.log_end:
        return False
    if all(tail.end == 0 for tail in result.tails):
        return True
    own = not lane.shared and not topic.scattered  # it has its own partition, which holds records of others
    known = not hint.known or window.log_start <= hint.offset <= window.log_end
    return handoff.verdict == "unmatched" and not handoff.matched and not own and known


def _unexplained(topic: DestinationTopic, results: Mapping[SourcePartition, SearchResult]) -> dict[int, int]:
    """Partitions that hold more records than the handoffs explain, and how many more."""
    extra = {number: len(topic.tails[number].digests) for number in topic.unowned()}
    for lane in topic.lanes if not topic.scattered else ():
        if not lane.shared:
            result, number = results[lane.source], lane.place.partition
            if result.handoff.verdict == "unmatched":
                extra[number] = len(topic.tails[number].digests)
            elif result.handoff.lose_from is not None:
                extra[number] = placement.unexplained(
                    result.window, topic.tails[number], result.handoff.lose_from
                )
    return {number: count for number, count in extra.items() if count}


def _largest(counts: Mapping[int, int]) -> tuple[int, int]:
    """The partition with the most, and how many."""
    return max(counts.items(), key=lambda item: item[1], default=(0, 0))
