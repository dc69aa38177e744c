"""The shared registry lives as long as its users, and no longer."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from causeway.local_kafka import SchemaRegistry
from support.registry import shared_registry

DEADLINE = 60.0
USER = """
import sys
sys.path[:0] = [{tests!r}]
from pathlib import Path
from support.registry import shared_registry
with shared_registry(Path({run!r})) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


def user(run: Path) -> subprocess.Popen[str]:
    program = USER.format(tests=str(Path(__file__).parents[1]), run=str(run))
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.integration
def test_it_ends_with_its_last_user_even_a_killed_one(tmp_path: Path) -> None:
    with user(tmp_path) as first, user(tmp_path) as second:
        assert first.stdout is not None
        assert second.stdout is not None
        url = first.stdout.readline()
        assert second.stdout.readline() == url
        registry = SchemaRegistry.open(tmp_path / "schema-registry")
        assert registry is not None
        first.kill()
        first.wait(DEADLINE)
        with shared_registry(tmp_path) as again:
            assert again == url.strip()
        assert registry.is_up
        second.kill()
    deadline = time.monotonic() + DEADLINE
    while registry.is_up:
        assert time.monotonic() < deadline, "the registry outlives its users"
        time.sleep(0.05)
