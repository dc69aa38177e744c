"""A contender as a process, with its child processes."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from bench.usage import Usage, used
from causeway.local_kafka import process
from causeway.local_kafka.kept_process import meaningful
from causeway.local_kafka.process import Watchdog
from support.process import eventually, send

FAMILY_SECONDS = 1.0
"""Interval between two listings of a contender's processes: a listing costs CPU on the measured cores."""
STOP_SECONDS = 40.0
RUN_VARIABLE = "BENCH_RUN"


class Failed(Exception):
    """A contender failed; the message is one line."""


class Child:
    """A running contender; its output goes to a file."""

    def __init__(
        self, command: Sequence[str], directory: Path, *,
        env: Mapping[str, str] | None = None,
        besides: Callable[[], Sequence[int]] = list,  # processes outside its session, e.g. a Spark cluster's
    ) -> None:  # fmt: skip
        directory.mkdir(parents=True, exist_ok=True)
        self.log = directory / "output.log"
        self._run = uuid.uuid4().hex
        self._besides = besides
        variables = [f"{name}={value}" for name, value in (env or {}).items()]
        self.began = time.monotonic()
        self._process = process.spawn(
            ["env", f"{RUN_VARIABLE}={self._run}", *variables, *command], directory, self.log
        )
        self._watchdog = Watchdog(self._process)
        self._known: list[int] = [self._process.pid]
        self._known_at = 0.0
        self._most_cpu = 0.0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return process.is_alive(self._process)

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def seconds(self) -> float:
        """Seconds since the command was started."""
        return time.monotonic() - self.began

    def pids(self) -> list[int]:
        """Its live processes, cached for FAMILY_SECONDS."""
        if time.monotonic() - self._known_at > FAMILY_SECONDS:
            self._known = [*self.family(), *self._besides()]
            self._known_at = time.monotonic()
        return self._known

    def family(self) -> list[int]:
        """Its own process and its descendants.

        A session's number is reused after its last process has ended, so the environment variable decides.
        """
        members = [pid for pid in psutil.pids() if _session(pid) == self._process.pid]
        return sorted(pid for pid in members if _environment(pid).get(RUN_VARIABLE) == self._run)

    def usage(self) -> Usage:
        now = used(self.pids())
        # A child may end between reading its CPU time and its parent's.
        self._most_cpu = max(self._most_cpu, now.cpu)
        return Usage(self._most_cpu, now.memory)

    def must_live(self) -> None:
        """Raise Failed with its last output lines if it has ended."""
        if not self.alive:
            last = " / ".join(meaningful(self.output.splitlines(), 2))
            raise Failed(f"it ended by itself: {last or 'without output'}")

    def wait(self, seconds: float) -> None:
        """Wait until it ends by itself. Raises Failed."""
        if not process.wait_gone(self._process, seconds):
            raise Failed(f"it did not end within {seconds:.0f} s")

    def stop(self) -> None:
        """Send SIGTERM, then SIGKILL to what is left. Returns when all processes have ended."""
        process.send(self._process, signal.SIGTERM)
        process.wait_gone(self._process, STOP_SECONDS)

        def gone() -> bool:
            family = self.family()  # listed again: some of them start others
            send(signal.SIGKILL, family)
            return not family and not self.alive

        eventually(gone, "everything that was started is gone", 20)
        self._watchdog.disarm()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:  # it has ended
        return None


def _environment(pid: int) -> dict[str, str]:
    try:
        return psutil.Process(pid).environ()
    except psutil.Error:  # it has ended, or is another user's
        return {}
