"""Advice for handoffs that are not clean: the operator's options, and the window that would decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from causeway.adoption.destination_topic import DestinationTopic, SearchResult
from causeway.adoption.resume_hints import Hint
from causeway.adoption.rules.advice import SEARCHED, advice, larger_window, reads_all
from causeway.adoption.sides import AdoptionSides
from causeway.core.handoff import Window
from causeway.core.position import SourcePartition


def advise(
    sides: AdoptionSides,
    size: int,
    topics: Iterable[DestinationTopic],
    hints: Mapping[SourcePartition, Hint],
    results: dict[SourcePartition, SearchResult],
) -> None:
    """Give the operator's options, and the `--window` with which there would be nothing to choose."""
    undecided: dict[SourcePartition, tuple[Window, set[bytes]]] = {}
    for topic in topics:
        digests = {digest for tail in topic.tails for digest in tail.digests}
        of_topic = {
            lane.source: (result.window, digests)
            for lane in topic.lanes
            if (result := results[lane.source]).handoff.verdict in ("unmatched", "beyond_window", "not_found")
        }
        outside = sum(
            window.log_end - window.log_start - (window.end - window.start) for window, _ in of_topic.values()
        )
        if 0 < outside <= SEARCHED * size:
            undecided.update(of_topic)
    last = dict.fromkeys(undecided, -1) | (sides.last_found(undecided) if undecided else {})
    for topic in topics:
        comparable = any(results[lane.source].handoff.matched for lane in topic.lanes)
        whole = reads_all(
            (
                (result.window, hints[lane.source].offset, len(result.tails))
                for lane in topic.lanes
                for result in (results[lane.source],)
            ),
            topic.tails,
        )
        for lane in topic.lanes:
            result, hint = results[lane.source], hints[lane.source].offset
            larger = larger_window(
                result.handoff,
                result.window,
                topic.uncovered,
                hint,
                places=len(result.tails),
                size=size,
                whole=whole,
                comparable=comparable,
                last=last.get(lane.source),
            )
            todo = "" if result.handoff.verdict == "clean" else advice(result.handoff, result.window, hint)
            handoff = replace(result.handoff, todo=todo)
            results[lane.source] = replace(result, handoff=handoff, larger_window=larger)


def window_to_try(results: Iterable[SearchResult]) -> int:
    """The `--window` that would decide all of these; 0 if none would.

    A handoff may be `unexpected` only because of another partition's records: then the window that decides
    that partition is enough.
    """
    refused = [result for result in results if result.handoff.verdict != "clean"]
    own = max(
        (result.larger_window for result in refused if result.handoff.verdict != "unexpected"), default=0
    )
    return own or max((result.larger_window for result in refused), default=0)
