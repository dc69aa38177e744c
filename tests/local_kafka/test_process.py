"""Processes are identified by pid and start time, and never outlive this process by accident."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from causeway.local_kafka import process
from causeway.local_kafka.process import ProcessId
from support.process import eventually

SLEEP = ["sleep", "600"]
DEADLINE = 20.0


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[ProcessId]:
    running = process.spawn(SLEEP, tmp_path, tmp_path / "log")
    yield running
    process.send(running, signal.SIGKILL)
    assert process.wait_gone(running, DEADLINE)


FIRST_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
libc = ctypes.CDLL(None)
libc.pthread_exit.argtypes = [ctypes.c_void_p]
libc.pthread_exit(None)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process is no zombie while it has threads")
def test_a_process_has_ended_with_its_last_thread(tmp_path: Path) -> None:
    running = process.spawn([sys.executable, "-c", FIRST_THREAD_ENDS], tmp_path, tmp_path / "log")
    try:
        eventually(
            lambda: psutil.Process(running.pid).status() == psutil.STATUS_ZOMBIE, "its first thread has ended"
        )
        assert process.is_alive(running)
    finally:
        process.send(running, signal.SIGKILL)
    assert process.wait_gone(running, DEADLINE)


def test_a_stopped_process_is_alive(sleeper: ProcessId) -> None:
    process.send(sleeper, signal.SIGSTOP)
    eventually(lambda: psutil.Process(sleeper.pid).status() == psutil.STATUS_STOPPED, "it has stopped")
    assert process.is_alive(sleeper)


def test_the_start_time_does_not_move_with_the_system_clock(
    sleeper: ProcessId, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot, created = psutil.boot_time, psutil.Process.create_time
    monkeypatch.setattr(psutil, "boot_time", lambda: boot() + 3600)
    monkeypatch.setattr(psutil.Process, "create_time", lambda of: created(of) + 3600)
    if sys.platform == "linux":
        assert process.is_alive(sleeper)


def test_a_spawned_process_is_alive_until_it_is_killed(sleeper: ProcessId) -> None:
    assert process.is_alive(sleeper)
    process.send(sleeper, signal.SIGKILL)
    assert process.wait_gone(sleeper, DEADLINE)
    assert not process.is_alive(sleeper)


def test_another_process_with_the_same_pid_is_not_signalled(sleeper: ProcessId) -> None:
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
