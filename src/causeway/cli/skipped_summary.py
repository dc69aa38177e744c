"""What a mirror will never replicate, as text: shown for as long as the ledger has it, which is for ever."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from causeway.core.plural import counted
from causeway.web.api_schema import ApiGap, ApiMirror


def skipped_summary(mirror: ApiMirror, gaps: Iterable[ApiGap]) -> str:
    """Gaps and quarantine on one line; empty if there is neither."""
    parts = []
    if mirror.gaps:
        parts.append(f"{counted(mirror.gaps, 'gap')} ({_moves([gap.skipped for gap in gaps])})")
    if mirror.quarantined:
        parts.append(f"{counted(mirror.quarantined, 'record')} in quarantine")
    return ", ".join(parts)


def _moves(moves: Sequence[int]) -> str:
    """Moves back are counted separately, not subtracted: they do not restore what retention deleted."""
    kinds = (
        (sum(move for move in moves if move > 0), "offset", "skipped"),
        (-sum(move for move in moves if move < 0), "offset", "moved back"),
        (moves.count(0), "partition", "restarted with a recreated topic"),
    )
    return ", ".join(f"{counted(count, noun)} {verb}" for count, noun, verb in kinds if count)
