"""The hot loop, compiled: consumed messages in, produced messages out, no Python object for any of them.

The loop stops at every message that is not ordinary, and Python decides: a record before the position or at
a barrier, one without a timestamp, one whose headers cannot be parsed, one with a schema that is not known, a
queue that is full. Arrays pass the numbers:

    states   a row for each source partition, sorted by (topic handle, partition): see the columns below
    schemas  known ids of schemas, and what to write instead: the context of schema_prefix.py
    rows     a row for each record of the open transaction: partition, source offset, timestamp
    slots    the delivery report of each of these records: offset, error and partition
"""

from __future__ import annotations

from typing import Any

from numba import types

from causeway.kafka.native.compiling import (
    INT,
    INT_ROW,
    INT_TABLE,
    attach_headers,
    callback,
    compiled,
    destroy_message,
    detach_headers,
    load32,
    load64,
    message_epoch,
    message_timestamp,
    produce,
    store64,
)
from causeway.kafka.native.schema_prefix import KEY, NEW, OLD, UNKNOWN, VALUE, note, write

# Columns of `states`.
RKT, PARTITION, NEXT, BARRIER, OPEN, TO_RKT, TO_PARTITION, EPOCH, RECORDS, BYTES, NUMBER, BATCH = range(12)
KEY_SCOPE, VALUE_SCOPE = 12, 13  # of schema ids, see schema_prefix.py; NO_SCOPE: these parts have none
COLUMNS = 14
OUT = 6  # numbers that `replicate` returns, and room for its calls
REPORT_COLUMNS = 8  # columns of what `stretches` returns

# Byte offsets of a message's fields (library.Message).
_ERR, _RKT, _PARTITION, _PAYLOAD, _LEN, _KEY, _KEY_LEN, _OFFSET, _OPAQUE = 0, 8, 16, 24, 32, 40, 48, 56, 64

# A produce call's arguments: tagged values of nine words each.
WORDS = 9
V_RKT, V_PARTITION, V_VALUE, V_KEY, V_TIMESTAMP, V_OPAQUE, V_FLAGS, V_HEADERS = range(8)
TAGS = (2, 3, 4, 5, 8, 6, 7, 10)
ARGUMENTS = len(TAGS)
COPY = 2

NO_HEADERS = -156  # RD_KAFKA_RESP_ERR__NOENT; any other code: there are headers that cannot be parsed
PENDING = -(1 << 62)
DONE, EXCEPTIONAL, FAILED = 0, 1, 2


@callback
def report(_handle: int, message: int, _opaque: int) -> None:
    """Write the client's delivery report into the slot that the record was produced with."""
    slot = load64(message + _OPAQUE)
    if slot != 0:
        store64(slot, load64(message + _OFFSET))
        store64(
            slot + 8,
            (types.int64(load32(message + _ERR)) << 32)
            | (types.int64(load32(message + _PARTITION)) & 0xFFFFFFFF),
        )


@compiled(INT_TABLE, INT, INT)
def _find(states: Any, rkt: int, partition: int) -> int:
    low, high = 0, states.shape[0]
    while low < high:
        middle = (low + high) // 2
        if states[middle, RKT] < rkt or (
            states[middle, RKT] == rkt and states[middle, PARTITION] < partition
        ):
            low = middle + 1
        else:
            high = middle
    if low < states.shape[0] and states[low, RKT] == rkt and states[low, PARTITION] == partition:
        return low
    return -1


@compiled(INT_ROW, INT, INT_ROW, INT_ROW)
def take_out_errors(messages: Any, count: int, errors: Any, places: Any) -> int:
    """Move messages that are errors into `errors`; the others move up. Returns the number of errors.

    `places`: how many of the others came before each error.
    """
    found = 0
    for index in range(count):
        message = messages[index]
        if load32(message + _ERR) != 0:
            errors[found] = message
            places[found] = index - found
            found += 1
        else:
            messages[index - found] = message
    return found


@compiled(INT_ROW, INT, INT_ROW)
def runs(messages: Any, count: int, begins: Any) -> int:
    """Write the index of each message that does not follow the one before it; returns how many."""
    rkt, partition, offset, found = types.int64(0), types.int64(-1), types.int64(-1), 0
    for index in range(count):
        message = messages[index]
        its_rkt, its_partition = load64(message + _RKT), types.int64(load32(message + _PARTITION))
        its_offset = load64(message + _OFFSET)
        if its_rkt != rkt or its_partition != partition or its_offset != offset + 1:
            rkt, partition = its_rkt, its_partition
            begins[found] = index
            found += 1
        offset = its_offset
    return found


@compiled(INT_ROW, INT, INT_TABLE, INT_ROW, INT)
def touched(messages: Any, count: int, states: Any, rows: Any, batch: int) -> int:
    """Write the rows of `states` that have messages here; returns how many. `batch` differs each time."""
    rkt, partition, found = types.int64(0), types.int64(-1), 0
    for index in range(count):
        message = messages[index]
        its_rkt, its_partition = load64(message + _RKT), types.int64(load32(message + _PARTITION))
        if its_rkt != rkt or its_partition != partition:
            rkt, partition = its_rkt, its_partition
            state = _find(states, rkt, partition)
            if state >= 0 and states[state, BATCH] != batch:
                states[state, BATCH] = batch
                rows[found] = state
                found += 1
    return found


