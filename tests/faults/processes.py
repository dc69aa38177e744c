"""A mirror's processes: kill, suspend and continue them, by role or all, and what they use."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Collection, Iterator, Mapping

import psutil

from faults.events import Usage
from support.process import eventually, send


def kill(pids: Collection[int], number: signal.Signals = signal.SIGKILL) -> None:
    """Send the signal; returns when all of them have ended."""
    send(number, pids)
    eventually(lambda: not _living(pids), f"{number.name} ends {list(pids)}", 20)


@contextlib.contextmanager
def held(pids: Collection[int]) -> Iterator[None]:
    """SIGSTOP during the block; SIGCONT at its end, for those that still live."""
    assert pids, "no process to suspend"
    send(signal.SIGSTOP, pids)
    eventually(
        lambda: set(_living(pids).values()) <= {psutil.STATUS_STOPPED},
        f"{list(pids)} are suspended",
        5,
    )
    try:
        yield
    finally:
        send(signal.SIGCONT, pids)


def is_held(pid: int) -> bool:
    return _living([pid]) == {pid: psutil.STATUS_STOPPED}


def usage(at: int, roles: Mapping[str, Collection[int]]) -> list[Usage]:
    """Memory, files and threads of all processes of a role together; omits roles without a process."""
    found = []
    for role, pids in roles.items():
        sizes = [size for pid in pids if (size := _sizes(pid)) is not None]
        if sizes:
            memory, files, threads = map(sum, zip(*sizes, strict=True))
            found.append(Usage(at, role, memory, files, threads))
    return found


def _living(pids: Collection[int]) -> dict[int, str]:
    statuses = {}
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            statuses[pid] = psutil.Process(pid).status()
    return {pid: status for pid, status in statuses.items() if status != psutil.STATUS_ZOMBIE}


def _sizes(pid: int) -> tuple[int, int, int] | None:
    """Bytes of memory, open files, threads; None if it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() != psutil.STATUS_ZOMBIE:
                return process.memory_info().rss, process.num_fds(), process.num_threads()
    return None
