"""kaf-relay's keys, of both generations: how each value is read, and what Causeway does instead.

kaf-relay decodes weakly (a number may be quoted, a list may be one string with commas). Values it accepts
are accepted here too. A key without a remark is honoured, or changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from causeway.compat.translation import Translation
from causeway.config.config_tree import shown
from causeway.config.problems import nearest
from causeway.config.secrets import is_secret

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("", "0", "f", "F", "FALSE", "false", "False")
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_UNITS["h"] = 60 * _UNITS["m"]
_PIECE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})(ns|us|µs|μs|ms|s|m|h)")


def text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError("must be a string")


def flag(value: object) -> bool:
    if isinstance(value, bool | int):
        return bool(value)
    if isinstance(value, str) and value in (*_TRUE, *_FALSE):
        return value in _TRUE
    raise ValueError("must be true or false")


def number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch("[-+]?[0-9]{1,18}", value):
        return int(value)
    raise ValueError("must be an integer")


def milliseconds(value: object) -> float:
    """Go's durations: "1m30s", or a number of nanoseconds."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value / 10**6
    if isinstance(value, str):
        unsigned = value.lstrip("+-")
        pieces = _PIECE.findall(unsigned)
        if unsigned == "0" or (pieces and "".join(map("".join, pieces)) == unsigned):
            total = sum(Decimal(count) * _UNITS[unit] for count, unit in pieces)
            return float(-total if value.startswith("-") else total) / 10**6
    raise ValueError('must be a duration such as "100ms" or "6s"')


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [entry for part in value.split(",") if (entry := part.strip())]
    if isinstance(value, list):
        return [text(entry) for entry in value]
    raise ValueError('must be a list of strings, for example ["node1:9092"]')


def anything(value: object) -> object:
    return value  # validated by the code that uses it


@dataclass(frozen=True)
class RelayKey:
    read: Callable[[object], object]
    remark: str = ""  # what Causeway does instead
    alike: tuple[object, ...] = ()  # values for which nothing differs


Keys = Mapping[str, RelayKey]
Values = dict[str, object]

_UNREAD = "kaf-relay does not read it either"
_START = (
    "kaf-relay does not read it and starts at the earliest offset, as Causeway does; -X mirrors.0.start=… "
    "changes that"
)
_RETRY = "Causeway retries without a limit, with its own backoff"
_WATCH = "has no effect with --mode single, which reads from one node; --mode failover uses it"
_TIME = "Causeway's clients have their own timeouts"
_GROUP = (
    "offsets are committed to it on the source for lag monitoring and never read: positions are in a ledger "
    "on the destination"
)
_INSTANCE = "not needed: a second instance of a mirror fences the first, which stops"
_BATCH = "batches and transactions adapt to the load"

_CLIENT: Keys = {
    "name": RelayKey(text),
    "servers": RelayKey(texts),
    "session_timeout": RelayKey(milliseconds, _TIME),
    "enable_auth": RelayKey(flag),
    "sasl_mechanism": RelayKey(text),
    "username": RelayKey(text),
    "password": RelayKey(text),
    "enable_tls": RelayKey(flag),
    "client_key_path": RelayKey(text),
    "client_cert_path": RelayKey(text),
    "ca_cert_path": RelayKey(text),
    "enable_log": RelayKey(flag, "Causeway reports errors; its clients write no log", (False,)),
}
_BACKOFF: Keys = {
    "backoff_enable": RelayKey(flag, _RETRY),
    "backoff_min": RelayKey(milliseconds, _RETRY),
    "backoff_max": RelayKey(milliseconds, _RETRY),
}

