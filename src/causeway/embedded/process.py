"""Processes that may outlive us: started, recognised again, signalled, awaited.

A process is known by its pid and the time of its birth. A pid alone may by now belong to somebody
else, and what is not ours is never signalled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class ProcessId:
    pid: int
    born: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ProcessId:
        """Raises ValueError or TypeError for what to_json has not written."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Sight:
    """A pid as the system shows it: ended, if all that is left is an exit status to collect."""

    ended: bool
    born: str


def spawn(command: Sequence[str], directory: Path, log: Path) -> ProcessId:
    """Start a process in a session of its own, so that Ctrl-C in our terminal does not reach it."""
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    # We follow the pid, as any later command has to; Popen would warn of a child left running.
    child.returncode = 0
    seen = _look(child.pid)
    return ProcessId(child.pid, seen.born if seen else "")


def is_alive(process: ProcessId) -> bool:
    seen = _look(process.pid)
    if seen is None or seen.born != process.born:
        return False
    if seen.ended:
        _reap(process.pid)
    return not seen.ended


def send(process: ProcessId, number: signal.Signals) -> None:
    if is_alive(process):
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return  # it ended between the look and the signal


def wait_gone(process: ProcessId, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while is_alive(process):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


class Watchdog:
    """Kills a process when we are gone, however we went: it waits for the end of a pipe we hold.

    The process stays unreaped, its pid therefore its own, until it is disarmed: it cannot hit a
    stranger. (PR_SET_PDEATHSIG would fire when the *thread* that started the process ends.)
    """

    def __init__(self, process: ProcessId) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _; kill -9 "$1" 2>/dev/null', "watchdog", str(process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def disarm(self) -> None:
        self._shell.kill()
        self._shell.wait()
        if self._shell.stdin is not None:
            self._shell.stdin.close()


def _look(pid: int) -> Sight | None:
    """Whoever has that pid now."""
    if sys.platform == "linux":
        try:
            return parse_stat(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
        except (FileNotFoundError, ProcessLookupError):
            return None
    seen = subprocess.run(
        ["ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout.split(maxsplit=1)
    return Sight(seen[0].startswith("Z"), seen[1].strip()) if len(seen) == 2 else None


def parse_stat(text: str) -> Sight:
    """What /proc/PID/stat says; the name at its start may hold blanks and brackets.

    A killed JVM is called a zombie as soon as its first thread is gone, while the others still hold
    its ports: it has ended when no thread is left.
    """
    state, *fields = text.rpartition(")")[2].split()
    threads, born = int(fields[16]), fields[18]
    return Sight(state == "Z" and threads <= 1, born)


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return  # somebody else's child: theirs to reap
