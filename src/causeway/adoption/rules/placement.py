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

from causeway.adoption.rules.handoff import new_partition
from causeway.core.handoff import CountRange, Handoff, Tail, Window
from causeway.core.plural import counted


def is_scattered(windows: Sequence[Window], places: Sequence[int | None], tails: Sequence[Tail]) -> bool:
    """Whether a record is in a partition other than its own, and not in its own.

    `places`: the partition of each window's records; None if each record's key chooses
    (`SourceRecord.place`). Only contents that occur once decide.
    """
    copies = Counter(record.digest for window in windows for record in window.records)
    in_tails = [set(tail.digests) for tail in tails]
    in_any_tail = set().union(*in_tails)
    for window, place in zip(windows, places, strict=True):
        for record in window.records:
            own = record.place if place is None else place
            if own is None or record.digest not in in_any_tail or record.digest in in_tails[own]:
                continue
            if copies[record.digest] == 1:
                return True
    return False


def is_whole(window: Window) -> bool:
    return (window.start, window.end) == (window.log_start, window.log_end)


@dataclass(frozen=True, slots=True)
class Uncovered:
    """What the tails of a topic do not cover: computed once, since a topic may have very many tails."""

    written: bool  # any partition was ever written to
    unread: int  # offsets before the tails that may hold records
    trimmed: bool  # the destination lost records, whatever they were

    @staticmethod
    def of(tails: Sequence[Tail]) -> Uncovered:
        return Uncovered(
            any(tail.end for tail in tails),
            sum(tail.begin - tail.log_start for tail in tails),
            any(tail.log_start for tail in tails),
        )


def not_found(
    window: Window,
    uncovered: Uncovered,
    hint: int,
    *,
    hinted: bool,
    comparable: bool,
    before_tails: int | None,
    in_tails: Mapping[bytes, int],
    unknown_records: int,
) -> Handoff:
    """The verdict on a source partition of which nothing was found in its place.

    `comparable`: records of other source partitions were found, so contents can be compared. `before_tails`:
    how many of this window's records are before the tails; None if that was not searched. `in_tails`: how
    often contents occur in the tails. `unknown_records`: how many records of the tails are in no window.
    """
    new = new_partition(window, hint, hinted)
    if not uncovered.written or window.log_start == window.log_end:
        return new
    digests = {record.digest for record in window.records}
    same_contents = sum(in_tails.get(digest, 0) for digest in digests)
    compared = not uncovered.trimmed and (before_tails == 0 or not uncovered.unread)
    explained = not unknown_records and not uncovered.unread
    if comparable and not same_contents and compared and (is_whole(window) or explained):
        return new
    begin = new.repeat_from or 0
    most = min(window.log_end - begin, unknown_records + uncovered.unread + same_contents)
    lose_from = hint if hinted and begin < hint <= window.log_end else None
    return Handoff(
        "not_found",
        begin,
        lose_from,
        _why(window, uncovered, same_contents, before_tails or 0, compared=compared, comparable=comparable),
        matched=same_contents,
        twice=CountRange(min(before_tails or 0, most), most),
        lost=CountRange(0, (lose_from or begin) - begin),
    )


def unexplained(window: Window, tail: Tail, handoff_offset: int) -> int:
    """How many records a partition holds beyond those of its source partition before the handoff.

    If the tail is the whole partition, records are counted. Otherwise offsets are counted, minus the share
    that held no record in the tail: markers, and what compaction removed.
    """
    if tail.begin == tail.log_start:
        known = {record.digest for record in window.records}
        return max(0, sum(digest not in known for digest in tail.digests) - window.start)
    offsets = tail.end - tail.begin
    records = tail.end * len(tail.digests) // offsets if offsets else 0
    return max(0, records - handoff_offset)


def contents_after(windows: Iterable[tuple[Window, int]]) -> set[bytes]:
    """Contents after the handoffs: none of them may be on the destination.

    Contents that also occur before a handoff decide nothing, and are left out.
    """
    after: set[bytes] = set()
    before: set[bytes] = set()
    for window, handoff_offset in windows:
        for record in window.records:
            (before if record.offset < handoff_offset else after).add(record.digest)
    return after - before


