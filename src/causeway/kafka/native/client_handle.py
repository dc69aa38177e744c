"""Code shared by producer and consumer handles: properties, callbacks, metadata, fatal errors."""

from __future__ import annotations

import ctypes
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, ThrottleEvent

from causeway.kafka.native import library
from causeway.kafka.native.library import Library

_REASON_BYTES = 512
_OWN = frozenset({"error_cb", "throttle_cb", "logger", "oauth_cb"})
"""Properties of the client's Python classes only: functions that are called when a handle is polled.

The last one, which returns a token, is called by a thread of the client's, also while nothing is polled.
"""


class ClientCallbacks:
    """Callbacks of the client while it is polled. They must not raise: the exception would be lost."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.fatal = False
        self._on_error: Callable[[KafkaError], None] = properties["error_cb"]
        self._on_throttle: Callable[[ThrottleEvent], None] | None = properties.get("throttle_cb")
        self._token_of: Callable[[str], Any] | None = properties.get("oauth_cb")
        self._logger: logging.Logger = properties["logger"]
        self._library: Library | None = None
        self._kept = (
            library.ON_ERROR(self._error),
            library.ON_LOG(self._log),
            library.ON_THROTTLE(self._throttle),
            library.ON_TOKEN(self._token),
        )

    def listen(self, lib: Library, conf: int) -> None:
        error, log, throttle, token = self._kept
        lib.conf_set_error_cb(conf, error)
        lib.conf_set_log_cb(conf, log)
        if self._on_throttle is not None:
            lib.conf_set_throttle_cb(conf, throttle)
        if self._token_of is not None:
            self._library = lib
            lib.conf_set_oauthbearer_token_refresh_cb(conf, token)
            lib.conf_enable_sasl_queue(conf, 1)

    def start(self, lib: Library, handle: int) -> None:
        """Serve requests for tokens in the client's own thread: not everything that needs one polls."""
        if self._token_of is not None:
            lib.check(lib.sasl_background_callbacks_enable(handle))

    def _token(self, handle: int, config: bytes | None, _opaque: Any) -> None:
        assert self._library is not None
        assert self._token_of is not None
        try:
            token, until, principal, extensions = self._token_of(_text(config))
            pairs = [part.encode() for pair in extensions.items() for part in pair]
            reason = ctypes.create_string_buffer(_REASON_BYTES)
            failed = self._library.oauthbearer_set_token(
                handle, token.encode(), int(until * 1000), principal.encode(),
                (ctypes.c_char_p * len(pairs))(*pairs), len(pairs), reason, _REASON_BYTES,
            )  # fmt: skip
            why = _text(reason.value) if failed else ""
        except Exception as error:  # noqa: BLE001 - it would be printed, and the client would wait for a token
            why = str(error)
        if why:
            self._library.oauthbearer_set_token_failure(handle, why.encode())

    def _error(self, _handle: Any, code: int, reason: bytes | None, _opaque: Any) -> None:
        self.fatal |= code == KafkaError._FATAL
        self._on_error(KafkaError(code, (reason or b"").decode(errors="replace")))

    def _log(self, _handle: Any, _level: int, facility: bytes | None, text: bytes | None) -> None:
        self._logger.info("%s %s", _text(facility), _text(text))

    def _throttle(self, _handle: Any, broker: bytes | None, number: int, ms: int, _opaque: Any) -> None:
        if self._on_throttle is not None:
            self._on_throttle(ThrottleEvent(_text(broker), number, ms / 1000))


def _text(found: bytes | None) -> str:
    return (found or b"").decode(errors="replace")


def make(
    lib: Library, kind: int, properties: Mapping[str, Any], callbacks: ClientCallbacks, on_report: int = 0
) -> int:
    """Create a handle. Raises KafkaException where a property is not accepted."""
    conf = lib.conf_new()
    reason = ctypes.create_string_buffer(_REASON_BYTES)
    for name, value in {**properties, "log.queue": True}.items():
        if name in _OWN:
            continue
        given = str(value).lower() if isinstance(value, bool) else str(value)
        if lib.conf_set(conf, name.encode(), given.encode(), reason, _REASON_BYTES):
            lib.conf_destroy(conf)
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, _text(reason.value)))
    callbacks.listen(lib, conf)
    if on_report:
        lib.conf_set_dr_msg_cb(conf, on_report)
    handle = lib.new(kind, conf, reason, _REASON_BYTES)
    if not handle:
        lib.conf_destroy(conf)
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, _text(reason.value)))
    callbacks.start(lib, handle)
    lib.set_log_queue(handle, None)  # polling delivers log lines, like everything else
    return int(handle)


def ask_metadata(lib: Library, handle: int, seconds: float) -> None:
    """Fetch metadata of all topics that have a handle; from then on the client knows its brokers."""
    found = ctypes.c_void_p()
    lib.check_code(lib.metadata(handle, 0, None, ctypes.byref(found), math.ceil(seconds * 1000)))
    lib.metadata_destroy(found)


def fatal_error(lib: Library, handle: int) -> KafkaException:
    reason = ctypes.create_string_buffer(_REASON_BYTES)
    code = lib.fatal_error(handle, reason, _REASON_BYTES)
    return KafkaException(KafkaError(code, _text(reason.value), True))
