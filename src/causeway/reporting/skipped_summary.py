"""What a mirror will never replicate, as text: shown for as long as the ledger has it, which is for ever.

Pure: a mirror and its gaps are as the API returns them (docs/api.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def left_out(mirror: Mapping[str, Any], gaps: Iterable[Mapping[str, Any]]) -> str:
    """Gaps and quarantine on one line; empty if there is neither."""
    told = []
    if mirror["gaps"]:
        told.append(f"{_counted(mirror['gaps'], 'gap')} ({_moves([gap['skipped'] for gap in gaps])})")
    if mirror["quarantined"]:
        told.append(f"{_counted(mirror['quarantined'], 'record')} in quarantine")
    return ", ".join(told)


def _moves(moves: list[int]) -> str:
    """Moves back are counted separately, not subtracted: they do not restore what retention deleted."""
    kinds = (
        (sum(move for move in moves if move > 0), "offset", "passed over"),
        (-sum(move for move in moves if move < 0), "offset", "gone back over"),
        (moves.count(0), "partition", "begun anew with another topic"),
    )
    return ", ".join(f"{_counted(count, noun)} {verb}" for count, noun, verb in kinds if count)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
