"""Names and reasons from outside reach a terminal as text: no markup, no escape sequence, no second line."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from rich.console import Console, RenderableType

from causeway.core.ledger_record import Stopped
from causeway.core.offsets import OffsetsReport, PartitionOffsets
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.progress import MirrorProgress, TopicProgress
from causeway.core.snapshot import EventView
from causeway.printable import printable
from causeway.reporting import lines
from causeway.reporting.offsets import offsets_table
from causeway.reporting.table import table
from support.hostile import NASTY, TEXTS


def printed(shown: RenderableType) -> str:
    """As a very wide terminal without colours shows it."""
    output = io.StringIO()
    Console(file=output, width=100_000, color_system=None, force_terminal=False).print(shown)
    return output.getvalue()


def check(text: str) -> None:
    topic = TopicProgress(text, 0, 0, 0.0, 0.0, 0, 0.0, 0.0, stopped=1, quarantined=2)
    live = printed(table([MirrorProgress("m", "running", (topic,), 1)]))
    source = SourcePartition("id", text, 0)
    position = Position(source, "id", 0, 1, -1, Place(text, "id", 0), 0, 0, 1, 0)
    stopped = Stopped(*source, verdict=text, what=text, todo=text, at=0)
    offsets = printed(
        offsets_table(OffsetsReport("m", ("a",), "b", (PartitionOffsets(position),), stopped=(stopped,)))
    )
    for output, rows in ((live, 2), (offsets, 2)):
        assert output.replace("\n", "").isprintable()
        assert len(output.splitlines()) == rows
        assert printable(text).strip() in output
    event = EventView(0, "error", text, text, topic=text)
    assert lines.plain("m", event).isprintable()
    assert lines.structured("m", event).isprintable()


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_these(text: str) -> None:
    check(text)


@settings(max_examples=100)
@given(NASTY)
def test_any(text: str) -> None:
    check(text)
