"""Finds the handoff by content: where a destination that another tool wrote to stops following its source.

What the old tool reports (its group, the destination's end) is only where to start searching: its committed
offset may be lower or higher than what it produced. So the last records of the destination are looked up in a
window of the source:

    source       a b c d e f g h
    destination  … b c │ a d e          a…e are there, f…h are not: the handoff is after e

What stays uncertain is not decided here: it is refused, with what was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from causeway.adoption.rules.handoff_evidence import Evidence
from causeway.core.handoff import Accept, CountRange, Handoff, SourceRecord, Tail, Window
from causeway.core.plural import counted, is_are

MOST_PLACES = 16
"""At most this many places widen the window of a source partition, however many its records go to."""


def window_around(hint: int, window: int, places: int, log_start: int, log_end: int) -> tuple[int, int]:
    """The offsets to read for a handoff up to `window` away from the hint, and for what the tails of that
    many places hold: contents that repeat must be known to repeat.
    """
    middle = min(max(hint, log_start), log_end)
    back = 1 + min(places, MOST_PLACES)
    return max(log_start, middle - back * window), min(log_end, middle + 2 * window)


def find_handoff(
    window: Window,
    tails: Sequence[Tail],
    hint: int,
    *,
    hinted: bool = True,
    exclusive: bool = False,
    compacted: bool = False,
    complete: bool = False,
    window_counts: Mapping[bytes, int] | None = None,
) -> Handoff:
    """Where the destination stops following this source partition.

    `hinted` is false if the old tool has no offset for the partition; then the hint is where a new partition
    would start. `exclusive`: only this partition is written to the one tail. `compacted`: records may be gone
    although they were replicated. If several partitions share the tails, `window_counts` is the number of
    windows in which contents occur, and `complete` is whether all these windows start at offset 0.
    """
    if all(tail.end == 0 for tail in tails):
        return new_partition(window, hint, hinted)
    if window.log_start == window.log_end and (not hinted or hint == window.log_end):
        return _clean(window.log_end, "the source holds nothing to compare")
    unexpected = _unexpected_at_end(window, tails[0]) if exclusive else 0
    own = (
        [replace(tails[0], digests=tails[0].digests[: len(tails[0].digests) - unexpected])]
        if unexpected
        else tails
    )
    complete = complete or (exclusive and window.start == 0)
    evidence = Evidence(window, own, complete, compacted, window_counts or {})
    handoff = _decide(evidence, exclusive, 0 if compacted else unexpected)
    if exclusive and tails[0].digests and handoff.verdict in ("ambiguous", "unmatched"):
        in_order = _by_order(window, tails[0], hint)
        if handoff.verdict == "unmatched" or (in_order.verdict == "clean" and _is_within(in_order, handoff)):
            handoff = in_order
    outside = not window.log_start <= hint <= window.log_end
    return _outside(window, hint) if outside and handoff.verdict == "unmatched" else handoff


def start_offset(
    handoff: Handoff, window: Window, hint: int, *, accept: Accept, unchecked: bool
) -> int | None:
    """The offset to start at, given what the operator accepts; None if that is not enough."""
    if handoff.verdict == "clean":
        return handoff.repeat_from
    if handoff.verdict in ("unmatched", "beyond_window"):
        return hint if unchecked and window.log_start <= hint <= window.log_end else None
    return {"repeat": handoff.repeat_from, "lose": handoff.lose_from, "": None}[accept]


def _decide(evidence: Evidence, exclusive: bool, unexpected: int) -> Handoff:
    window, matched = evidence.window, len(evidence.present)
    trusted, last = evidence.last()
    if trusted < 0:
        few = f"only {matched} of the destination's last records {is_are(matched)}" if matched else ""
        return _unmatched(window, few or "none of the destination's last records is")
    uncertain, ended = evidence.uncertain_after(last)
    if not ended and window.end < window.log_end:
        return _beyond_window(window, last, matched)
    if trusted != last:
        lacking = evidence.missing(trusted)
        low = lacking[0].offset if lacking else trusted + 1
        return _ambiguous(window, low, evidence.furthest(last, uncertain), matched)
    low, high = evidence.extend(last, uncertain, ordered=exclusive)
    missing = evidence.missing(last)
    if missing:
        return _incomplete(evidence, missing, high)
    if low != high:
        return _ambiguous(window, low, high, matched)
    if unexpected:
        return Handoff(
            "unexpected",
            high,
            high,
            f"the destination ends with {counted(unexpected, 'record')} that source offsets"
            f" {_offsets(window)} do not have; it has no source records from offset {high} on",
            matched=matched,
        )
    return _clean(high, f"found {counted(matched, 'source record')}, and none after", matched)


def _incomplete(evidence: Evidence, missing: Sequence[SourceRecord], lose_from: int) -> Handoff:
    first = missing[0].offset
    twice = evidence.present_from(first)
    return Handoff(
        "incomplete",
        first,
        lose_from,
        f"missing on the destination: {counted(len(missing), 'record')} from offset {first} on;"
        f" later ones that it has: {twice}",
        matched=len(evidence.present),
        twice=twice,
        lost=CountRange(len(missing), len(missing)),
    )


def _unexpected_at_end(window: Window, tail: Tail) -> int:
    """How many records at the end of the tail are not the source's."""
    known = {record.digest for record in window.records}
    return next((n for n, digest in enumerate(reversed(tail.digests)) if digest in known), len(tail.digests))


