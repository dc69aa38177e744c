"""CPU time and memory of processes.

The CPU time of a child that has ended is added to its parent's when the parent waits for it, so the sum over
the live processes misses only children that were reparented to init.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Usage:
    cpu: float  # seconds
    memory: int  # resident bytes; shared pages count for each process


def used(pids: Iterable[int]) -> Usage:
    """The sum over live processes. CPU time includes children that ended and were waited for."""
    cpu, memory = 0.0, 0
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            with process.oneshot():
                times, resident = process.cpu_times(), process.memory_info().rss
            cpu += times.user + times.system + times.children_user + times.children_system
            memory += resident
    return Usage(cpu, memory)


def peak(pid: int) -> int:
    """Peak resident memory of a process in bytes; 0 if it has ended. psutil has no peak on Linux."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