APP: Keys = {
    "log_level": RelayKey(text, "Causeway logs to stderr; Spark's log is a file"),
    "metrics_server_addr": RelayKey(text),
    "max_failovers": RelayKey(number, _RETRY, (-1,)),
    "lag_threshold": RelayKey(number, _WATCH),
    "node_health_check_frequency": RelayKey(milliseconds, _WATCH),
    "max_request_duration": RelayKey(milliseconds, _TIME),
    "retry_backoff": RelayKey(anything),
    "initial_offset": RelayKey(text, _START, ("", "start")),
    "group_id": RelayKey(text),
    "instance_id": RelayKey(text, _INSTANCE, ("",)),
}
RETRY_BACKOFF: Keys = {
    "enable": RelayKey(flag, _RETRY),
    "min": RelayKey(milliseconds, _RETRY),
    "max": RelayKey(milliseconds, _RETRY),
}
SOURCE_POOL: Keys = {
    "initial_offset": RelayKey(text, _START, ("", "start")),
    "healthcheck_interval": RelayKey(milliseconds, _WATCH),
    "offset_lag_threshold": RelayKey(number, _WATCH),
    "max_retries": RelayKey(number, _RETRY, (-1,)),
    **_BACKOFF,
    "request_timeout": RelayKey(milliseconds, _TIME),
    "randomize_initial": RelayKey(flag, _WATCH, (False,)),
    "group_id": RelayKey(text),
    "instance_id": RelayKey(text, _INSTANCE, ("",)),
}
CONSUMER: Keys = {
    **_CLIENT,
    "max_wait_time": RelayKey(milliseconds, "not needed: brokers respond as soon as they have a record"),
    "max_failovers": RelayKey(number, _UNREAD),
    "offset_commit_interval": RelayKey(milliseconds, "positions are committed with the records", (0,)),
    "initial_offset": RelayKey(text, _START, ("", "start")),
    "group_id": RelayKey(text),
    "instance_id": RelayKey(text, _INSTANCE, ("",)),
}
SOURCE: Keys = {
    **_CLIENT,
    # Left over from [[consumers]]; the first two are even in kaf-relay's sample.
    **{key: RelayKey(CONSUMER[key].read, _UNREAD) for key in CONSUMER if key not in _CLIENT},
}
TARGET: Keys = {
    **_CLIENT,
    "enable_idempotency": RelayKey(flag, "producers are always idempotent and transactional", (True,)),
    "commit_ack_type": RelayKey(
        text,
        "every record is acknowledged by all in-sync replicas (acks=all)",
        ("", "cluster", "default"),
    ),
    "max_retries": RelayKey(number, _RETRY, (-1,)),
    "flush_frequency": RelayKey(
        milliseconds, "becomes linger.ms; a transaction is committed as soon as no more records wait"
    ),
    "flush_batch_size": RelayKey(number, _BATCH),
    "batch_size": RelayKey(number, _BATCH),
    "buffer_size": RelayKey(number),
    "max_message_bytes": RelayKey(number, "the brokers' limits decide"),
    "compression": RelayKey(text),
    **_BACKOFF,
    "request_timeout": RelayKey(milliseconds, _TIME),
}
PRODUCER: Keys = {**TARGET, "partitioning": RelayKey(anything)}
FILTER: Keys = {"enabled": RelayKey(flag), "path": RelayKey(text), "config": RelayKey(text)}


class KeyReader:
    """Reads tables; keeps remarks until all are read, so that keys with the same remark share a line."""

    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self._remarks: dict[str, list[str]] = {}

    def table(self, path: str, table: object, keys: Keys, *, called: str = "") -> Values:
        """The table's readable values; `called` is its name in remarks."""
        if not isinstance(table, dict):
            self._translation.problem(path, "must be a table")
            return {}
        values: Values = {}
        for name, value in table.items():
            if name not in keys:
                self._translation.problem(f"{path}.{name}", f"unknown key{nearest(name, keys)}")
                continue
            try:
                values[name] = keys[name].read(value)
            except ValueError as error:
                quoted = "" if is_secret(name) else f", not {shown(value)}"
                self._translation.problem(f"{path}.{name}", f"{error}{quoted}")
                continue
            if keys[name].remark and values[name] not in keys[name].alike:
                self.remark(f"{called or path}.{name}", keys[name].remark)
        return values

    def remark(self, key: str, text: str) -> None:
        keys = self._remarks.setdefault(text, [])
        if key not in keys:
            keys.append(key)

    def finish(self) -> None:
        for text, keys in self._remarks.items():
            self._translation.note(", ".join(keys), text)
