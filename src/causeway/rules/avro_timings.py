"""Avro records with times in them, as Go MirrorMaker wrote them for `--timings.producer.config`. Pure.

Its `logline.avsc` has fields that each record gets: `timings`, a map of times by name, and others that stay
null. Avro encodes a record's fields one after the other, in the order of its schema. So new fields at the end
of the schema are new bytes at the end of the value, which is not decoded:

    schema   orders { id, item }              →   orders { id, item, line, timings }
    value    id item                          →   id item │ null │ {"consumed": 1769846401101}

Where the schema has `timings` already, from an earlier hop, its bytes are replaced by those of both. Every
value is walked through by its schema: one that does not end where its schema does is not of this schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from causeway.rules.avro import AvroType, AvroValues, checked, part, read_long, written

TIMINGS = "timings"


class NotTimeable(Exception):
    """Why a schema, or a value, cannot get times."""


@dataclass(frozen=True, slots=True)
class TimedSchema:
    """A record's schema with the fields of `logline.avsc`."""

    text: str  # JSON, to be registered
    name: str  # the record's full name
    _values: AvroValues
    _fields: tuple[tuple[str, AvroType], ...]  # of the schema before
    _added: tuple[tuple[str, AvroType], ...]

    @staticmethod
    def of(schema: str, logline: str) -> TimedSchema:
        """Raises NotTimeable where the schema is no record, or its `timings` is no map of longs."""
        before, more = _record(schema, "the schema"), _record(logline, "logline.avsc")
        values = AvroValues(before)
        own = {field["name"]: field["type"] for field in before["fields"]}
        added = [field for field in more["fields"] if field["name"] not in own]
        if TIMINGS not in own and not any(field["name"] == TIMINGS for field in added):
            raise NotTimeable(f"neither logline.avsc nor {values.name} has a field `{TIMINGS}`")
        for field in [*([{"name": TIMINGS, "type": own[TIMINGS]}] if TIMINGS in own else []), *added]:
            if field["name"] == TIMINGS:
                _branch(field["type"], _is_map_of_longs, f"field `{TIMINGS}` is no map of longs")
            else:
                _branch(field["type"], lambda each: each == "null", f"field `{field['name']}` cannot be null")
        merged = {**before, "fields": [*before["fields"], *added]}
        return TimedSchema(
            json.dumps(merged, separators=(",", ":")),
            values.name,
            values,
            tuple(own.items()),
            tuple((field["name"], field["type"]) for field in added),
        )

    def with_times(self, value: bytes, times: Mapping[str, int]) -> bytes:
        """The value in the merged schema; times of the same name replace those that it has.

        Raises NotTimeable where it is no value of the schema.
        """
        try:
            return self._with_times(value, times)
        except (IndexError, KeyError, RecursionError, TypeError, UnicodeDecodeError):
            raise NotTimeable(f"it is no value of {self.name}") from None

    def _with_times(self, value: bytes, times: Mapping[str, int]) -> bytes:
        at, begin, end, known = 0, 0, 0, dict[str, int]()
        for name, kind in self._fields:
            start, at = at, self._values.after(kind, value, at)
            if name == TIMINGS:
                begin, end, known = start, at, self._times(kind, value, start)
        if at != len(value):
            raise IndexError
        own = dict(self._fields)
        if TIMINGS in own:
            value = value[:begin] + _map(own[TIMINGS], {**known, **times}) + value[end:]
        return value + b"".join(
            _map(kind, times) if name == TIMINGS else _index(kind, lambda each: each == "null")
            for name, kind in self._added
        )

    def _times(self, kind: AvroType, data: bytes, at: int) -> dict[str, int]:
        """The times at this offset; none where there is no map."""
        if isinstance(kind, list):
            index, at = read_long(data, at)
            if not _is_map_of_longs(kind[checked(index, len(kind))]):
                return {}
        times: dict[str, int] = {}
        count, at = read_long(data, at)
        while count:
            if count < 0:
                _, at = read_long(data, at)  # bytes of the block
            for _ in range(abs(count)):
                size, at = read_long(data, at)
                name = part(data, at, size).decode()
                times[name], at = read_long(data, at + size)
            count, at = read_long(data, at)
        return times


def _record(text: str, what: str) -> dict[str, Any]:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotTimeable(f"{what} is no JSON: {error}") from None
    fields = schema.get("fields") if isinstance(schema, dict) and schema.get("type") == "record" else None
    if not isinstance(fields, list) or "name" not in schema:
        raise NotTimeable(f"{what} is no record")
    if not all(isinstance(field, dict) and {"name", "type"} <= field.keys() for field in fields):
        raise NotTimeable(f"{what} has a field without a name or a type")
    return dict(schema)


def _is_map_of_longs(kind: AvroType) -> bool:
    return isinstance(kind, dict) and kind.get("type") == "map" and kind.get("values") == "long"


def _branch(kind: AvroType, wanted: Callable[[AvroType], bool], why: str) -> int:
    """Which branch of a union is the wanted one; -1 where the type itself is."""
    if not isinstance(kind, list) and wanted(kind):
        return -1
    found = [number for number, each in enumerate(kind) if wanted(each)] if isinstance(kind, list) else []
    if not found:
        raise NotTimeable(why)
    return found[0]


def _index(kind: AvroType, wanted: Callable[[AvroType], bool]) -> bytes:
    branch = _branch(kind, wanted, "")
    return b"" if branch < 0 else written(branch)


def _map(kind: AvroType, times: Mapping[str, int]) -> bytes:
    """A map of longs, in one block."""
    parts = [_index(kind, _is_map_of_longs)]
    if times:
        parts.append(written(len(times)))
    for name, time in times.items():
        encoded = name.encode()
        parts += (written(len(encoded)), encoded, written(time))
    return b"".join([*parts, b"\0"])
