"""What was written to a source pool and what the destination has, for the checker of the fault tests.

The writer is the source: every record has the offset at which it was written to its partition. Nodes are not
read, since a test may have killed them, or left them without records. The number in a record's value
identifies it, whatever a program changes in the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from faults.arrivals import number_in
from faults.checker import check
from faults.content import Content, content
from faults.events import DeliveryReport, Drained, Route, Seen, Sent, Side, Terms
from faults.history import History
from faults.invariant_result import Report
from support.records import Rec, read_offsets

OffsetRecords = Mapping[int, Sequence[tuple[int, Rec]]]


def judge(directory: Path, servers: str, topic: str, written: Iterable[tuple[int, Rec]]) -> Report:
    """Read the destination to its end, and hold it to: every record, once, in order, in its place, unchanged.

    Keeps the history and the verdict in the directory.
    """
    found = history(topic, written, read_offsets(servers, topic, seconds=60))
    found.write(directory / "history.jsonl")
    report = check(found)
    (directory / "verdict.txt").write_text(f"{report}\n")
    return report


def history(topic: str, written: Iterable[tuple[int, Rec]], arrived: OffsetRecords) -> History:
    source: dict[int, list[tuple[int, Rec]]] = {partition: [] for partition in arrived}
    for partition, rec in written:
        records = source.setdefault(partition, [])
        records.append((len(records), rec))
    read = _read("source", topic, source), _read("destination", topic, arrived)
    return History([Terms(), Route(topic, topic), *_sent(topic, source), *read[0], *read[1]])


def _sent(topic: str, partitions: OffsetRecords) -> Iterator[Sent | DeliveryReport]:
    for partition, records in partitions.items():
        for offset, rec in records:
            yield Sent(0, _token(rec), topic, partition, _content(rec))
            yield DeliveryReport(0, _token(rec), "ok", offset)


def _read(side: Side, topic: str, partitions: OffsetRecords) -> Iterator[Seen | Drained]:
    at = 1 if side == "destination" else 0
    for partition, records in partitions.items():
        for offset, rec in records:
            yield Seen(at, side, topic, partition, offset, _token(rec), _content(rec))
        yield Drained(at, at, side, topic, partition, 0, records[-1][0] + 1 if records else 0)


def _token(rec: Rec) -> str:
    return str(number_in(rec.value or b""))


def _content(rec: Rec) -> Content:
    return content(rec.key, rec.value, rec.headers, rec.timestamp)
