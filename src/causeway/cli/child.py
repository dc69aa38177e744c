"""Causeway's own commands as processes, each with everything below it: the JVM, Spark's Python workers.

Spark's Python daemon leaves the process group of whoever started it, so a group cannot be signalled:
the tree is walked instead.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from causeway.embedded.process import ProcessId, Watchdog
from causeway.errors import CausewayError

KILL_SECONDS = 20.0
_POLL_SECONDS = 0.02


class Child:
    """`python -m causeway …` in a session of its own, so that Ctrl-C reaches us alone.

    What it says goes to `log`, what it prints to `output`. Unless it is to outlive us, it is killed
    when we are gone, however we went.
    """

    def __init__(
        self, *arguments: str | Path, log: Path, env: Mapping[str, str], output: Path | None = None,
        outlives: bool = False,
    ) -> None:  # fmt: skip
        self.log = log
        self.name = str(arguments[0])
        with log.open("ab") as said, (output or log).open("ab") as printed:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "causeway", *map(str, arguments)],
                stdin=subprocess.DEVNULL,
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
        """Raises CausewayError if it has ended: whoever calls this counts on it."""
        if self.exit_code is not None:
            raise self.failure(f"`causeway {self.name}` ended with exit code {self.exit_code}")

    def failure(self, what: str) -> CausewayError:
        return CausewayError(what, why=last_words(self.log))

    def stop(self, seconds: float) -> int:
        """Ask it to end, as Ctrl-C would; its exit code. Raises CausewayError when it does not."""
        self._process.terminate()
        deadline = time.monotonic() + seconds
        while (code := self.exit_code) is None:
            if time.monotonic() >= deadline:
                raise self.failure(f"`causeway {self.name}` did not end within {seconds:.0f} s of SIGTERM")
            time.sleep(_POLL_SECONDS)
        return code

    def kill(self) -> int:
        """SIGKILL for it and all below it, at once; answers how many processes that were."""
        if self.exit_code is not None:
            return 0
        killed = kill_tree(self.pid)
        self._disarm()
        self._process.wait()
        return killed

    def release(self) -> None:
        """It goes on without us: Popen would warn of a child left running."""
        self._process.returncode = 0

    def _disarm(self) -> None:
        if self._watchdog is not None:
            self._watchdog.disarm()
            self._watchdog = None


def kill_tree(root: int) -> int:
    """Stop first, kill then: a stopped process starts no others while we look for them."""
    stopped: set[int] = set()
    while found := tree(root) - stopped:
        _send(found, signal.SIGSTOP)
        stopped |= found
    _send(stopped, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while stopped & living().keys() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return len(stopped)


def tree(root: int) -> set[int]:
    """The living among a process and all below it."""
    children: dict[int, list[int]] = {}
    everybody = living()
    for pid, parent in everybody.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [root] if root in everybody else []
    while waiting:
        pid = waiting.pop()
        found.add(pid)
        waiting += children.get(pid, [])
    return found


def living() -> dict[int, int]:
    """The parent of every process that has not ended; a zombie has."""
    if sys.platform == "linux":
        rows = []
        for place in Path("/proc").iterdir():
            if place.name.isdigit():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    # The name may hold blanks and brackets; the state and the parent come behind it.
                    fields = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()
                    rows.append((place.name, fields[1], fields[0]))
    else:
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "stat="],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [(pid, parent, state) for pid, parent, state in map(str.split, listed.stdout.splitlines())]
    return {int(pid): int(parent) for pid, parent, state in rows if not state.startswith("Z")}


def last_words(log: Path) -> str:
    """Why a command ended, from what it said: its error, else its last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error:")]
    return (errors or lines or ["it said nothing"])[-1]


def _send(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
