"""Causeway's own commands as processes, each with its whole tree: the JVM, Spark's Python workers.

Spark's Python daemon leaves the process group of its parent, so signalling the group would miss it:
`kill_tree` walks the process tree instead.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from causeway.errors import CausewayError
from causeway.local_kafka.process import ProcessId, Watchdog

KILL_SECONDS = 20.0
_POLL_SECONDS = 0.02

COMMAND = [sys.executable, "-m", "causeway"]
"""How a child is started, before its arguments."""


class Child:
    """`python -m causeway …` in its own session, so that Ctrl-C reaches this process alone.

    stderr goes to `log`, stdout to `output`. `given` is its stdin, in a file that never has a name. Unless
    `outlives`, a watchdog kills it when this process ends, for whatever reason.
    """

    def __init__(
        self, *arguments: str | Path, log: Path, env: Mapping[str, str], output: Path | None = None,
        outlives: bool = False, given: str = "",
    ) -> None:  # fmt: skip
        self.log = log
        self.name = str(arguments[0])
        with (
            log.open("ab") as said,
            (output or log).open("ab") as printed,
            tempfile.TemporaryFile("w+", encoding="utf-8") as typed,
        ):
            typed.write(given)
            typed.seek(0)
            self._process = subprocess.Popen(
                [*COMMAND, *map(str, arguments)],
                stdin=typed,
                stdout=printed,
                stderr=said,
                env=dict(env),
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._watchdog = None if outlives else Watchdog(ProcessId(self.pid, born=""))

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        code = self._process.poll()
        if code is not None:
            self._disarm()
        return code

    def check(self) -> None:
        """Raises CausewayError if it has ended; for callers that need it running."""
        if self.exit_code is not None:
            raise self.failure(f"`causeway {self.name}` ended with exit code {self.exit_code}")

    def failure(self, what: str) -> CausewayError:
        return CausewayError(what, why=last_words(self.log))

    def stop(self, seconds: float) -> int:
        """Send SIGTERM and return the exit code. Raises CausewayError if it does not end in time."""
        self._process.terminate()
        deadline = time.monotonic() + seconds
        while (code := self.exit_code) is None:
            if time.monotonic() >= deadline:
                raise self.failure(f"`causeway {self.name}` did not end within {seconds:.0f} s of SIGTERM")
            time.sleep(_POLL_SECONDS)
        return code

    def kill(self) -> int:
        """SIGKILL the process and its whole tree; returns the number of processes."""
        if self.exit_code is not None:
            return 0
        killed = kill_tree(self.pid)
        self._disarm()
        self._process.wait()
        return killed

    def release(self) -> None:
        """Let it outlive this process. Setting `returncode` stops Popen's warning about a running child."""
        self._process.returncode = 0

    def _disarm(self) -> None:
        if self._watchdog is not None:
            self._watchdog.disarm()
            self._watchdog = None


def kill_tree(root: int) -> int:
    """SIGSTOP the whole tree, then SIGKILL it: a stopped process cannot start others during the search."""
    stopped: set[int] = set()
    while running := tree(root) - stopped:
        _send(running, signal.SIGSTOP)
        stopped |= running
    _send(stopped, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while stopped & living().keys() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return len(stopped)


def tree(root: int) -> set[int]:
    """A process and its descendants, as far as they are alive."""
    children: dict[int, list[int]] = {}
    parents = living()
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    family: set[int] = set()
    waiting = [root] if root in parents else []
    while waiting:
        pid = waiting.pop()
        family.add(pid)
        waiting += children.get(pid, [])
    return family


def living() -> dict[int, int]:
    """The parent of every process that has not ended. A zombie has ended."""
    parents: dict[int, int] = {}
    for pid in psutil.pids():
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended meanwhile
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE:
                parents[pid] = process.ppid()
    return parents


def last_words(log: Path) -> str:
    """Why a command ended, from its log: its last error line, else its last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error:")]
    return (errors or lines or ["it said nothing"])[-1]


def _send(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
