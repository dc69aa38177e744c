"""How loops are compiled, and what they call: librdkafka's functions, and memory by its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding
from numba import cfunc, njit, types
from numba.extending import intrinsic

from causeway.kafka.native import library

binding.load_library_permanently(str(library.tried().path))  # its functions are called by name

message_timestamp = types.ExternalFunction("rd_kafka_message_timestamp", types.int64(types.intp, types.intp))
message_epoch = types.ExternalFunction("rd_kafka_message_leader_epoch", types.int32(types.intp))
detach_headers = types.ExternalFunction(
    "rd_kafka_message_detach_headers", types.int32(types.intp, types.intp)
)
attach_headers = types.ExternalFunction("rd_kafka_message_set_headers", types.void(types.intp, types.intp))
produce = types.ExternalFunction("rd_kafka_produceva", types.intp(types.intp, types.intp, types.intp))
destroy_message = types.ExternalFunction("rd_kafka_message_destroy", types.void(types.intp))


INT, INT_ROW, INT_TABLE = types.int64, types.int64[::1], types.int64[:, ::1]


def _kept(compile_it: Callable[..., Any]) -> Any:
    """Cache compiled code beside the sources or in the user's cache; compile without one if neither works."""
    try:
        return compile_it(cache=True)
    except RuntimeError:
        return compile_it()


def compiled(*arguments: Any) -> Any:
    """Compile for these argument types only, so that it happens when the module is loaded the first time."""
    return lambda function: _kept(lambda **options: njit(INT(*arguments), nogil=True, **options)(function))


def callback(function: Any) -> Any:
    signature = types.void(types.intp, types.intp, types.intp)
    return _kept(lambda **options: cfunc(signature, **options)(function))


header_last = types.ExternalFunction(
    "rd_kafka_header_get_last", types.int32(types.intp, types.intp, types.intp, types.intp)
)


def _load(bits: int) -> Any:
    kind = {64: types.int64, 32: types.int32, 8: types.uint8}[bits]

    @intrinsic
    def load(_typing: Any, _address: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())
            return builder.load(pointer)

        return kind(types.int64), generate

    return load


def _store(kind: Any) -> Any:
    @intrinsic
    def store(_typing: Any, _address: Any, _value: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())
            builder.store(arguments[1], pointer)
            return context.get_dummy_value()

        return types.void(types.int64, kind), generate

    return store


load64, load32, load8 = _load(64), _load(32), _load(8)
store64, store8 = _store(types.int64), _store(types.uint8)
