"""Process trees that are killed together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from causeway.cli.child import Child, kill_tree, last_words, living, tree
from causeway.errors import CausewayError
from support.process import eventually

# A child in a process group of its own, as Spark's Python daemon is, with a child of its own.
FAMILY = """
import os, subprocess, sys, time
def born(depth):
    if depth:
        subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[1], str(depth - 1)], process_group=0)
    time.sleep(600)
born(int(sys.argv[2]))
"""


def test_a_tree_is_killed_beyond_its_process_group() -> None:
    root = subprocess.Popen([sys.executable, "-c", FAMILY, FAMILY, "2"])
    try:
        eventually(lambda: len(tree(root.pid)) == 3, "three generations")
        family = tree(root.pid)
        assert len({os.getpgid(pid) for pid in family}) == 3
    finally:
        killed = kill_tree(root.pid)
        root.wait()
    assert killed == 3
    assert not family & living().keys()
    assert tree(root.pid) == set()


def test_other_processes_are_not_killed() -> None:
    first, other = (subprocess.Popen([sys.executable, "-c", FAMILY, FAMILY, "0"]) for _ in range(2))
    try:
        assert kill_tree(first.pid) == 1
        assert other.poll() is None
        assert os.getpid() in living()
    finally:
        other.kill()
        first.wait()
        other.wait()


def test_a_command_that_ended_is_detected_with_its_last_output(tmp_path: Path) -> None:
    child = Child("run", tmp_path / "absent.toml", log=tmp_path / "run.log", env=os.environ)
    eventually(lambda: child.exit_code is not None, "the end of a run without a configuration")
    with pytest.raises(CausewayError, match=r"`causeway run` ended with exit code 3") as raised:
        child.check()
    assert raised.value.why.startswith("error:")
    assert child.kill() == 0


def test_the_last_output_is_the_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("starting\nerror: no Java\nwhere: here\n\n")
    assert last_words(log) == "error: no Java"
    log.write_text("starting\nstill starting\n")
    assert last_words(log) == "still starting"
    log.write_text("")
    assert last_words(log) == "it said nothing"
