"""A signal ends the demo at any point, without a traceback."""

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
        raise ValueError("an unrelated error")

with _interruptions():
    %s
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline: pass
sys.exit("the signal had no effect")
"""


@pytest.mark.parametrize(
    "moment",
    ["os.kill(os.getpid(), signal.SIGTERM)", "Dropped()", "Dropped(); Dropped()"],
    ids=["anywhere", "while an object goes", "twice"],
)
def test_a_signal_ends_the_demo(moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM % moment], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (143, "")


def test_other_unraisable_errors_are_still_printed() -> None:
    moment = "Broken(); os.kill(os.getpid(), signal.SIGTERM)"
    done = subprocess.run([sys.executable, "-c", PROGRAM % moment], capture_output=True, text=True)
    assert done.returncode == 143
    assert "an unrelated error" in done.stderr