def _by_order(window: Window, tail: Tail, hint: int) -> Handoff:
    """If contents do not decide, order does: find the whole tail as a row of source records."""
    handoff = _row_of(window, window.records, tail, hint)
    if handoff.verdict == "unmatched":
        handoff = _row_of(window, [record for record in window.records if not record.optional], tail, hint)
    return handoff


def _row_of(window: Window, records: Sequence[SourceRecord], tail: Tail, hint: int) -> Handoff:
    digests, length = [record.digest for record in records], len(tail.digests)
    rows = [
        n
        for n, digest in enumerate(digests)
        if digest == tail.digests[-1] and digests[max(0, n + 1 - length) : n + 1] == list(tail.digests)
    ]
    if not rows:
        return _unmatched(window, "no sequence of the destination's last records is")
    # All of the destination, from the first records of both on, and the hint agrees: no coincidence.
    begins = tail.begin == 0 and window.start == window.log_start and length - 1 in rows
    if begins and records[length - 1].offset + 1 == hint:
        rows = [length - 1]
    if len(rows) > 1:
        return _ambiguous(window, records[rows[0]].offset + 1, records[rows[-1]].offset + 1, length)
    last = records[rows[0]].offset
    if rows[0] == len(records) - 1 and window.end < window.log_end:
        return _beyond_window(window, last, length)
    return _clean(last + 1, f"found {counted(length, 'source record')} in order, and none after", length)


def _is_within(in_order: Handoff, handoff: Handoff) -> bool:
    return (handoff.repeat_from or 0) <= (in_order.repeat_from or 0) <= (handoff.lose_from or 0)


def new_partition(window: Window, hint: int, hinted: bool) -> Handoff:
    """Nothing of the partition is on the destination: all of it is replicated, whatever was committed."""
    begin = window.log_start if hinted else hint
    return _clean(begin, "nothing was replicated yet")


def _clean(offset: int, what: str, matched: int = 0) -> Handoff:
    return Handoff("clean", offset, offset, what, matched=matched)


def _ambiguous(window: Window, low: int, high: int, matched: int) -> Handoff:
    between = CountRange(
        0, sum(low <= record.offset < high and not record.optional for record in window.records)
    )
    return Handoff(
        "ambiguous",
        low,
        high,
        f"the handoff is somewhere from offset {low} to {high}: contents repeat, or may be before the records"
        " that were compared",
        matched=matched,
        twice=between,
        lost=between,
    )


def _beyond_window(window: Window, last: int, matched: int) -> Handoff:
    return Handoff(
        "beyond_window",
        None,
        None,
        f"the destination has source offset {last} and may have later ones: the source was read up to offset"
        f" {window.end}",
        matched=matched,
    )


def _unmatched(window: Window, what: str) -> Handoff:
    return Handoff(
        "unmatched",
        None,
        None,
        f"the handoff cannot be confirmed: {what} among source offsets {_offsets(window)}",
    )


def _outside(window: Window, hint: int) -> Handoff:
    if hint < window.log_start:
        expired = f"offsets {hint}…{window.log_start - 1} expired on the source"
        what = f"{expired}, and nothing proves that they were replicated"
    else:
        what = f"the source ends at offset {window.log_end}, before the hint {hint}: is it the same topic?"
    return Handoff("unmatched", None, None, what)


def _offsets(window: Window) -> str:
    return f"{window.start}…{window.end - 1}" if window.end > window.start else "(none)"
