"""librdkafka's own mock broker, inside the test's process: real clients and real messages, without a JVM."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Self

from causeway.kafka.native import library

_PRODUCER = 0


def _functions() -> Any:
    rdkafka = ctypes.CDLL(str(library.tried().path))
    address, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("rd_kafka_conf_new", address, ()),
        ("rd_kafka_conf_set", number, (address, text, text, text, ctypes.c_size_t)),
        ("rd_kafka_new", address, (number, address, text, ctypes.c_size_t)),
        ("rd_kafka_destroy", None, (address,)),
        ("rd_kafka_mock_cluster_new", address, (address, number)),
        ("rd_kafka_mock_cluster_destroy", None, (address,)),
        ("rd_kafka_mock_cluster_bootstraps", text, (address,)),
        ("rd_kafka_mock_topic_create", number, (address, text, number, number)),
    ):
        function = getattr(rdkafka, name)
        function.restype, function.argtypes = result, list(arguments)
    return rdkafka


class MockCluster:
    """One broker. A partition keeps its last 5 MB."""

    def __enter__(self) -> Self:
        self._functions = _functions()
        reason = ctypes.create_string_buffer(512)
        conf = self._functions.rd_kafka_conf_new()
        self._functions.rd_kafka_conf_set(conf, b"log_level", b"0", reason, len(reason))
        self._handle = self._functions.rd_kafka_new(_PRODUCER, conf, reason, len(reason))
        self._cluster = self._functions.rd_kafka_mock_cluster_new(self._handle, 1)
        self.servers: str = self._functions.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        return self

    def topic(self, name: str, partitions: int = 1) -> str:
        self._functions.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, 1)
        return name

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._functions.rd_kafka_mock_cluster_destroy(self._cluster)
        self._functions.rd_kafka_destroy(self._handle)
