"""The hot loop, compiled: consumed messages in, produced messages out, no Python object for any of them.

The loop stops at every message that is not ordinary, and Python decides: a record before the position or at
a barrier, one without a timestamp, one whose headers cannot be parsed, a queue that is full. Arrays pass the
numbers:

    lanes    a row for each source partition, sorted by (topic handle, partition): see the columns below
    rows     a row for each record of the open transaction: lane, source offset, timestamp
    slots    the delivery report of each of these records: offset, error and partition
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding
from numba import cfunc, njit, types
from numba.extending import intrinsic

from causeway.kafka.native import library

binding.load_library_permanently(str(library.tried().path))  # its functions are called by name

# Columns of `lanes`.
RKT, PARTITION, NEXT, BARRIER, OPEN, TO_RKT, TO_PARTITION, EPOCH, RECORDS, BYTES, NUMBER, BATCH = range(12)
COLUMNS = 12
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

_timestamp = types.ExternalFunction("rd_kafka_message_timestamp", types.int64(types.intp, types.intp))
_epoch = types.ExternalFunction("rd_kafka_message_leader_epoch", types.int32(types.intp))
_detach = types.ExternalFunction("rd_kafka_message_detach_headers", types.int32(types.intp, types.intp))
_attach = types.ExternalFunction("rd_kafka_message_set_headers", types.void(types.intp, types.intp))
_produce = types.ExternalFunction("rd_kafka_produceva", types.intp(types.intp, types.intp, types.intp))
_destroy = types.ExternalFunction("rd_kafka_message_destroy", types.void(types.intp))


_I, _ROW, _TABLE = types.int64, types.int64[::1], types.int64[:, ::1]


def _kept(compile_it: Callable[..., Any]) -> Any:
    """Cache compiled code beside the sources or in the user's cache; compile without one if neither works."""
    try:
        return compile_it(cache=True)
    except RuntimeError:
        return compile_it()


def _compiled(*arguments: Any) -> Any:
    """Compile for these argument types only, so that it happens when the module is loaded the first time."""
    return lambda function: _kept(lambda **options: njit(_I(*arguments), nogil=True, **options)(function))


def _callback(function: Any) -> Any:
    signature = types.void(types.intp, types.intp, types.intp)
    return _kept(lambda **options: cfunc(signature, **options)(function))


def _load(bits: int) -> Any:
    kind = types.int64 if bits == 64 else types.int32

    @intrinsic
    def load(_typing: Any, _address: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())
            return builder.load(pointer)

        return kind(types.int64), generate

    return load


_load64, _load32 = _load(64), _load(32)


@intrinsic
def _store64(_typing: Any, _address: Any, _value: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(types.int64).as_pointer())
        builder.store(arguments[1], pointer)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@_callback
def report(_handle: int, message: int, _opaque: int) -> None:
    """Write the client's delivery report into the slot that the record was produced with."""
    slot = _load64(message + _OPAQUE)
    if slot != 0:
        _store64(slot, _load64(message + _OFFSET))
        _store64(
            slot + 8,
            (types.int64(_load32(message + _ERR)) << 32)
            | (types.int64(_load32(message + _PARTITION)) & 0xFFFFFFFF),
        )


@_compiled(_TABLE, _I, _I)
def _find(lanes: Any, rkt: int, partition: int) -> int:
    low, high = 0, lanes.shape[0]
    while low < high:
        middle = (low + high) // 2
        if lanes[middle, RKT] < rkt or (lanes[middle, RKT] == rkt and lanes[middle, PARTITION] < partition):
            low = middle + 1
        else:
            high = middle
    if low < lanes.shape[0] and lanes[low, RKT] == rkt and lanes[low, PARTITION] == partition:
        return low
    return -1


@_compiled(_ROW, _I, _ROW, _ROW)
def take_out_errors(messages: Any, count: int, errors: Any, places: Any) -> int:
    """Move messages that are errors into `errors`; the others move up. Returns the number of errors.

    `places`: how many of the others came before each error.
    """
    found = 0
    for index in range(count):
        message = messages[index]
        if _load32(message + _ERR) != 0:
            errors[found] = message
            places[found] = index - found
            found += 1
        else:
            messages[index - found] = message
    return found


@_compiled(_ROW, _I, _ROW)
def runs(messages: Any, count: int, begins: Any) -> int:
    """Write the index of each message that does not follow the one before it; returns how many."""
    rkt, partition, offset, found = types.int64(0), types.int64(-1), types.int64(-1), 0
    for index in range(count):
        message = messages[index]
        its_rkt, its_partition = _load64(message + _RKT), types.int64(_load32(message + _PARTITION))
        its_offset = _load64(message + _OFFSET)
        if its_rkt != rkt or its_partition != partition or its_offset != offset + 1:
            rkt, partition = its_rkt, its_partition
            begins[found] = index
            found += 1
        offset = its_offset
    return found


