"""A signal that the caller had ignored stays ignored: nohup, and background jobs of a script."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

RUN = """
import os, signal
from causeway.cli.run import _signals

class Running:
    def stop(self): print("stop", flush=True)

for _ in range(2):
    with _signals(Running()):
        os.kill(os.getpid(), signal.%s)
        signal.signal(signal.SIGINT, lambda *_: print("Spark", flush=True))  # what its start installs
"""
DEMO = """
import os, signal
from causeway.cli.demo.command import _interruptions

with _interruptions():
    os.kill(os.getpid(), signal.%s)
    print("went on")
"""


def done(program: str, sent: signal.Signals, ignored: signal.Signals) -> tuple[int, str, str]:
    ended = subprocess.run(
        [sys.executable, "-c", program % sent.name],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(ignored, signal.SIG_IGN),
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_a_mirror_started_in_the_background_of_a_script_does_not_stop_at_ctrl_c() -> None:
    assert done(RUN, signal.SIGINT, signal.SIGINT) == (0, "", "")
    assert done(RUN, signal.SIGTERM, signal.SIGINT) == (0, "stop\nstop\n", "")


def test_sigterm_always_stops_a_mirror() -> None:
    assert done(RUN, signal.SIGTERM, signal.SIGTERM) == (0, "stop\nstop\n", "")


@pytest.mark.parametrize("ignored", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_demo_respects_nohup_and_background_jobs(ignored: signal.Signals) -> None:
    assert done(DEMO, ignored, ignored) == (0, "went on\n", "")
    assert done(DEMO, signal.SIGTERM, ignored) == (143, "", "")
