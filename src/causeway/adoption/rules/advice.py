"""The operator's options if a handoff is not clean, each with the number of records it costs."""

from __future__ import annotations

from collections.abc import Iterable

from causeway.adoption.rules.handoff import MOST_PLACES
from causeway.adoption.rules.placement import Uncovered, is_whole
from causeway.core.handoff import CountRange, Handoff, Tail, Window

LARGEST_WINDOW = 1_000_000
SEARCHED = 1_000
"""Outside the window, up to this many times its size is searched, for all partitions of a topic together."""


def advice(handoff: Handoff, window: Window, hint: int) -> str:
    if handoff.verdict in ("unmatched", "beyond_window"):
        return _unchecked(window, hint)
    if handoff.verdict == "unexpected":
        return (
            f"find out what wrote them; --accept repeat starts at offset {handoff.repeat_from} all the same"
            f" and duplicates {handoff.twice.records}"
        )
    options = [
        f"--accept repeat starts at offset {handoff.repeat_from} and duplicates {handoff.twice.records}"
    ]
    if handoff.lose_from is not None:
        options.append(f"--accept lose starts at offset {handoff.lose_from} and loses {handoff.lost.records}")
    return "; ".join(options)


def larger_window(
    handoff: Handoff,
    window: Window,
    uncovered: Uncovered,
    hint: int,
    *,
    places: int,
    size: int,
    whole: int,
    comparable: bool,
    last: int | None = None,
) -> int:
    """The `--window` that would decide, if it was `size` so far; 0 if no other one would.

    `whole`: the one that reads all of the topic, on both sides. `comparable`: a record of the topic's source
    partitions was found. `last`: if all of the source was searched, the last offset outside the window whose
    contents are on the destination; -1 if there is none.
    """
    needed, outside = 0, not is_whole(window)
    match handoff.verdict:
        case "unmatched" if outside and last != -1:
            needed = _to_read(window, hint, places, last, size)
        case "beyond_window" if outside and last is not None and last >= 0:
            needed = _to_read(window, hint, places, last, size)
        case "unmatched" if comparable:
            needed = whole  # its partition holds records of others
        case "unexpected" | "incomplete" if uncovered.unread > SEARCHED * size:
            needed = -(-uncovered.unread // SEARCHED)
        case "beyond_window" | "ambiguous" | "unexpected":
            needed = whole  # the records that would decide may be before the tails
        case "not_found" if outside or handoff.matched or handoff.twice.least or not uncovered.unread:
            needed = whole
        case "not_found" if handoff.twice.most and not uncovered.trimmed:
            needed = -(-uncovered.unread // SEARCHED)
    most = min(needed, LARGEST_WINDOW)
    return most if most > size else 0


def reads_all(windows: Iterable[tuple[Window, int, int]], tails: Iterable[Tail]) -> int:
    """The `--window` that reads all of these; each window with its hint and its number of places."""
    return max(
        *(_to_read(window, hint, places) for window, hint, places in windows),
        *(tail.end - tail.log_start for tail in tails),
    )


def _to_read(window: Window, hint: int, places: int, last: int | None = None, size: int = 0) -> int:
    """How many records on each side of the hint reach the last one that is there, or all of the source."""
    middle = min(max(hint, window.log_start), window.log_end)
    begin, end = window.log_start, window.log_end
    if last is not None:
        begin, end = max(begin, last - size), min(end, last + size)
    forward, backward = max(0, end - middle), max(0, middle - begin)
    return max(-(-forward // 2), -(-backward // (1 + min(places, MOST_PLACES))))


def _unchecked(window: Window, hint: int) -> str:
    elsewhere = "start elsewhere (--from timestamp, another --group)"
    if not window.log_start <= hint <= window.log_end:
        return elsewhere
    before, after = CountRange(0, hint - window.log_start), CountRange(0, window.log_end - hint)
    return (
        f"{elsewhere}; --unchecked starts at offset {hint}: it loses {before.records} before that offset, and"
        f" duplicates {after.records} after it"
    )