def with_unexplained(handoff: Handoff, where: str, extra: int) -> Handoff:
    """A clean handoff, and records that it does not explain."""
    what = f"{where} has {counted(extra, 'record')} that no handoff explains"
    return replace(handoff, verdict="unexpected", what=what)


def unknown_after_first(tail: Tail, known: Container[bytes], *, by_key: bool) -> int:
    """How many records of a tail no window explains, from the first record on that a window explains.

    If no record is explained, rare keys may have chosen the partition (`by_key`): then its records are older.
    """
    first = next((n for n, digest in enumerate(tail.digests) if digest in known), None)
    if first is None:
        return 0 if by_key else len(tail.digests)
    return sum(digest not in known for digest in tail.digests[first:])


def with_unknown_records(
    handoff: Handoff, window: Window, uncovered: Uncovered, unknown_records: int, last: int, *, searched: bool
) -> Handoff:
    """Records that no window explains may be later ones of this partition; `last`: the newest of them."""
    if handoff.verdict in ("incomplete", "ambiguous") and window.end < window.log_end:
        most = min(window.log_end - (handoff.repeat_from or 0), handoff.twice.most + last)
        return replace(handoff, twice=CountRange(handoff.twice.least, most))
    if handoff.verdict != "unexpected" or (searched and window.end == window.log_end):
        return handoff
    most = min(window.log_end - (handoff.repeat_from or 0), unknown_records + uncovered.unread)
    return replace(handoff, twice=CountRange(0, most))


def contradicted(
    handoff: Handoff, window: Window, searched: Container[bytes], in_tails: Container[bytes]
) -> Handoff:
    """A handoff, and records after it that were found before the tails nevertheless.

    `searched`: the contents that were found there. `in_tails`: those in the tails.
    """
    begin = handoff.repeat_from or 0
    wanted = [record for record in window.records if record.offset >= begin and not record.optional]
    found = [record for record in wanted if record.digest in searched and record.digest not in in_tails]
    if not found:
        return handoff
    last = max(found[-1].offset + 1, handoff.lose_from or 0)
    missing = sum(
        record.offset < last and record.digest not in searched and record.digest not in in_tails
        for record in wanted
    )
    return replace(
        handoff,
        verdict="ambiguous",
        lose_from=last,
        what=f"the destination has {counted(len(found), 'record')} from offset {begin} on, before the records"
        " that were compared",
        twice=CountRange(len(found) + handoff.twice.least, window.log_end - begin),
        lost=CountRange(0, missing),
    )


def with_unsearched(handoff: Handoff, window: Window, uncovered: Uncovered) -> Handoff:
    """An incomplete handoff: missing and later records may be before the tails, which were not read."""
    if handoff.verdict != "incomplete" or not uncovered.unread:
        return handoff
    most = min(
        window.log_end - (handoff.repeat_from or 0), handoff.twice.most + handoff.lost.most + uncovered.unread
    )
    return replace(
        handoff, twice=CountRange(handoff.twice.least, most), lost=CountRange(0, handoff.lost.most)
    )


def _why(
    window: Window,
    uncovered: Uncovered,
    same_contents: int,
    before_tails: int,
    *,
    compared: bool,
    comparable: bool,
) -> str:
    if before_tails:
        records = counted(before_tails, "record of it", "records of it")
        return f"the destination has {records}, before the records that were compared"
    if same_contents:
        why = f"{counted(same_contents, 'destination record')} with the same contents"
    elif not comparable:
        why = "no destination record was found on the source, so contents decide nothing"
    elif not compared and uncovered.trimmed:
        why = "retention deleted records of the destination"
    elif not compared:
        why = f"not compared: {counted(uncovered.unread, 'destination offset')}"
    else:
        read = window.end - window.start
        why = f"not compared: {counted(window.log_end - window.log_start - read, 'source offset')}"
    return f"no record of it was found, but the destination may have some: {why}"
