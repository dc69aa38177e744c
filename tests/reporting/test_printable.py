"""What comes from filters, brokers and ledgers must not steer a terminal, nor make more lines than one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.filtering import FilterRecord, FilterSpec
from causeway.core.position import Place, SourcePartition
from causeway.core.snapshot import EventView
from causeway.core.verify_report import Findings, PartitionVerdict, VerifyReport
from causeway.errors import CausewayError, ConfigError
from causeway.planning.filters import make
from causeway.printable import printable
from causeway.reporting import lines
from causeway.reporting.verify_report import verdict_lines

HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\r\x9b31mc\nd\u202ee\udcff"
SHOWN = r"a\x1b[2J\x1b]0;owned\x07b \x9b31mc d\u202ee\udcff"


@given(st.text())
def test_whatever_comes_is_one_line_that_can_be_printed(text: str) -> None:
    found = printable(text)
    assert found.isprintable()
    assert found.encode().decode() == found
    if text.isprintable():
        assert printable(text) == text


def test_errors_and_events() -> None:
    error = CausewayError(HOSTILE, where=HOSTILE, why=HOSTILE, todo=HOSTILE)
    assert error.lines() == [f"{label}: {SHOWN}" for label in ("error", "where", "why", "do")]
    assert all(line.isprintable() for line in ConfigError("x", problems=(HOSTILE,)).lines())
    event = EventView(1, "error", HOSTILE, HOSTILE)
    assert lines.plain("m", event) == f"error: m: {SHOWN}; {SHOWN}"


def test_objects_say_the_same_as_before() -> None:
    said = lines.structured("m", EventView(1, "error", HOSTILE))
    assert said.isprintable()
    assert json.loads(said)["what"] == HOSTILE


def test_what_verify_says_of_a_filter() -> None:
    source = SourcePartition("c", "t", 0)
    partition = PartitionVerdict(source, Place("t", "id", 0), Findings(), notes=(f"it raised: {HOSTILE}",))
    report = VerifyReport("m", ("a",), "b", 0, 0.0, (partition,), (HOSTILE,), {"c": "a"})
    assert verdict_lines(report) == [f"t[0]: it raised: {SHOWN}", SHOWN]


@pytest.mark.parametrize("what", ["ValueError", "SystemExit"])
def test_what_a_filter_raises_is_harmless_from_the_start(what: str) -> None:
    """It goes into the ledger, to the page and into the API as well."""
    code = f"""
class Filter:
    def __init__(self, config): pass
    def keep(self, record): raise {what}({HOSTILE!r})
"""
    made = make(FilterSpec("f.py:Filter", {}, "stop", code))
    (said,) = made.judge([FilterRecord("t", 0, 0, 1, None, None, ())])
    assert isinstance(said, str)
    assert said.startswith(f"{what}: {SHOWN}")
    assert Path("f.py").name in said
