"""Ledger and offset map records of an earlier version are decoded, and encoded, as they were."""

from __future__ import annotations

import json

import pytest

from causeway.core.ledger_record import decode, encode
from causeway.core.position import Position
from causeway.kafka.offset_map import decode_entry
from causeway.rules.sharding import shard_of
from support.earlier_ledger import EarlierLedger, EarlierRecord, earlier_ledgers

EARLIER = earlier_ledgers()
KINDS = {
    "lease", "heartbeat", "generation", "cut", "paused", "topic", "claim", "event", "stopped", "gap",
    "hidden", "adopted", "position",
}  # fmt: skip
"""The kinds that the first kept version wrote. A later version may have more, never fewer."""

versions = pytest.mark.parametrize("ledger", EARLIER.values(), ids=EARLIER)


def test_an_earlier_version_is_kept() -> None:
    assert EARLIER


@versions
def test_every_kind_of_record_is_kept(ledger: EarlierLedger) -> None:
    kinds = {json.loads(row.value)["kind"] for row in ledger.of("example")}
    assert kinds >= KINDS
    assert {json.loads(row.value)["kind"] for row in ledger.of("ledger")} <= kinds


@versions
def test_every_ledger_record_is_decoded_and_encoded_byte_for_byte(ledger: EarlierLedger) -> None:
    for row in [*ledger.of("example"), *ledger.of("ledger")]:
        key, value = encode(decode(row.value.encode()))
        assert EarlierRecord(row.log, row.partition, key.decode(), value.decode()) == row


@versions
def test_each_partition_belongs_to_the_same_shard_as_then(ledger: EarlierLedger) -> None:
    """Another shard would not find its positions."""
    homes = {
        record.source: row.partition
        for row in ledger.of("ledger")
        if isinstance(record := decode(row.value.encode()), Position)
    }
    assert homes == {
        ledger.source(number): shard_of(ledger.source(number), ledger.shards)
        for number in range(ledger.partitions)
    }


@versions
def test_every_entry_of_the_offset_map_is_read(ledger: EarlierLedger) -> None:
    ends = {}
    for row in ledger.of("offset_map"):
        entry = decode_entry(row.key.encode(), row.value.encode())
        assert entry.topic_id == ledger.ids["topic_id"]
        ends[entry.source] = (entry.end, entry.place, entry.place_end)
    assert ends == {
        ledger.source(number): (
            ledger.records, (ledger.topic, number), ledger.records,
        )
        for number in range(ledger.partitions)
    }  # fmt: skip
