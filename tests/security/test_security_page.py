"""SECURITY.md names tests for each of its promises: they exist, each in the file where it is said to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]*test_\w+\.py)(?:::(\w+))?`", PAGE)))


def test_every_promise_is_numbered_and_names_a_proof() -> None:
    assert [int(row.split("|")[1]) for row in ROWS] == list(range(1, len(ROWS) + 1))
    assert len(ROWS) >= 20
    for row in ROWS:
        *_, proof = row.rstrip("| ").split("|")
        assert re.search(r"`tests/[\w/]+\.py", proof), row


def test_rows_that_are_referred_to_exist() -> None:
    named = re.findall(r"rows? (\d+)(?: and (\d+))?", PAGE)
    assert named
    assert {int(number) for pair in named for number in pair if number} <= set(range(1, len(ROWS) + 1))


@pytest.mark.parametrize(("file", "test"), NAMED, ids=["::".join(filter(None, named)) for named in NAMED])
def test_a_proof_exists(file: str, test: str) -> None:
    assert re.search(rf"^ *def {test or 'test_'}", (ROOT / file).read_text(), re.MULTILINE)
