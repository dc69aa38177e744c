"""What processes use, as /proc says it.

CPU time of children that have ended is their parents', once these have waited for them; so the sum over those
that live misses nobody but what was left to init.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Usage:
    cpu: float  # seconds
    memory: int  # bytes in memory; what processes share is counted for each


def parse(stat: str) -> Usage:
    """What /proc/PID/stat says; the name at its start may hold blanks and brackets."""
    fields = stat.rpartition(")")[2].split()
    ticks = sum(int(field) for field in fields[11:15])  # own and waited-for children's, user and system
    return Usage(ticks / _TICKS, int(fields[21]) * _PAGE)


def used(pids: Iterable[int]) -> Usage:
    """The sum of all that live."""
    cpu, memory = 0.0, 0
    for pid in pids:
        with contextlib.suppress(OSError):
            one = parse(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
            cpu, memory = cpu + one.cpu, memory + one.memory
    return Usage(cpu, memory)


def peak(pid: int) -> int:
    """Most bytes that a process ever had in memory; 0 of one that has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