@_compiled(_ROW, _I, _TABLE, _ROW, _I)
def touched(messages: Any, count: int, lanes: Any, rows: Any, batch: int) -> int:
    """Write the rows of `lanes` that have messages here; returns how many. `batch` differs each time."""
    rkt, partition, found = types.int64(0), types.int64(-1), 0
    for index in range(count):
        message = messages[index]
        its_rkt, its_partition = _load64(message + _RKT), types.int64(_load32(message + _PARTITION))
        if its_rkt != rkt or its_partition != partition:
            rkt, partition = its_rkt, its_partition
            lane = _find(lanes, rkt, partition)
            if lane >= 0 and lanes[lane, BATCH] != batch:
                lanes[lane, BATCH] = batch
                rows[found] = lane
                found += 1
    return found


@_compiled(_ROW, _I, _I, _TABLE, _TABLE, _I, _I, _ROW, _I, _ROW)
def replicate(
    messages: Any, begin: int, count: int, lanes: Any, rows: Any, row: int, slots: int, arguments: Any,
    handle: int, out: Any,
) -> int:  # fmt: skip
    """Produce messages from `begin` on; returns where it stopped. `out` gets (how, row, error).

    A produced message is destroyed; the one where the loop stopped still has everything it had.
    """
    rkt, partition, lane = types.int64(0), types.int64(-1), types.int64(-1)
    call = arguments.ctypes.data
    scratch = out.ctypes.data + 8 * 3
    out[0] = DONE
    index = begin
    while index < count:
        message = messages[index]
        its_rkt, its_partition = _load64(message + _RKT), types.int64(_load32(message + _PARTITION))
        if its_rkt != rkt or its_partition != partition:
            rkt, partition = its_rkt, its_partition
            lane = _find(lanes, rkt, partition)
        if lane < 0:
            out[0] = EXCEPTIONAL
            break
        if lanes[lane, OPEN] == 0:
            _destroy(message)
            index += 1
            continue
        offset = _load64(message + _OFFSET)
        stamp = _timestamp(message, scratch)
        if offset < lanes[lane, NEXT] or offset >= lanes[lane, BARRIER] or stamp <= 0 or row >= rows.shape[0]:
            out[0] = EXCEPTIONAL
            break
        size, key_size = _load64(message + _LEN), _load64(message + _KEY_LEN)
        arguments[V_RKT * WORDS + 1] = lanes[lane, TO_RKT]
        arguments[V_PARTITION * WORDS + 1] = lanes[lane, TO_PARTITION]
        arguments[V_VALUE * WORDS + 1] = _load64(message + _PAYLOAD)
        arguments[V_VALUE * WORDS + 2] = size
        arguments[V_KEY * WORDS + 1] = _load64(message + _KEY)
        arguments[V_KEY * WORDS + 2] = key_size
        arguments[V_TIMESTAMP * WORDS + 1] = stamp
        slot = slots + 16 * row
        arguments[V_OPAQUE * WORDS + 1] = slot
        _store64(slot + 8, PENDING)
        given = ARGUMENTS - 1
        detached = _detach(message, scratch)
        if detached == 0:
            arguments[V_HEADERS * WORDS + 1] = _load64(scratch)
            given = ARGUMENTS
        elif detached != NO_HEADERS:
            out[0] = EXCEPTIONAL
            break
        error = _produce(handle, call, given)
        if error != 0:
            if given == ARGUMENTS:
                _attach(message, arguments[V_HEADERS * WORDS + 1])
            out[0] = FAILED
            out[2] = error
            break
        rows[row, 0] = lanes[lane, NUMBER]
        rows[row, 1] = offset
        rows[row, 2] = stamp
        row += 1
        lanes[lane, NEXT] = offset + 1
        lanes[lane, EPOCH] = _epoch(message)
        lanes[lane, RECORDS] += 1
        lanes[lane, BYTES] += size + key_size
        _destroy(message)
        index += 1
    out[1] = row
    return index


@_compiled(_TABLE, _TABLE, _I, _ROW, _TABLE)
def stretches(rows: Any, slots: Any, count: int, last: Any, found: Any) -> int:
    """Write records that are contiguous on both sides as rows of `found`; returns how many rows.

    lane, first source offset, length, partition, first destination offset, first and last timestamp, error
    """
    number = 0
    last[:] = -1
    for row in range(count):
        lane, source, stamp = rows[row, 0], rows[row, 1], rows[row, 2]
        offset, told = slots[row, 0], slots[row, 1]
        error, partition = told >> 32, told & 0xFFFFFFFF
        if told == PENDING:
            continue
        at = last[lane]
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
        found[number, 0] = lane
        found[number, 1] = source
        found[number, 2] = 1
        found[number, 3] = partition
        found[number, 4] = offset
        found[number, 5] = stamp
        found[number, 6] = stamp
        found[number, 7] = error
        last[lane] = number
        number += 1
    return number
