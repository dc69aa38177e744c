"""The command line as a new user runs it."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from causeway import __version__
from support import typed

CONFIG = """
[clusters.paris]
bootstrap_servers = "{paris}"
[clusters.tokyo]
bootstrap_servers = "{tokyo}"
[[mirrors]]
name = "m"
source = "paris"
destination = "tokyo"
topics = ["orders"]
"""


def causeway(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "causeway", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_the_version_is_printed() -> None:
    assert causeway("--version").stdout == f"causeway {__version__}\n"


def test_help_names_every_command_with_a_sentence() -> None:
    shown = causeway("--help").stdout
    commands = re.findall(r"^  ([\w-]+) {2,}(\S.*)$", shown.split("Commands:")[1], re.MULTILINE)
    assert {name for name, _ in commands} == {
        "run", "status", "pause", "resume", "failover", "check", "verify", "adopt", "offsets", "demo", "init",
        "config", "kafka", "ktm", "mirrormaker", "kaf-relay", "reo", "convert",
    }  # fmt: skip
    for name, _ in commands:
        assert typed.causeway(name, "--help").returncode == 0


@pytest.mark.parametrize("command", ["run", "check", "verify"])
def test_an_unreachable_cluster_is_named(tmp_path: Path, command: str) -> None:
    config = tmp_path / "mirror.toml"
    address = f"127.0.0.1:{closed_port()}"
    config.write_text(CONFIG.format(paris=address, tokyo=address))

    ended = causeway(command, config)

    assert ended.returncode == 5, ended.stderr
    printed = ended.stderr + ended.stdout
    assert "paris" in printed
    assert address in printed
    assert "Traceback" not in printed


def test_a_broken_configuration_is_one_error_with_all_problems(tmp_path: Path) -> None:
    config = tmp_path / "mirror.toml"
    config.write_text(
        CONFIG.format(paris="a:1", tokyo="b:1").replace("topics", "topix").replace("tokyo", "toky", 1)
    )

    ended = typed.causeway("run", config)

    assert ended.returncode == 3
    assert 'did you mean "topics"?' in ended.stderr
    assert "tokyo" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_unknown_mirror_is_a_usage_error(tmp_path: Path) -> None:
    config = tmp_path / "mirror.toml"
    config.write_text(CONFIG.format(paris="a:1", tokyo="b:1"))
    ended = typed.causeway("run", config, "--mirror", "unknown")
    assert ended.returncode == 2
    assert "no mirror is named unknown" in ended.stderr
    assert "Traceback" not in ended.stderr
