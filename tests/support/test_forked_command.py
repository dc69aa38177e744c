"""Commands that are forked from a template, beside the same commands as processes of their own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from support import forked_command
from support.process import Causeway, start_command, use_spark

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
    outcomes = []
    for on_spark in (False, True):
        use_spark(on_spark)
        stdout, stderr = tmp_path / f"{on_spark}.out", tmp_path / f"{on_spark}.err"
        code = start_command(arguments, dict(os.environ), stdout, stderr).wait(60)
        outcomes.append(
            (code, stdout.read_text(), stderr.read_text().replace("without_spark.py", "causeway"))
        )
    use_spark(False)
    assert outcomes[0] == outcomes[1]


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
