"""A comparison that the page starts gets the configuration, and leaves no file that has a secret in it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from causeway.cli import child
from causeway.cli.verify_jobs import Comparisons
from causeway.config import load_text
from support.canaries import MARK, everything_below, found_in
from support.process import eventually

READS = """
import pathlib, sys, tomllib
tables = tomllib.loads(pathlib.Path(sys.argv[2]).read_text())
print("password:", hash(tables["clusters"]["a"]["properties"]["sasl.password"]) != hash("***"))
print(sys.argv[1], *sys.argv[3:])
"""
CONFIG = f"""
[clusters.a]
bootstrap_servers = "a:1"
properties = {{ "sasl.password" = "{MARK}" }}
[clusters.b]
bootstrap_servers = "b:1"
[web]
token = "{MARK}"
[[mirrors]]
name = "m"
source = "a"
destination = "b"
topics = ["t"]
"""


def test_the_configuration_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(child, "COMMAND", [sys.executable, "-c", READS])
    comparisons = Comparisons(load_text(CONFIG))
    try:
        job_id = comparisons.start("m", wait=True)

        def ended() -> bool:
            job = comparisons.job(job_id)
            return job is not None and job.state != "running"

        eventually(ended, "the comparison has ended")
        job = comparisons.job(job_id)
        assert job is not None
        assert job.lines == ("password: True", "verify --mirror m --wait --timeout 10m")
        files = everything_below(tmp_path)
        assert [Path(name).suffix for name in files] == [".log"]
        assert not any(map(found_in, files.values()))
    finally:
        comparisons.close()
    assert everything_below(tmp_path) == {}
