"""Starts, identifies, signals and waits for processes that may outlive this one.

A process is identified by its pid and its start time. A pid alone may have been reused for another
process, and a process that is not ours is never signalled.
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

import psutil

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class ProcessId:
    pid: int
    born: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ProcessId:
        """Raises ValueError or TypeError for a text that to_json did not write."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class ProcessFacts:
    """The state of a pid: ended, if only an exit status is left to collect."""

    ended: bool
    born: str


def spawn(command: Sequence[str], directory: Path, log: Path) -> ProcessId:
    """Start a process in its own session, so that Ctrl-C in this terminal does not reach it."""
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    # Track the pid, as any later command has to; Popen would warn about a running child.
    child.returncode = 0
    facts = _facts(child.pid)
    return ProcessId(child.pid, facts.born if facts else "")


def is_alive(process: ProcessId) -> bool:
    facts = _facts(process.pid)
    if facts is None or facts.born != process.born:
        return False
    if facts.ended:
        _reap(process.pid)
    return not facts.ended


def send(process: ProcessId, number: signal.Signals) -> None:
    if is_alive(process):
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return  # it ended between the check and the signal


def wait_gone(process: ProcessId, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while is_alive(process):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


class Watchdog:
    """Kills a process when this process ends, for whatever reason: a shell waits for EOF on a pipe we hold.

    The process is not reaped before the watchdog is disarmed, so its pid is not reused and the signal
    cannot hit another process. (PR_SET_PDEATHSIG would fire when the *thread* that started the process ends.)
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


def _facts(pid: int) -> ProcessFacts | None:
    """The process that has this pid now.

    A killed JVM becomes a zombie as soon as its first thread has ended, while the others still hold
    its ports: it has ended when no thread is left.
    """
    try:
        process = psutil.Process(pid)
        zombie = process.status() == psutil.STATUS_ZOMBIE
        several = zombie and sys.platform == "linux" and process.num_threads() > 1
        return ProcessFacts(zombie and not several, _born(pid))
    except psutil.NoSuchProcess:
        return None


def _born(pid: int) -> str:
    """The start time, in a form that does not change when the system clock is set."""
    if sys.platform != "linux":
        return f"{psutil.Process(pid).create_time():.3f}"
    # psutil adds the boot time, which moves with the system clock, to the ticks since boot: subtract it.
    while True:
        boot = psutil.boot_time()
        created = psutil.Process(pid).create_time()
        if psutil.boot_time() == boot:
            return str(round((created - boot) * os.sysconf("SC_CLK_TCK")))


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return  # not our child: its parent reaps it
