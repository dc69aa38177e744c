"""The files of a partition whose broker is stopped: one record batch after the other."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

_CONTROL = 0x20
_CHECKSUM, _RECORDS = 17, 61  # where they are in a batch


Where = Literal["records", "checksum"]


class Batch(NamedTuple):
    first: int  # offset of its first record
    last: int
    control: bool  # a transaction marker
    end: int  # where the next one begins in the file


def batches(data: bytes) -> Iterator[Batch]:
    at = 0
    while at + 61 <= len(data):
        first, length = struct.unpack_from(">qi", data, at)
        attributes, delta = struct.unpack_from(">hi", data, at + 21)
        at += 12 + length
        if length <= 0 or at > len(data):
            return
        yield Batch(first, first + delta, bool(attributes & _CONTROL), at)


def cut_after_a_commit(partition: Path) -> int:
    """Remove the second half of a log, as if it had never reached the disk; returns its new end.

    It ends after a marker: half a transaction would block every reader for ever.
    """
    (segment,) = partition.glob("*.log")
    data = segment.read_bytes()
    found = list(batches(data))
    middle = next(one for one in found if one.control and one.end > len(data) / 2)
    assert middle != found[-1], "nothing is left to take away"
    with segment.open("r+b") as file:
        file.truncate(middle.end)
    for kind in ("*.snapshot", "*.index", "*.timeindex", "*.txnindex"):
        for path in partition.glob(kind):
            path.unlink()
    return middle.last + 1


def cut_before(partition: Path, offset: int) -> None:
    """Remove everything from an offset on, as if it had never reached the disk; a batch begins there."""
    segment, data = _only_segment(partition)
    keep = max((batch.end for batch in batches(data) if batch.last < offset), default=0)
    _write(partition, segment, data[:keep])


def take_out(partition: Path, first: int, last: int) -> None:
    """Remove batches from the middle of a log, as a lost segment or compaction does."""
    segment, data = _only_segment(partition)
    kept, begin, taken = b"", 0, []
    for batch in batches(data):
        if first <= batch.first and batch.last <= last:
            taken.append(batch)
        else:
            kept += data[begin : batch.end]
        begin = batch.end
    assert taken, "no batch lies there"
    assert (taken[0].first, taken[-1].last) == (first, last), "batches do not end there"
    _write(partition, segment, kept)


def _only_segment(partition: Path) -> tuple[Path, bytes]:
    (segment,) = partition.glob("*.log")
    return segment, segment.read_bytes()


def _write(partition: Path, segment: Path, data: bytes) -> None:
    segment.write_bytes(data)
    for kind in ("*.snapshot", "*.index", "*.timeindex", "*.txnindex"):
        for path in partition.glob(kind):
            path.unlink()


def flip(partition: Path, number: int, where: Where) -> Batch:
    """Flip one bit in a batch, as a disk does; a second call restores it. The broker may be running."""
    (segment,) = partition.glob("*.log")
    data = segment.read_bytes()
    found = list(batches(data))
    batch, begin = found[number], found[number - 1].end if number else 0
    at = begin + _CHECKSUM if where == "checksum" else (begin + _RECORDS + batch.end) // 2
    with segment.open("r+b") as file:
        file.seek(at)
        file.write(bytes([data[at] ^ 0x10]))
    return batch
