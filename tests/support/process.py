"""Causeway as a process of its own, as users run it, with everything it starts."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from support import forked_command
from support.forked_command import ForkedCommand

LINES = {"CAUSEWAY__LOG__FORMAT": "text"}
"""Tests read what people read."""


def eventually(condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Wait until a condition holds; say what was waited for when it does not.

    A condition that takes long is evaluated less often: what is waited for needs the same cores.
    """
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if condition():
            return
        now = time.monotonic()
        assert now < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(min(max(0.05, now - began), 0.5))


def processes() -> dict[int, int]:
    """The parent of every process that has not ended; a zombie has."""
    return {pid: parent for pid in psutil.pids() if (parent := parent_of(pid)) is not None}


def parent_of(pid: int) -> int | None:
    """None if the process has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return process.ppid()
    return None


def descendants(pid: int) -> list[int]:
    """All processes below this one, nearest first."""
    children: dict[int, list[int]] = {}
    for child, parent in processes().items():
        children.setdefault(parent, []).append(child)
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(0), [])
        found += below
        waiting += below
    return found


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """A signal to each of them that still lives."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


_on_spark = True


def use_spark(wanted: bool) -> None:
    """Whether the commands that are started from now on have Spark, or the tests' executor in its place."""
    global _on_spark
    _on_spark = wanted


@contextlib.contextmanager
def without_spark() -> Iterator[None]:
    """For the part of a test on Spark that is about something else."""
    before = _on_spark
    use_spark(False)
    try:
        yield
    finally:
        use_spark(before)


def causeway_command(*arguments: str | Path) -> list[str]:
    """The command line of `causeway` with these arguments."""
    program = ["-m", "causeway"] if _on_spark else [str(forked_command.PROGRAM)]
    return [sys.executable, *program, *map(str, arguments)]


def interruptible() -> None:
    """Ctrl-C is heeded, even if these tests were started in the background, where it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start_command(
    arguments: Sequence[str], env: Mapping[str, str], stdout: Path, stderr: Path
) -> ForkedCommand | subprocess.Popen[bytes]:
    """Start `causeway` in a session of its own; its output is appended to these files."""
    if forked_command.can_be_forked(env):
        return forked_command.start(arguments, env, stdout, stderr, spark=_on_spark)
    with stdout.open("ab") as output, stderr.open("ab") as errors:
        return subprocess.Popen(
            causeway_command(*arguments),
            stdout=output,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
            preexec_fn=interruptible,
        )


class Causeway:
    """A running `causeway` command; its output goes to a file."""

    def __init__(self, *arguments: str | Path, log: Path, env: Mapping[str, str] | None = None) -> None:
        self.log = log
        log.touch()
        self.process = start_command(
            [*map(str, arguments)], {**os.environ, **LINES, **(env or {})}, stdout=log, stderr=log
        )
        self._began = _began(self.process.pid)

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

    def page(self) -> str:
        """Where its page is, and its metrics, as it says in its first lines."""

        def said() -> list[str]:
            return re.findall(r"the page is at (\S+)", self.output)

        self.until(said, "it says where its page is")
        return str(said()[-1])

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
        """The whole tree at once: driver, JVM, Spark's Python processes, whoever of them is left."""

        def gone() -> bool:
            family = self.family()  # asked again: some of them start others
            send(signal.SIGKILL, family)
            return not family

        eventually(gone, "everything that was started has been killed", 20)
        self.process.wait()

    def family(self) -> list[int]:
        """Everything that it started and that lives, itself first: also what survived its driver.

        The kernel does not give a session's number to another process while the session has members.
        """
        if _began(self.process.pid) not in (self._began, None):
            return []
        members = [pid for pid in psutil.pids() if _session(pid) == self.process.pid]
        return sorted(pid for pid in members if parent_of(pid) is not None)

    def workers(self) -> list[int]:
        return python_workers(self.family())

    def jvm(self) -> list[int]:
        return [pid for pid in self.family() if "".join(command(pid)[:1]).endswith("java")]


def python_workers(family: Iterable[int]) -> list[int]:
    """The Python workers among these: the children of Spark's daemon, or of the tests' executor's server.

    Both look like their parent, and the server like the driver that it was forked from.
    """
    members = {pid: command(pid) for pid in family}
    daemons = [pid for pid, arguments in members.items() if "pyspark.daemon" in arguments]
    forked = [pid for pid, arguments in members.items() if str(forked_command.PROGRAM) in arguments]
    of_spark = [pid for pid in daemons if parent_of(pid) in daemons]
    servers = [pid for pid in forked if parent_of(pid) in forked]
    return of_spark + [pid for pid in servers if parent_of(pid) in servers]


def command(pid: int) -> list[str]:
    """Its arguments; empty if it has ended."""
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).cmdline()
    return []


def _began(pid: int) -> float | None:
    """When the process started; None if it has ended."""
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).create_time()
    return None


def _session(pid: int) -> int | None:
    """None if the process has ended."""
    with contextlib.suppress(ProcessLookupError):
        return os.getsid(pid)
    return None
