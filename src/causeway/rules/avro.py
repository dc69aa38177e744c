"""Walks through Avro values by their schema, without decoding them, and writes numbers. Pure.

IndexError, KeyError or RecursionError: the bytes are no value of the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

AvroType = Any
"""A type as JSON has it: a name, a list of types (a union), or an object."""
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_VARIABLE = ("bytes", "string")
_NUMBERS = ("int", "long")
_LONGEST_NUMBER = 10  # bytes of a 64-bit varint


class AvroValues:
    """Values of a record's fields."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.namespace, self.name = full_name(record, "")
        self._types: dict[str, AvroType] = {}  # named types, by their full names
        _collect(record, "", self._types)

    def after(self, kind: AvroType, data: bytes, at: int) -> int:
        """The offset after a value of this type, which a field of the record has."""
        return self._skip(kind, self.namespace, data, at)

    def _skip(self, kind: AvroType, namespace: str, data: bytes, at: int) -> int:
        """The offset after a value of this type. Raises IndexError or KeyError where there is none."""
        if isinstance(kind, list):
            index, at = read_long(data, at)
            return self._skip(kind[checked(index, len(kind))], namespace, data, at)
        if isinstance(kind, str):
            return self._skip_named(kind, namespace, data, at)
        what = kind["type"]
        if what in ("record", "error"):
            inner, _ = full_name(kind, namespace)
            for field in kind["fields"]:
                at = self._skip(field["type"], inner, data, at)
            return at
        if what == "enum":
            index, at = read_long(data, at)
            checked(index, len(kind["symbols"]))
            return at
        if what == "fixed":
            return at + len(part(data, at, kind["size"]))
        if what in ("array", "map"):
            return self._skip_blocks(kind, namespace, data, at)
        return self._skip(what, namespace, data, at)  # with a logical type, or nested

    def _skip_named(self, name: str, namespace: str, data: bytes, at: int) -> int:
        if name in _SIZES:
            return at + len(part(data, at, _SIZES[name]))
        if name in _NUMBERS:
            return read_long(data, at)[1]
        if name in _VARIABLE:
            size, at = read_long(data, at)
            return at + len(part(data, at, size))
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        full = full if full in self._types else name
        return self._skip(self._types[full], _space_of(full), data, at)

    def _skip_blocks(self, kind: AvroType, namespace: str, data: bytes, at: int) -> int:
        count, at = read_long(data, at)
        while count:
            if count < 0:
                size, at = read_long(data, at)
                at += len(part(data, at, size))
            else:
                if count > len(data):
                    raise IndexError  # not even as many bytes
                for _ in range(count):
                    if kind["type"] == "map":
                        at = self._skip("string", namespace, data, at)
                    at = self._skip(kind.get("items", kind.get("values")), namespace, data, at)
            count, at = read_long(data, at)
        return at


def full_name(kind: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """The namespace and the full name of a named type inside this namespace."""
    name = str(kind["name"])
    if "." in name:
        return _space_of(name), name
    inside = str(kind.get("namespace", namespace))
    return inside, f"{inside}.{name}" if inside else name


def _space_of(full: str) -> str:
    return full.rpartition(".")[0]


def _collect(kind: AvroType, namespace: str, types: dict[str, AvroType]) -> None:
    """Add the named types that are defined in this one."""
    if isinstance(kind, list):
        for each in kind:
            _collect(each, namespace, types)
    elif isinstance(kind, dict):
        if "name" in kind:
            namespace, full = full_name(kind, namespace)
            types[full] = kind
        for field in kind.get("fields", ()):
            _collect(field["type"], namespace, types)
        for inner in ("items", "values", "type"):
            if isinstance(kind.get(inner), list | dict):
                _collect(kind[inner], namespace, types)


def written(number: int) -> bytes:
    """A long: zigzag, seven bits a byte, the lowest first."""
    rest = (number << 1) ^ (number >> 63)
    parts = bytearray()
    while rest > 0x7F:
        parts.append(rest & 0x7F | 0x80)
        rest >>= 7
    parts.append(rest)
    return bytes(parts)


def read_long(data: bytes, at: int) -> tuple[int, int]:
    """The long at this offset, and the offset after it."""
    number = 0
    for step in range(_LONGEST_NUMBER):
        byte = data[at + step]
        number |= (byte & 0x7F) << 7 * step
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + step + 1
    raise IndexError


def part(data: bytes, at: int, size: int) -> bytes:
    if size < 0 or at + size > len(data):
        raise IndexError
    return data[at : at + size]


def checked(index: int, count: int) -> int:
    if not 0 <= index < count:
        raise IndexError
    return index
