"""A log's files are read and cut as brokers write them."""

from __future__ import annotations

import struct
from pathlib import Path

from faults.logs import Batch, Where, batches, cut_after_a_commit, flip


def batch(first: int, records: int, *, control: bool = False, size: int = 10) -> bytes:
    """The fields that matter, at their places; the rest is anything."""
    attributes = 0x30 if control else 0x10
    body = struct.pack(">ibIhi", 0, 2, 0, attributes, records - 1) + b"x" * (34 + size)
    return struct.pack(">qi", first, len(body)) + body


LOG = [
    batch(0, 3), batch(3, 1, control=True), batch(4, 5, size=300), batch(9, 1, control=True), batch(10, 2),
    batch(12, 1, control=True),
]  # fmt: skip


def test_batches_are_found_up_to_the_last_whole_one() -> None:
    found = list(batches(b"".join(LOG) + LOG[0][:-1]))
    assert [(one.first, one.last, one.control) for one in found] == [
        (0, 2, False), (3, 3, True), (4, 8, False), (9, 9, True), (10, 11, False), (12, 12, True),
    ]  # fmt: skip
    assert found[0] == Batch(0, 2, False, len(LOG[0]))
    assert found[-1].end == len(b"".join(LOG))


def test_a_log_is_cut_after_a_marker_and_its_indexes_are_removed(tmp_path: Path) -> None:
    (tmp_path / "0.log").write_bytes(b"".join(LOG))
    for name in ("0.index", "0.timeindex", "10.snapshot", "leader-epoch-checkpoint"):
        (tmp_path / name).touch()
    assert cut_after_a_commit(tmp_path) == 10
    assert (tmp_path / "0.log").read_bytes() == b"".join(LOG[:4])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.log", "leader-epoch-checkpoint"]


def test_one_bit_of_a_batch_is_turned_and_turned_back(tmp_path: Path) -> None:
    file = tmp_path / "0.log"
    file.write_bytes(whole := b"".join(LOG))
    turns: list[tuple[int, Where, range]] = [
        (2, "records", range(61, len(LOG[2]))), (0, "checksum", range(17, 21)),
    ]  # fmt: skip
    for number, where, within in turns:
        batch = flip(tmp_path, number, where)
        assert (batch.first, batch.last) == ((4, 8) if number else (0, 2))
        begin = len(b"".join(LOG[:number]))
        pairs = enumerate(zip(file.read_bytes(), whole, strict=True))
        (at,) = [at for at, (now, then) in pairs if now != then]
        assert at - begin in within
        assert flip(tmp_path, number, where) == batch
        assert file.read_bytes() == whole
