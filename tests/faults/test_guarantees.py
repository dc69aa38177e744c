"""GUARANTEES.md names tests: they exist, each in the file where it is said to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "GUARANTEES.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:tests/)?[\w/]*test_\w+\.py)(?:::(\w+))?`", PAGE)))


def test_every_promise_names_a_proof() -> None:
    promises = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(promises) >= 10
    for line in promises:
        proof = line.rstrip("| ").rpartition("|")[2]
        assert "test" in proof, line


@pytest.mark.parametrize(("file", "test"), NAMED, ids=["::".join(filter(None, one)) for one in NAMED])
def test_a_proof_exists(file: str, test: str) -> None:
    path = ROOT / file if file.startswith("tests/") else ROOT / "tests/faults" / file
    assert path.exists()
    assert not test or f"def {test}(" in path.read_text()
