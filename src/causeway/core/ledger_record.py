"""The ledger's records: their keys, their encoding as versioned JSON.

Partition 0 is the control partition (`control_records.py`), partitions 1…n belong to one shard each
(`shard_records.py`, `position.py`). The topic is compacted, so each key keeps its newest record.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from causeway.core.control_records import (
    Adopted,
    CreatedTopic,
    Cut,
    Generation,
    Lease,
    NodeRequest,
    Paused,
    PoolMembers,
    RouteClaim,
)
from causeway.core.position import Position
from causeway.core.shard_records import (
    EVENTS_KEPT,
    Event,
    Gap,
    Heartbeat,
    Hidden,
    NodeMoved,
    NodeRequestDone,
    Stopped,
)

__all__ = [
    "CONTROL",
    "EVENTS_KEPT",
    "TEXT_BYTES",
    "VERSION",
    "Adopted",
    "CreatedTopic",
    "Cut",
    "Event",
    "Gap",
    "Generation",
    "Heartbeat",
    "Hidden",
    "Lease",
    "LedgerRecord",
    "NodeMoved",
    "NodeRequest",
    "NodeRequestDone",
    "Paused",
    "PoolMembers",
    "RouteClaim",
    "Stopped",
    "UnknownRecord",
    "decode",
    "encode",
    "shortened",
]

VERSION = 1
CONTROL = 0
TEXT_BYTES = 2_048


class UnknownRecord(ValueError):
    """A ledger record of a kind or version this program does not know."""


LedgerRecord = (
    Lease | Heartbeat | Generation | Cut | Paused | CreatedTopic | RouteClaim | Event
    | Stopped | Gap | Hidden | Adopted | PoolMembers | NodeRequest | NodeMoved | NodeRequestDone
    | Position
)  # fmt: skip

_KINDS: dict[str, type[Any]] = {
    kind.kind: kind
    for kind in (
        Lease,
        Heartbeat,
        Generation,
        Cut,
        Paused,
        CreatedTopic,
        RouteClaim,
        Event,
        Stopped,
        Gap,
        Hidden,
        Adopted,
        PoolMembers,
        NodeRequest,
        NodeMoved,
        NodeRequestDone,
    )
}

_WITH_TEXTS = (Event, Stopped, Gap, Cut, NodeMoved, NodeRequestDone)
_TEXTS = ("what", "todo", "why", "reason")


def shortened(text: str) -> str:
    """The text, cut to at most TEXT_BYTES bytes of JSON: the ledger rejects a record that is too large."""
    if len(text) * 12 <= TEXT_BYTES or len(json.dumps(text)) <= TEXT_BYTES:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(json.dumps(text[:middle])) < TEXT_BYTES - 20 else (low, middle - 1)
    return f"{text[:low]}… (cut)"


def encode(record: LedgerRecord) -> tuple[bytes, bytes]:
    """A record as key and value."""
    if isinstance(record, Position):
        source = record.source
        key = f"position|{source.cluster}|{source.topic}|{source.partition}"
        body = {"v": VERSION, "kind": "position", **record.to_json()}
    else:
        key = record.key()
        body = {"v": VERSION, "kind": record.kind, **asdict(record)}
        if isinstance(record, _WITH_TEXTS):
            body |= {name: shortened(body[name]) for name in _TEXTS if name in body}
        elif isinstance(record, Heartbeat) and not record.nodes:
            del body["nodes"]  # only mirrors of source pools have them
    return key.encode(), json.dumps(body, separators=(",", ":")).encode()


def decode(value: bytes) -> LedgerRecord:
    """The record in a ledger message's value.

    Raises UnknownRecord: a ledger that a newer Causeway wrote must not be understood only in part.
    """
    try:
        body = json.loads(value)
        version, kind = body.pop("v"), body.pop("kind")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise UnknownRecord(f"not a ledger record: {value[:80]!r}") from error
    if version != VERSION:
        raise UnknownRecord(f"ledger record of version {version}, this Causeway knows {VERSION}")
    try:
        if kind == "position":
            return Position.from_json(body)
        known = {field.name for field in fields(_KINDS[kind])}
        record: LedgerRecord = _KINDS[kind](**{name: body[name] for name in body if name in known})
    except (KeyError, TypeError, ValueError) as error:
        raise UnknownRecord(f"ledger record of kind {kind!r} that cannot be understood: {error!r}") from error
    return record
