"""What is known of schema ids, as arrays for the compiled loop (`schema_prefix.py`)."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np

from causeway.core.position import SourcePartition
from causeway.core.schema import SchemaUse
from causeway.kafka.native import schema_prefix
from causeway.kafka.native.schema_prefix import NO_SCOPE, SCHEMA_COLUMNS
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.schema_ids import REFUSED, SchemaIds
from causeway.rules.schema_ids import HEADER_NAMES

NO_SCOPES = (NO_SCOPE, NO_SCOPE)
_OF_PART = {"key": schema_prefix.KEY, "value": schema_prefix.VALUE}
_WORD = 8


class SchemaTable:
    def __init__(self, ids: SchemaIds | None) -> None:
        self._ids = ids
        self._topics: dict[tuple[str, str], int] = {}  # the number of each source topic
        self._changes = -1
        self._rows = np.zeros((0, SCHEMA_COLUMNS), np.int64)
        self._context = np.zeros(schema_prefix.CONTEXT_WORDS, np.int64)
        self._names = [np.frombuffer(name.encode() + b"\0", np.uint8) for name in HEADER_NAMES.values()]
        for part, name in zip(HEADER_NAMES, self._names, strict=True):
            self._context[(_OF_PART[part] + schema_prefix.HEADER) // _WORD] = name.ctypes.data

    def scopes(self, source: SourcePartition) -> tuple[int, int]:
        """The scopes of a topic's keys and values."""
        parts = self._ids.parts_of(source) if self._ids is not None else ()
        if not parts:
            return NO_SCOPES
        first = 4 * self._topics.setdefault((source.cluster, source.topic), len(self._topics))
        return first if "key" in parts else NO_SCOPE, first + 2 if "value" in parts else NO_SCOPE

    def context(self) -> Any:
        """What is known now, for the loop."""
        if self._ids is not None and self._ids.changes != self._changes:
            self._changes = self._ids.changes
            # Python refuses records with the others.
            rows = sorted(self._row(use, to) for use, to in self._ids.known.items() if to != REFUSED)
            self._rows = np.array(rows, np.int64).reshape(len(rows), SCHEMA_COLUMNS)
            self._context[schema_prefix.TABLE] = self._rows.ctypes.data
            self._context[schema_prefix.COUNT] = len(rows)
            for part in _OF_PART.values():
                self._context[(part + schema_prefix.LAST_ID) // _WORD] = 0  # it is looked up again
        return self._context

    def may_pass(self, state: PartitionState, message: Any) -> bool:
        return self._ids is None or self._ids.may_pass(state, message)

    def _row(self, use: SchemaUse, to: int) -> tuple[int, int, int, int]:
        topic = self._topics.setdefault((use.cluster, use.topic), len(self._topics))
        scope = 4 * topic + (2 if use.part == "value" else 0)
        if isinstance(use.id, int):
            return scope, 0, use.id, to
        number = uuid.UUID(use.id).int
        return scope + 1, _signed(number >> 64), _signed(number & (2**64 - 1)), to


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
