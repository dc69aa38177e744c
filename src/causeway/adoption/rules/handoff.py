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
from causeway.core.handoff import Accept, CountRange, Handoff, SeenRecord, Tail, Window

MOST_PLACES = 16
"""At most this many places widen the window of a source partition, however many its records go to."""


def neighbourhood(hint: int, window: int, places: int, log_start: int, log_end: int) -> tuple[int, int]:
    """The offsets to read for a handoff up to `window` away from the hint, and for what the tails of that
    many places hold: contents that repeat must be known to repeat.
    """
    middle = min(max(hint, log_start), log_end)
    back = 1 + min(places, MOST_PLACES)
    return max(log_start, middle - back * window), min(log_end, middle + 2 * window)


def find_seam(
    window: Window,
    tails: Sequence[Tail],
    hint: int,
    *,
    hinted: bool = True,
    exclusive: bool = False,
    lenient: bool = False,
    complete: bool = False,
    windows_with: Mapping[bytes, int] | None = None,
) -> Handoff:
    """Where the destination stops following this source partition.

    `hinted` is false if the old tool has no offset for the partition; then the hint is where a new partition
    would start. `exclusive`: only this partition is written to the one tail. `lenient`: records may be absent
    although they were replicated. If several partitions share the tails, `windows_with` is the number of
    windows in which contents occur, and `complete` is whether all these windows start at offset 0.
    """
    if all(tail.end == 0 for tail in tails):
        return begins_new(window, hint, hinted)
    if window.log_start == window.log_end and (not hinted or hint == window.log_end):
        return _clean(window.log_end, "the source holds nothing to compare")
    strange = _strange(window, tails[0]) if exclusive else 0
    own = [replace(tails[0], prints=tails[0].prints[: len(tails[0].prints) - strange])] if strange else tails
    complete = complete or (exclusive and window.start == 0)
    evidence = Evidence(window, own, complete, lenient, windows_with or {})
    seam = _judged(evidence, exclusive, 0 if lenient else strange)
    if exclusive and tails[0].prints and seam.verdict in ("ambiguous", "unmatched"):
        row = _by_order(window, tails[0], hint)
        if seam.verdict == "unmatched" or (row.verdict == "clean" and _is_within(row, seam)):
            seam = row
    outside = not window.log_start <= hint <= window.log_end
    return _outside(window, hint) if outside and seam.verdict == "unmatched" else seam


def settle(seam: Handoff, window: Window, hint: int, *, accept: Accept, unchecked: bool) -> int | None:
    """The offset to start at, given what the operator accepts; None if that is not enough."""
    if seam.verdict == "clean":
        return seam.repeat
    if seam.verdict in ("unmatched", "beyond"):
        return hint if unchecked and window.log_start <= hint <= window.log_end else None
    return {"repeat": seam.repeat, "lose": seam.lose, "": None}[accept]


def _judged(evidence: Evidence, exclusive: bool, strange: int) -> Handoff:
    window, found = evidence.window, len(evidence.present)
    trusted, last = evidence.last()
    if trusted < 0:
        few = f"no more than {found} of the destination's last records are" if found else ""
        return _unmatched(window, few or "none of the destination's last records is")
    uncertain, ended = evidence.behind(last)
    if not ended and window.end < window.log_end:
        return _beyond(window, last, found)
    if trusted != last:
        lacking = evidence.missing(trusted)
        low = lacking[0].offset if lacking else trusted + 1
        return _ambiguous(window, low, evidence.furthest(last, uncertain), found)
    low, high = evidence.extend(last, uncertain, ordered=exclusive)
    missing = evidence.missing(last)
    if missing:
        return _torn(evidence, missing, high)
    if low != high:
        return _ambiguous(window, low, high, found)
    if strange:
        return Handoff(
            "strange",
            high,
            high,
            f"the last {_records(strange)} of the destination are not among the source's offsets"
            f" {_span(window)}, and the source's from {high} on are not there",
            found=found,
        )
    return _clean(high, f"{_records(found)} of the source found, none behind them", found)


