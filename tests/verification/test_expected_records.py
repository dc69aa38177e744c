"""Both sides as verify reads them: what filters and provenance drop is counted once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from causeway.core.choices import OnError
from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterSpec
from causeway.core.pair import Filtering, Pair
from causeway.core.position import Place, SourcePartition
from causeway.core.schema import SchemaUse
from causeway.kafka.digest_reader import PartitionReader
from causeway.rules.provenance import HEADER
from causeway.rules.timings import CONSUMED, PRODUCED
from causeway.verification.arrived_records import ArrivedRecords
from causeway.verification.expected_records import ExpectedRecords

CODE = """\
class Odd:
    def __init__(self, config): self.bad = config.get("bad", -1)
    def keep(self, record):
        if record.offset == self.bad: raise ValueError("bad")
        return record.offset % 2 == 1

class Low:
    def __init__(self, config): self.bad = config.get("bad", -1)
    def keep_all(self, records):
        if any(record.offset == self.bad for record in records): raise ValueError("bad")
        return [record.offset < 50 for record in records]
"""
HERE, THERE = Cluster("src", {"bootstrap.servers": "x:1"}), Cluster("dst", {"bootstrap.servers": "x:2"})
PAIR = Pair(SourcePartition("paris", "t", 0), 0, 40, 60, 60, Place("t", "id", 0), 0, 60, False, True)


class Message:
    unreadable = ""

    def __init__(self, offset: int, origin: str = "") -> None:
        self._offset = offset
        self._headers = [("a", b"1"), *([(HEADER, origin.encode())] if origin else [])]

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes:
        return f"k{self._offset % 3}".encode()

    def value(self) -> bytes:
        return b"v"

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000

    def headers(self) -> list[tuple[str, bytes]]:
        return self._headers


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """The records of a partition, read in batches of seven."""
    held = [Message(offset) for offset in range(60)]

    def read(self: PartitionReader, start: int) -> Iterator[list[Any]]:
        wanted = [message for message in held if message.offset() >= start]
        for at in range(0, len(wanted), 7):
            yield wanted[at : at + 7]

    monkeypatch.setattr(PartitionReader, "_messages", read)
    return held


def spec(name: str, on_error: OnError = "stop", **config: int) -> FilterSpec:
    return FilterSpec(f"f.py:{name}", config, on_error, CODE)


def offsets(side: PartitionReader, start: int = 0) -> list[int]:
    return [offset for batch, _ in side.digests(start) for offset in batch]


def expected(*filters: FilterSpec, not_back_to: str | None = None, pair: Pair = PAIR) -> ExpectedRecords:
    return ExpectedRecords(HERE, pair, Filtering(filters, not_back_to))


def test_a_record_passes_only_if_all_filters_keep_it_and_drops_are_counted_once(log: list[Message]) -> None:
    side = expected(spec("Odd"), spec("Low"))

    assert offsets(side) == offsets(side) == list(range(1, 50, 2))
    assert offsets(side, 30) == list(range(31, 50, 2))
    assert side.filtered.count == 20  # below the position, at 40
    assert side.stopped_at is None


def test_without_filters_records_are_unchanged(log: list[Message]) -> None:
    assert offsets(expected()) == list(range(60))


def test_a_filter_that_raises_stops_there_and_the_rest_is_not_filtered(log: list[Message]) -> None:
    side = expected(spec("Low", bad=20), spec("Odd", bad=18))

    assert offsets(side) == [*range(1, 18, 2), *range(18, 60)]
    assert side.stopped_at is not None
    assert side.stopped_at[0] == 18
    assert side.filtered.count == 9
    assert side.notes(PAIR)[0].startswith("not replicated from offset 18 on: filter f.py:Odd raised")


@pytest.mark.parametrize(("policy", "extra"), [("keep", [20]), ("drop", [])])
def test_a_filter_that_raises_may_keep_or_drop(log: list[Message], policy: OnError, extra: list[int]) -> None:
    side = expected(spec("Odd", policy, bad=20))

    assert offsets(side) == sorted([*range(1, 60, 2), *extra])
    assert side.stopped_at is None


def test_records_from_the_destination_are_dropped_and_others_marked(log: list[Message]) -> None:
    log[3], log[4] = Message(3, "tokyo"), Message(4, "lyon")
    side = expected(not_back_to="tokyo")

    assert offsets(side) == [0, 1, 2, *range(4, 60)]
    assert side.filtered.count == 1
    for offset, origin in ((0, b"paris"), (4, b"lyon")):
        record = side.record_at(offset)
        assert record is not None
        assert record[2] == [("a", b"1"), (HEADER, origin)]


def test_times_in_headers_are_not_compared(log: list[Message]) -> None:
    """Those of an earlier hop are at the source too, and were replaced."""
    for message in log:
        message._headers += [(CONSUMED, b"1"), ("b", b"2"), (PRODUCED, b"3")]
    how: dict[str, Any] = {"timestamps": True, "compacted": False}
    for timed in (True, False):
        filtering = Filtering(times=timed)
        side = ArrivedRecords(THERE, ("t", 0), 60, filtering, **how)
        for reader in (side, ExpectedRecords(HERE, PAIR, filtering)):
            record = reader.record_at(0)
            assert record is not None
            names = [name for name, _ in record[2]]
            assert names == (["a", "b"] if timed else ["a", CONSUMED, "b", PRODUCED])
            assert offsets(reader) == list(range(60))


def test_a_record_without_a_mark_is_the_destinations_own(log: list[Message]) -> None:
    log[:] = [Message(offset, "paris" if offset % 4 else "") for offset in range(60)]
    how: dict[str, Any] = {"timestamps": True, "compacted": True}
    side = ArrivedRecords(THERE, ("t", 0), 60, Filtering((), "tokyo"), **how)

    assert offsets(side) == [offset for offset in range(60) if offset % 4]
    assert side.unmarked.count == 15
    assert len(set(side.unmarked.keys)) == 3
    assert side.notes() == ["not compared: 15 records of the destination itself (no mark of origin)"]
    assert offsets(ArrivedRecords(THERE, ("t", 0), 60, Filtering(), **how)) == list(range(60))


@pytest.mark.parametrize(
    ("counted", "trimmed", "noted"),
    [(20, False, False), (19, False, True), (21, False, True), (21, True, False), (19, True, True)],
)
def test_changed_filters_are_detected(log: list[Message], counted: int, trimmed: bool, noted: bool) -> None:
    pair = Pair(
        SourcePartition("paris", "t", 0), 0, 40, 60, 60, Place("t", "id", 0), 0, 60, False, True,
        source_trimmed=trimmed, ledger_counts={"filtered": counted},
    )  # fmt: skip
    side = expected(spec("Odd"), pair=pair)
    offsets(side)

    assert bool(side.notes(pair)) == noted


def test_ids_of_schemas_are_compared_by_the_map(log: list[Message], monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters see the source's ids; the comparison sees those that the mirror wrote, in both formats."""
    monkeypatch.setattr(Message, "value", lambda self: b"\0\0\0\0\7x" if self.offset() % 2 else b"v")
    log[0]._headers.append(("__key_schema_id", b"\0\0\0\0\10"))
    mapped = {SchemaUse("paris", "t", "value", 7): 300, SchemaUse("paris", "t", "key", 8): 9}
    mapped[SchemaUse("paris", "other", "value", 7)] = 1
    reader = ExpectedRecords(HERE, PAIR, Filtering(schemas=mapped))
    read = [message for messages in reader._messages(0) for message in messages]
    assert [message.value() for message in read[:2]] == [b"v", b"\0\0\0\1\x2cx"]
    assert read[0].headers()[-1] == ("__key_schema_id", b"\0\0\0\0\x09")
    assert [message.offset() for message in read] == list(range(60))
    assert read[1].timestamp() == log[1].timestamp()
