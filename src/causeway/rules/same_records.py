"""Whether two clusters have the same records at the same offsets, in a range that was read on both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from causeway.core.position import KnownRecord


@dataclass(frozen=True, slots=True)
class LogComparison:
    records: int = 0  # compared, and equal
    difference: str = ""  # the first one, with its offset
    apart: str = ""  # why no offset could be compared, although the first log has some


def compare_logs(
    first: Sequence[KnownRecord], other: Sequence[KnownRecord], name: str, *, compacted: bool = False
) -> LogComparison:
    """Compare the records of one range. `name` is the first cluster's, for the text.

    Compaction removes records on each cluster at other times: then only offsets that both have are compared.
    """
    here, there = dict(first), dict(other)
    equal = 0
    for offset in sorted(here.keys() | there.keys()):
        if offset in here and offset in there:
            if here[offset] != there[offset]:
                return LogComparison(equal, f"has another record at offset {offset} than {name}")
            equal += 1
        elif not compacted and offset in here:
            return LogComparison(equal, f"has no record at offset {offset}, where {name} has one")
        elif not compacted:
            return LogComparison(equal, f"has a record at offset {offset}, where {name} has none")
    return LogComparison(equal)
