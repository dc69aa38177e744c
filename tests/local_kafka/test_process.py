"""Processes are recognised by pid and birth, and never outlive us by accident."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import process
from causeway.local_kafka.process import ProcessFacts, ProcessId, parse_stat

SLEEP = ["sleep", "600"]
DEADLINE = 20.0


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[ProcessId]:
    running = process.spawn(SLEEP, tmp_path, tmp_path / "log")
    yield running
    process.send(running, signal.SIGKILL)
    assert process.wait_gone(running, DEADLINE)


@pytest.mark.parametrize(
    ("state", "threads", "ended"), [("S", 80, False), ("Z", 1, True), ("Z", 79, False), ("T", 80, False)]
)
def test_a_process_has_ended_with_its_last_thread(state: str, threads: int, ended: bool) -> None:
    before = " ".join(str(field) for field in range(4, 20))
    assert parse_stat(f"12 (a) b (c)) {state} {before} {threads} 0 777 1 2") == ProcessFacts(ended, "777")


def test_a_spawned_process_is_alive_until_it_is_killed(sleeper: ProcessId) -> None:
    assert process.is_alive(sleeper)
    process.send(sleeper, signal.SIGKILL)
    assert process.wait_gone(sleeper, DEADLINE)
    assert not process.is_alive(sleeper)


def test_somebody_else_with_the_same_pid_is_not_signalled(sleeper: ProcessId) -> None:
    predecessor = ProcessId(sleeper.pid, born="before")
    assert not process.is_alive(predecessor)
    process.send(predecessor, signal.SIGKILL)
    assert process.wait_gone(predecessor, DEADLINE)
    assert process.is_alive(sleeper)


def test_waiting_ends_at_its_deadline(sleeper: ProcessId) -> None:
    assert not process.wait_gone(sleeper, 0.05)


def test_the_watchdog_ends_the_process_of_a_killed_parent(tmp_path: Path) -> None:
    program = f"""
import os, pathlib, signal
from causeway.local_kafka import process
here = pathlib.Path({str(tmp_path)!r})
running = process.spawn({SLEEP!r}, here, here / "log")
watchdog = process.Watchdog(running)
print(running.pid, running.born, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    pid, born = parent.stdout.split(maxsplit=1)
    assert process.wait_gone(ProcessId(int(pid), born.strip()), DEADLINE)


def test_a_disarmed_watchdog_leaves_the_process_alone(sleeper: ProcessId) -> None:
    watchdog = process.Watchdog(sleeper)
    watchdog.disarm()
    assert process.is_alive(sleeper)
