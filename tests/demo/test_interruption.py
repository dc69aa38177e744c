"""A signal ends the demo wherever it comes, without a word of Python's own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, time
from causeway.cli.demo.command import _interruptions

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1_000): pass

class Broken:
    def __del__(self):
        raise ValueError("somebody's own trouble")

with _interruptions():
    %s
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline: pass
sys.exit("nobody heard it")
"""


@pytest.mark.parametrize(
    "moment",
    ["os.kill(os.getpid(), signal.SIGTERM)", "Dropped()", "Dropped(); Dropped()"],
    ids=["anywhere", "while an object goes", "twice"],
)
def test_a_signal_ends_it(moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM % moment], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (143, "")


def test_what_else_python_drops_is_still_told() -> None:
    moment = "Broken(); os.kill(os.getpid(), signal.SIGTERM)"
    done = subprocess.run([sys.executable, "-c", PROGRAM % moment], capture_output=True, text=True)
    assert done.returncode == 143
    assert "somebody's own trouble" in done.stderr
