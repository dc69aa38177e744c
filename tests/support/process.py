"""Causeway as a process of its own, as users run it, with everything it starts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path


def eventually(condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Wait until a condition holds; say what was waited for when it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.05)


def descendants(pid: int) -> list[int]:
    """All processes below this one, nearest first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(0), [])
        found += below
        waiting += below
    return found


class Causeway:
    """A running `causeway` command; its output goes to a file."""

    def __init__(self, *arguments: str | Path, log: Path, env: Mapping[str, str] | None = None) -> None:
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "causeway", *map(str, arguments)],
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def until(self, condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
        """Wait for a condition while it runs; its output is shown when it ends before."""

        def holds() -> object:
            done = condition()
            assert done or self.alive, f"ended with {self.process.returncode} before {what}:\n{self.output}"
            return done

        try:
            eventually(holds, what, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.output[-4000:]}") from None

    def wait(self, seconds: float = 90.0) -> int:
        """Its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds:.0f} s:\n{self.output[-4000:]}") from None

    def stop(self, seconds: float = 30.0) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def interrupt(self, seconds: float = 30.0) -> int:
        """Ctrl-C, as a terminal sends it: to everything in the foreground."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.wait(seconds)

    def kill(self) -> None:
        """The whole tree at once: driver, JVM, Spark's Python processes."""
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def workers(self) -> list[int]:
        """Spark's Python workers (the daemon's children)."""
        found = []
        for pid in descendants(self.process.pid):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"pyspark.daemon" in command:
                found.append(pid)
        return found[1:]  # the first is the daemon itself

    def pause_workers(self) -> None:
        for pid in self.workers():
            os.kill(pid, signal.SIGSTOP)

    def resume_workers(self, pids: list[int]) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
