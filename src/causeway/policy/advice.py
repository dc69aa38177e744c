"""What an operator may type where a seam is not clean; each choice with the number of records it costs."""

from __future__ import annotations

from collections.abc import Sequence

from causeway.model.seam import Count, Seam, Tail, Window
from causeway.policy.placement import is_trimmed, is_whole, unread
from causeway.policy.seam import MOST_PLACES

LARGEST_WINDOW = 1_000_000
SEARCHED = 1_000
"""So many times the window is searched of what lies outside of it, for all partitions of a topic together."""


def advice(seam: Seam, window: Window, hint: int) -> str:
    if seam.verdict in ("unmatched", "beyond"):
        return _unchecked(window, hint)
    if seam.verdict == "strange":
        return (
            f"find out who wrote them; --accept repeat begins at {seam.repeat} all the same:"
            f" {seam.twice} come twice"
        )
    choices = [f"--accept repeat begins at {seam.repeat}: {seam.twice} come twice"]
    if seam.lose is not None:
        choices.append(f"--accept lose begins at {seam.lose}: {seam.lost} stay lost")
    return "; ".join(choices)


def larger_window(
    seam: Seam,
    window: Window,
    tails: Sequence[Tail],
    hint: int,
    *,
    places: int,
    size: int,
    last: int | None = None,
) -> int:
    """The `--window` that would decide, where it was `size`; 0 where no other one would.

    `last`: where all of the source was searched, the last offset outside the window whose contents are on the
    destination; -1 where there is none.
    """
    needed = [0]
    nowhere, hidden = last == -1, seam.verdict == "ambiguous" or seam.twice.least > 0
    if seam.verdict == "beyond" and nowhere:
        last, hidden = window.end, True  # it may lie before the tails
    elif nowhere:
        last = None
    pointless = seam.verdict == "unmatched" and nowhere
    if seam.verdict in ("unmatched", "beyond", "absent") and not pointless and not is_whole(window):
        needed.append(_to_read(window, hint, places, seam.verdict == "beyond", last, size))
    if hidden and unread(tails):
        needed.append(max(tail.end - tail.log_start for tail in tails))
    if seam.verdict in ("absent", "strange") and seam.twice.most and not is_trimmed(tails):
        needed.append(-(-unread(tails) // SEARCHED))
    most = min(max(needed), LARGEST_WINDOW)
    return most if most > size else 0


def _to_read(window: Window, hint: int, places: int, later: bool, last: int | None, size: int) -> int:
    """So many records to either side of the hint reach the last one that is there, or all of the source."""
    middle = min(max(hint, window.log_start), window.log_end)
    begin, end = window.log_start, window.log_end
    if last is not None:
        begin, end = max(begin, last - size), min(end, last + size)
    forward, backward = max(0, end - middle), 0 if later else max(0, middle - begin)
    return max(-(-forward // 2), -(-backward // (1 + min(places, MOST_PLACES))))


def _unchecked(window: Window, hint: int) -> str:
    elsewhere = "begin elsewhere (--from timestamp, another --group)"
    if not window.log_start <= hint <= window.log_end:
        return elsewhere
    before, after = Count(0, hint - window.log_start), Count(0, window.log_end - hint)
    return (
        f"{elsewhere}; --unchecked begins at {hint}: {before} records before it are lost, {after} from it on"
        " come twice"
    )
