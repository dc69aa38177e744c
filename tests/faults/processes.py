"""A mirror's processes: kill, suspend and continue them, by role or all, and what they use."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from faults.events import Usage
from support.process import eventually, processes, send


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
        lambda: all(state == "T" for state in _living(pids).values()), f"{list(pids)} are suspended", 5
    )
    try:
        yield
    finally:
        send(signal.SIGCONT, pids)


def is_held(pid: int) -> bool:
    return _living([pid]) == {pid: "T"}


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
    return {pid: fields[0] for pid, fields in processes().items() if pid in pids}


def _sizes(pid: int) -> tuple[int, int, int] | None:
    """Bytes of memory, open files, threads; None if it has ended."""
    home = Path(f"/proc/{pid}")
    with contextlib.suppress(OSError, KeyError):
        lines = (line.partition(":") for line in (home / "status").read_text().splitlines())
        facts = {name: value.split() for name, _, value in lines}
        return int(facts["VmRSS"][0]) * 1024, len([*(home / "fd").iterdir()]), int(facts["Threads"][0])
    return None