@compiled(INT_ROW, INT, INT, INT_TABLE, INT_TABLE, INT, INT, INT_ROW, INT, INT_ROW, INT_ROW)
def replicate(
    messages: Any, begin: int, count: int, states: Any, rows: Any, row: int, slots: int, arguments: Any,
    handle: int, out: Any, schemas: Any,
) -> int:  # fmt: skip
    """Produce messages from `begin` on; returns where it stopped. `out` gets (how, row, error).

    A produced message is destroyed; the one where the loop stopped still has everything it had.
    """
    rkt, partition, state = types.int64(0), types.int64(-1), types.int64(-1)
    call = arguments.ctypes.data
    scratch, context = out.ctypes.data + 8 * 3, schemas.ctypes.data
    out[0] = DONE
    index = begin
    while index < count:
        message = messages[index]
        its_rkt, its_partition = load64(message + _RKT), types.int64(load32(message + _PARTITION))
        if its_rkt != rkt or its_partition != partition:
            rkt, partition = its_rkt, its_partition
            state = _find(states, rkt, partition)
        if state < 0:
            out[0] = EXCEPTIONAL
            break
        if states[state, OPEN] == 0:
            destroy_message(message)
            index += 1
            continue
        offset = load64(message + _OFFSET)
        stamp = message_timestamp(message, scratch)
        if (
            offset < states[state, NEXT]
            or offset >= states[state, BARRIER]
            or stamp <= 0
            or row >= rows.shape[0]
        ):
            out[0] = EXCEPTIONAL
            break
        size, key_size = load64(message + _LEN), load64(message + _KEY_LEN)
        arguments[V_RKT * WORDS + 1] = states[state, TO_RKT]
        arguments[V_PARTITION * WORDS + 1] = states[state, TO_PARTITION]
        arguments[V_VALUE * WORDS + 1] = load64(message + _PAYLOAD)
        arguments[V_VALUE * WORDS + 2] = size
        arguments[V_KEY * WORDS + 1] = load64(message + _KEY)
        arguments[V_KEY * WORDS + 2] = key_size
        arguments[V_TIMESTAMP * WORDS + 1] = stamp
        slot = slots + 16 * row
        arguments[V_OPAQUE * WORDS + 1] = slot
        store64(slot + 8, PENDING)
        given = ARGUMENTS - 1
        headers = types.int64(0)
        detached = detach_headers(message, scratch)
        if detached == 0:
            headers = load64(scratch)
            arguments[V_HEADERS * WORDS + 1] = headers
            given = ARGUMENTS
        elif detached != NO_HEADERS:
            out[0] = EXCEPTIONAL
            break
        key, value = load64(message + _KEY), load64(message + _PAYLOAD)
        if (
            note(context, KEY, states[state, KEY_SCOPE], key, key_size, headers, scratch) == UNKNOWN
            or note(context, VALUE, states[state, VALUE_SCOPE], value, size, headers, scratch) == UNKNOWN
        ):
            if headers != 0:
                attach_headers(message, headers)
            out[0] = EXCEPTIONAL
            break
        write(context, NEW)
        error = produce(handle, call, given)
        if error != 0:
            write(context, OLD)
            if headers != 0:
                attach_headers(message, headers)
            out[0] = FAILED
            out[2] = error
            break
        rows[row, 0] = states[state, NUMBER]
        rows[row, 1] = offset
        rows[row, 2] = stamp
        row += 1
        states[state, NEXT] = offset + 1
        states[state, EPOCH] = message_epoch(message)
        states[state, RECORDS] += 1
        states[state, BYTES] += size + key_size
        destroy_message(message)
        index += 1
    out[1] = row
    return index


@compiled(INT_TABLE, INT_TABLE, INT, INT_ROW, INT_TABLE)
def stretches(rows: Any, slots: Any, count: int, last: Any, found: Any) -> int:
    """Write records that are contiguous on both sides as rows of `found`; returns how many rows.

    state, first source offset, length, partition, first destination offset, first and last timestamp, error
    """
    number = 0
    last[:] = -1
    for row in range(count):
        state, source, stamp = rows[row, 0], rows[row, 1], rows[row, 2]
        offset, outcome = slots[row, 0], slots[row, 1]
        error, partition = outcome >> 32, outcome & 0xFFFFFFFF
        if outcome == PENDING:
            continue
        at = last[state]
        if (
            at >= 0
            and error == 0
            and found[at, 7] == 0
            and found[at, 1] + found[at, 2] == source
            and found[at, 4] + found[at, 2] == offset
            and found[at, 3] == partition
        ):
            found[at, 2] += 1
            found[at, 6] = stamp
            continue
        found[number, 0] = state
        found[number, 1] = source
        found[number, 2] = 1
        found[number, 3] = partition
        found[number, 4] = offset
        found[number, 5] = stamp
        found[number, 6] = stamp
        found[number, 7] = error
        last[state] = number
        number += 1
    return number
