"""Commands that are forked from a template, beside the same commands as processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support import forked_command
from support.process import Causeway

CONFIG = """
[clusters.a]
bootstrap_servers = "127.0.0.1:1"
[clusters.b]
bootstrap_servers = "127.0.0.1:2"
[[mirrors]]
name = "m"
source = "a"
destination = "b"
topics = ["t"]
"""


@pytest.mark.parametrize(
    "arguments", [["config", "reference"], ["run", "absent.toml"], ["verify", "--wrong"]]
)
def test_a_forked_command_does_what_its_own_process_does(tmp_path: Path, arguments: list[str]) -> None:
    own = subprocess.run(
        [sys.executable, "-m", "causeway", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    for spark in (False, True):
        stdout, stderr = tmp_path / f"{spark}.out", tmp_path / f"{spark}.err"
        forked = forked_command.start(arguments, os.environ, stdout, stderr, spark=spark)
        assert forked.wait(60) == own.returncode
        assert stdout.read_text() == own.stdout
        assert stderr.read_text().replace("without_spark.py", "causeway") == own.stderr


def test_its_input_is_a_file(tmp_path: Path) -> None:
    """Of a terminal, for example."""
    (tmp_path / "mirror.toml").write_text(CONFIG)
    out, err = tmp_path / "out", tmp_path / "err"
    arguments = ["check", "/dev/stdin", "-X", "web.port=x"]
    forked = forked_command.start(
        arguments, os.environ, out, err, stdin=tmp_path / "mirror.toml", spark=False
    )
    assert forked.wait(60) == 3
    assert "web.port" in err.read_text()


def test_it_has_its_own_session_environment_and_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mirror.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    run = Causeway("run", "mirror.toml", log=tmp_path / "log", env={"CAUSEWAY__WEB__PORT": "x"})
    assert os.getsid(run.process.pid) == run.process.pid != os.getsid(0)
    assert run.wait() == 3
    assert "CAUSEWAY__WEB__PORT" in run.output
    assert run.family() == []


def test_a_signal_reaches_it_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    (tmp_path / "mirror.toml").write_text(CONFIG)
    run = Causeway("run", tmp_path / "mirror.toml", log=tmp_path / "log")
    assert run.alive
    assert run.family()[0] == run.process.pid
    run.process.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    run.kill()
    assert run.family() == []


@pytest.mark.parametrize("name", ["CAUSEWAY_FAILPOINT", "PYTHONPATH"])
def test_what_an_import_reads_needs_a_process_of_its_own(name: str) -> None:
    assert not forked_command.can_be_forked({**os.environ, name: "another value"})
    assert forked_command.can_be_forked(os.environ)
