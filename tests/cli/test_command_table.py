"""The table of commands: each exists, and a command imports only what it needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from causeway.cli.command_table import COMMANDS

LARGE = ("confluent_kafka", "numpy", "pyarrow", "pyspark", "uvicorn")


@pytest.mark.parametrize(
    ("arguments", "imported"),
    [
        (["--version"], set()),
        (["kafka", "list"], {"confluent_kafka"}),
        (["config", "--help"], set()),
        (["check", "--help"], {"confluent_kafka", "numpy"}),  # it compares records of a pool's nodes
    ],
)
def test_a_command_imports_only_what_it_needs(arguments: list[str], imported: set[str]) -> None:
    script = (
        "import json, sys\n"
        "from causeway.cli.main import main\n"
        f"sys.argv = ['causeway', *{arguments}]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print(json.dumps([name for name in {LARGE} if name in sys.modules]))\n"
    )
    output = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert set(json.loads(output.splitlines()[-1])) == imported


def test_the_help_lists_every_command_with_its_own_line() -> None:
    command = [sys.executable, "-m", "causeway", "--help"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    listed = {line.split()[0]: line.split()[1:] for line in lines[lines.index("Commands:") + 1 :] if line}
    assert list(listed) == list(COMMANDS)
    assert all(listed.values())


def test_a_mistyped_command_is_reported_with_the_nearest() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "causeway", "verfy"], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert "Did you mean 'verify'?" in ended.stderr
