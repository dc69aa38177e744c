"""Whether an old tool put records where the mirror would put them, and what that leaves unexplained.

A handoff in the partition that the mirror chooses proves nothing by itself: the tool may have written the
rest to other partitions of the same topic. So each handoff is checked against all of them:

- If a record is found in a partition other than its own, the tool placed records in its own way, and the
  handoffs are searched for in all partitions.
- If nothing of a source partition is found, it has nothing there only if all of the destination was compared
  with it.
- A destination partition with more records than its source partition explains may hold records of others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from causeway.adoption.rules.handoff import begins_new
from causeway.core.handoff import CountRange, Handoff, Tail, Window


def is_elsewhere(windows: Sequence[Window], homes: Sequence[int | None], tails: Sequence[Tail]) -> bool:
    """Whether a record is in a partition other than its own, and not in its own.

    `homes`: the partition of each window's records; None if each record's key chooses (`Seen.place`). Only
    contents that occur once decide.
    """
    copies = Counter(seen.print for window in windows for seen in window.records)
    held = [set(tail.prints) for tail in tails]
    anywhere = set().union(*held)
    for window, home in zip(windows, homes, strict=True):
        for seen in window.records:
            own = seen.place if home is None else home
            if own is None or seen.print not in anywhere or seen.print in held[own]:
                continue
            if copies[seen.print] == 1:
                return True
    return False


def is_whole(window: Window) -> bool:
    return (window.start, window.end) == (window.log_start, window.log_end)


@dataclass(frozen=True, slots=True)
class Rest:
    """What the tails of a topic do not cover: computed once, since a topic may have very many tails."""

    written: bool  # any partition was ever written to
    unread: int  # offsets before the tails that may hold records
    trimmed: bool  # the destination lost records, whatever they were

    @staticmethod
    def of(tails: Sequence[Tail]) -> Rest:
        return Rest(
            any(tail.end for tail in tails),
            sum(tail.begin - tail.log_start for tail in tails),
            any(tail.log_start for tail in tails),
        )


def not_found(
    window: Window,
    rest: Rest,
    hint: int,
    *,
    hinted: bool,
    comparable: bool,
    buried: int | None,
    held: Mapping[bytes, int],
    strangers: int,
) -> Handoff:
    """The verdict on a source partition of which nothing was found in its place.

    `comparable`: records of other source partitions were found, so contents can be compared. `buried`: how
    many of this window's records lie before the tails; None if that was not searched. `held`: how often
    contents occur in the tails. `strangers`: how many records of the tails are in no window.
    """
    new = begins_new(window, hint, hinted)
    if not rest.written or window.log_start == window.log_end:
        return new
    mine = {seen.print for seen in window.records}
    here = sum(held.get(print, 0) for print in mine)
    compared = not rest.trimmed and (buried == 0 or not rest.unread)
    explained = not strangers and not rest.unread
    if comparable and not here and compared and (is_whole(window) or explained):
        return new
    begin = new.repeat or 0
    most = min(window.log_end - begin, strangers + rest.unread + here)
    lose = hint if hinted and begin < hint <= window.log_end else None
    return Handoff(
        "absent",
        begin,
        lose,
        _why(window, rest, here, buried or 0, compared=compared, comparable=comparable),
        found=here,
        twice=CountRange(min(buried or 0, most), most),
        lost=CountRange(0, (lose or begin) - begin),
    )


def unexplained(window: Window, tail: Tail, seam: int) -> int:
    """How many records a partition holds beyond those of its source partition before the handoff.

    If the tail is the whole partition, records are counted. Otherwise offsets are counted, minus the share
    that held no record in the tail: markers, and what compaction removed.
    """
    if tail.begin == tail.log_start:
        known = {seen.print for seen in window.records}
        return max(0, sum(print not in known for print in tail.prints) - window.start)
    offsets = tail.end - tail.begin
    records = tail.end * len(tail.prints) // offsets if offsets else 0
    return max(0, records - seam)


def following(windows: Iterable[tuple[Window, int]]) -> set[bytes]:
    """Contents after the handoffs: none of them may be on the destination.

    Contents that also occur before a handoff decide nothing, and are left out.
    """
    after: set[bytes] = set()
    before: set[bytes] = set()
    for window, seam in windows:
        for seen in window.records:
            (before if seen.offset < seam else after).add(seen.print)
    return after - before


def doubted(seam: Handoff, where: str, extra: int) -> Handoff:
    """A clean handoff, and records that it does not explain."""
    return replace(seam, verdict="strange", what=f"{where} holds {extra:,} records that no seam explains")


def amid(tail: Tail, known: Container[bytes], *, by_key: bool) -> int:
    """How many records of a tail no window explains, from the first record on that a window explains.

    If no record is explained, rare keys may have chosen the partition (`by_key`): then its records are older.
    """
    first = next((n for n, print in enumerate(tail.prints) if print in known), None)
    if first is None:
        return 0 if by_key else len(tail.prints)
    return sum(print not in known for print in tail.prints[first:])


def beside_strangers(
    seam: Handoff, window: Window, rest: Rest, strangers: int, last: int, *, searched: bool
) -> Handoff:
    """Records that no window explains may be later ones of this partition; `last`: the newest of them."""
    if seam.verdict in ("torn", "ambiguous") and window.end < window.log_end:
        most = min(window.log_end - (seam.repeat or 0), seam.twice.most + last)
        return replace(seam, twice=CountRange(seam.twice.least, most))
    if seam.verdict != "strange" or (searched and window.end == window.log_end):
        return seam
    most = min(window.log_end - (seam.repeat or 0), strangers + rest.unread)
    return replace(seam, twice=CountRange(0, most))


def contradicted(
    seam: Handoff, window: Window, searched: Container[bytes], held: Container[bytes]
) -> Handoff:
    """A handoff, and records after it that were found before the tails nevertheless.

    `searched`: the contents that were found there. `held`: those in the tails.
    """
    begin = seam.repeat or 0
    wanted = [seen for seen in window.records if seen.offset >= begin and not seen.optional]
    there = [seen for seen in wanted if seen.print in searched and seen.print not in held]
    if not there:
        return seam
    last = max(there[-1].offset + 1, seam.lose or 0)
    missing = sum(
        seen.offset < last and seen.print not in searched and seen.print not in held for seen in wanted
    )
    return replace(
        seam,
        verdict="ambiguous",
        lose=last,
        what=f"{len(there):,} records from offset {begin} on are on the destination, before what was looked"
        " at",
        twice=CountRange(len(there) + seam.twice.least, window.log_end - begin),
        lost=CountRange(0, missing),
    )


def unsure(seam: Handoff, window: Window, rest: Rest) -> Handoff:
    """A torn handoff: missing records, and later ones, may lie before the tails, which were not searched."""
    if seam.verdict != "torn" or not rest.unread:
        return seam
    most = min(window.log_end - (seam.repeat or 0), seam.twice.most + seam.lost.most + rest.unread)
    return replace(seam, twice=CountRange(seam.twice.least, most), lost=CountRange(0, seam.lost.most))


def _why(window: Window, rest: Rest, here: int, buried: int, *, compared: bool, comparable: bool) -> str:
    if buried:
        return f"{buried:,} of its records are on the destination, before what was looked at"
    if here:
        why = f"{here:,} records of the destination have the same contents"
    elif not comparable:
        why = "no record of the destination was found on the source, so contents do not tell"
    elif not compared and rest.trimmed:
        why = "the destination has lost records to retention"
    elif not compared:
        why = f"{rest.unread:,} offsets of the destination were not compared"
    else:
        read = window.end - window.start
        why = f"{window.log_end - window.log_start - read:,} offsets of the source were not compared"
    return f"nothing of it was found, but it may be there: {why}"