def _torn(evidence: Evidence, missing: Sequence[SeenRecord], lose: int) -> Handoff:
    first = missing[0].offset
    twice = evidence.present_from(first)
    return Handoff(
        "torn",
        first,
        lose,
        f"{_records(len(missing))} from offset {first} on are missing on the destination,"
        f" {twice} behind them are there",
        found=len(evidence.present),
        twice=twice,
        lost=CountRange(len(missing), len(missing)),
    )


def _strange(window: Window, tail: Tail) -> int:
    """How many records at the end of the tail are not the source's."""
    known = {seen.print for seen in window.records}
    return next((n for n, print in enumerate(reversed(tail.prints)) if print in known), len(tail.prints))


def _by_order(window: Window, tail: Tail, hint: int) -> Handoff:
    """If contents do not decide, order does: find the whole tail as a row of source records."""
    seam = _row_of(window, window.records, tail, hint)
    if seam.verdict == "unmatched":
        seam = _row_of(window, [seen for seen in window.records if not seen.optional], tail, hint)
    return seam


def _row_of(window: Window, records: Sequence[SeenRecord], tail: Tail, hint: int) -> Handoff:
    prints, length = [seen.print for seen in records], len(tail.prints)
    rows = [
        n
        for n, print in enumerate(prints)
        if print == tail.prints[-1] and prints[max(0, n + 1 - length) : n + 1] == list(tail.prints)
    ]
    if not rows:
        return _unmatched(window, "no row of the destination's last records is")
    # All of the destination, from the first records of both on, and the hint agrees: no coincidence.
    begins = tail.begin == 0 and window.start == window.log_start and length - 1 in rows
    if begins and records[length - 1].offset + 1 == hint:
        rows = [length - 1]
    if len(rows) > 1:
        return _ambiguous(window, records[rows[0]].offset + 1, records[rows[-1]].offset + 1, length)
    last = records[rows[0]].offset
    if rows[0] == len(records) - 1 and window.end < window.log_end:
        return _beyond(window, last, length)
    return _clean(last + 1, f"the last {_records(length)} are the source's, in order", length)


def _is_within(row: Handoff, seam: Handoff) -> bool:
    return (seam.repeat or 0) <= (row.repeat or 0) <= (seam.lose or 0)


def begins_new(window: Window, hint: int, hinted: bool) -> Handoff:
    """Nothing of the partition is on the destination: all of it is replicated, whatever was committed."""
    begin = window.log_start if hinted else hint
    return _clean(begin, "nothing was carried yet")


def _clean(offset: int, what: str, found: int = 0) -> Handoff:
    return Handoff("clean", offset, offset, what, found=found)


def _ambiguous(window: Window, low: int, high: int, found: int) -> Handoff:
    between = CountRange(0, sum(low <= seen.offset < high and not seen.optional for seen in window.records))
    return Handoff(
        "ambiguous",
        low,
        high,
        f"the seam lies somewhere from offset {low} to {high}: contents repeat themselves, or may be there"
        " before what was looked at",
        found=found,
        twice=between,
        lost=between,
    )


def _beyond(window: Window, last: int, found: int) -> Handoff:
    return Handoff(
        "beyond",
        None,
        None,
        f"the destination holds offset {last} of the source and may hold more: the source was looked at up"
        f" to {window.end}",
        found=found,
    )


def _unmatched(window: Window, what: str) -> Handoff:
    return Handoff(
        "unmatched",
        None,
        None,
        f"the seam cannot be confirmed: {what} among the source's offsets {_span(window)}",
    )


def _outside(window: Window, hint: int) -> Handoff:
    if hint < window.log_start:
        gone = f"offsets {hint}…{window.log_start - 1} are gone from the source"
        what = f"{gone}, and nothing shows that they were carried"
    else:
        what = f"the source ends at offset {window.log_end}, before the hint {hint}: is it the same topic?"
    return Handoff("unmatched", None, None, what)


def _span(window: Window) -> str:
    return f"{window.start}…{window.end - 1}" if window.end > window.start else "(none)"


def _records(count: int) -> str:
    return f"{count:,} record{'s' * (count != 1)}"
