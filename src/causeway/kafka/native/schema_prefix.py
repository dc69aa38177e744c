"""Ids of schemas, for the compiled loop: found in a message, looked up, and replaced in place.

A message's memory belongs to the consumer alone, and the producer copies it. So four bytes are replaced where
they are, and put back where the message could not be produced. `context` is the address of these words:

    TABLE, COUNT   a row of four words for each known id, sorted: scope, high and low part of the id or GUID,
                   the id to write
    of each part   AT, OLD, NEW: the address of the id in the message at hand, the id there, the id to write
                   HEADER: the address of the header's name · LAST_…: what was looked up last

A scope is a part of a topic's records: 4 times its number, plus 2 for values, plus 1 for GUIDs. Addresses are
passed and no arrays: counting an array's references costs more than all of this.
"""

from __future__ import annotations

from typing import Any

from numba import types

from causeway.kafka.native.compiling import INT, compiled, header_last, load8, load32, load64, store8, store64

SCHEMA_COLUMNS = 4
TABLE, COUNT, FIRST_PART = range(3)
AT, OLD, NEW, HEADER, LAST_SCOPE, LAST_ID, LAST_TO = (8 * word for word in range(7))
PART_WORDS = 7
CONTEXT_WORDS = FIRST_PART + 2 * PART_WORDS
KEY, VALUE = (8 * (FIRST_PART + PART_WORDS * part) for part in range(2))  # bytes from the context's address
UNKNOWN = -1
NO_SCOPE = -1
_PREFIX_BYTES, _GUID_BYTES = 5, 17


@compiled(INT)
def _load_big32(address: int) -> Any:
    """Four bytes, big-endian, at any address."""
    number = types.int64(load32(address))
    return (
        ((number & 0xFF) << 24)
        | ((number & 0xFF00) << 8)
        | ((number >> 8) & 0xFF00)
        | ((number >> 24) & 0xFF)
    )


@compiled(INT)
def _load_big64(address: int) -> Any:
    return (_load_big32(address) << 32) | _load_big32(address + 4)


@compiled(INT, INT)
def _store_big32(address: int, number: int) -> Any:
    for index in range(4):
        store8(address + index, types.uint8((number >> (24 - 8 * index)) & 0xFF))
    return 0


@compiled(INT, INT, INT, INT)
def _find(context: int, scope: int, high: int, low: int) -> Any:
    """What to write instead: an id, or 0 to leave it. UNKNOWN if there is no such row."""
    table = load64(context + 8 * TABLE)
    begin, end = types.int64(0), load64(context + 8 * COUNT)
    while begin < end:
        middle = (begin + end) // 2
        row = table + 8 * SCHEMA_COLUMNS * middle
        its_scope, its_high, its_low = load64(row), load64(row + 8), load64(row + 16)
        if its_scope == scope and its_high == high and its_low == low:
            return load64(row + 24)
        if its_scope < scope or (
            its_scope == scope and (its_high < high or (its_high == high and its_low < low))
        ):
            begin = middle + 1
        else:
            end = middle
    return UNKNOWN


@compiled(INT, INT, INT, INT, INT)
def _note_id(context: int, part: int, scope: int, data: int, size: int) -> Any:
    """Note what to write over an id after a zero byte, if there is one. UNKNOWN if it is not known."""
    if data == 0 or size < _PREFIX_BYTES or load8(data) != 0 or load8(data + 1) >= 0x80:
        return 0
    number = _load_big32(data + 1)
    if number == 0:
        return 0
    if load64(part + LAST_ID) == number and load64(part + LAST_SCOPE) == scope:
        to = load64(part + LAST_TO)  # most records have the id of the one before
    else:
        to = _find(context, scope, 0, number)
        store64(part + LAST_SCOPE, scope)
        store64(part + LAST_ID, number)
        store64(part + LAST_TO, to)
    if to > 0:
        store64(part + AT, data + 1)
        store64(part + OLD, number)
        store64(part + NEW, to)
    return to


@compiled(INT, INT, INT, INT, INT, INT, INT)
def note(context: int, part: int, scope: int, data: int, size: int, headers: int, scratch: int) -> Any:
    """Note what to write in a key or value, or in its header. UNKNOWN if that is not known."""
    part += context
    store64(part + AT, 0)
    if scope == NO_SCOPE:
        return 0
    if headers != 0:
        found = header_last(headers, load64(part + HEADER), scratch, scratch + 8)
        if found == 0 and load64(scratch) != 0:
            value, length = load64(scratch), load64(scratch + 8)
            if length >= _GUID_BYTES and load8(value) == 1:
                return _find(context, scope + 1, _load_big64(value + 1), _load_big64(value + 9))
            return _note_id(context, part, scope, value, length)
    return _note_id(context, part, scope, data, size)


@compiled(INT, INT)
def write(context: int, what: int) -> Any:
    """Write the noted ids to their places: NEW, or OLD to put them back."""
    for part in (context + KEY, context + VALUE):
        at = load64(part + AT)
        if at != 0:
            _store_big32(at, load64(part + what))
    return 0
