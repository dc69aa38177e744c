"""The types of setting values.

Owns the annotated types of the schema: how each is read from TOML, checked, written back and named
in the reference. A type rejects a value with a message that fits between a key and ", not <value>";
the value itself is added only if it is known not to be a secret.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    PlainValidator,
    Strict,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from causeway.config import properties, units

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_ALIAS = re.compile(r"[A-Za-z0-9_-]{1,100}")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_GROUP = re.compile(r"[^\x00-\x1f\x7f]{0,249}")
_AFFIX = re.compile(r"[A-Za-z0-9._-]{0,200}")
_FILTER = re.compile(
    r"(?:[^:\s][^:]*\.py)(?::[A-Za-z_]\w*)?|[A-Za-z_][\w.]*:[A-Za-z_]\w*"
    r"|(?!.*\.py:)[^:\s][^:]*[./][^:/]+|(?!.*\.py:)[^:]*/[^:/]+:[^:]+"  # Go plugins
)


@dataclass(frozen=True)
class Shown:
    """The name of a type in the reference."""

    name: str


@dataclass(frozen=True)
class Dotted:
    """Marks a table whose names keep their dots: properties of clients, names of topics."""


@dataclass(frozen=True)
class Late:
    """Marks a setting whose references are resolved where a client is created, as in client properties."""


@dataclass(frozen=True)
class Between:
    """Bounds of a duration or a size, as a user writes them."""

    low: str
    high: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def check(self, value: float) -> float:
        read = units.parse_size if isinstance(value, int) else units.parse_duration
        if not read(self.low) <= value <= read(self.high):
            raise ValueError(f'must be between "{self.low}" and "{self.high}"')
        return value


def auto(value: object) -> object:
    """None stands for "auto"."""
    if isinstance(value, str) and value != "auto":
        raise ValueError('must be "auto" or an integer')
    return None if value == "auto" else value


def several(value: object) -> object:
    """A list, which may be empty, or one string that stands for a list of one."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def many(value: object) -> object:
    """A list, or one string that stands for a list of one; raises ValueError if it is empty."""
    if isinstance(value, list | tuple):
        if not value:
            raise ValueError("must not be empty")
        return tuple(value)
    return (value,) if isinstance(value, str) else value


def is_mirror_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _matching(pattern: re.Pattern[str], message: str) -> AfterValidator:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise ValueError(message)
        return value

    return AfterValidator(check)


def without_user(value: str) -> str:
    """Refuses `user:password@` in an address, without repeating it."""
    if "@" in value:
        raise ValueError("must not have a user or a password in it: they are in [clusters.<alias>.sasl]")
    return value


def _servers(value: str) -> str:
    servers = [server.strip() for server in value.split(",")]
    without_user(value)
    for server in servers:
        host, colon, port = server.rpartition(":")
        bare = not colon or server.endswith("]")  # no port, as in "host" or "[::1]"
        if re.search(r"\s", server) or not (
            server if bare else host and re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < 65_536
        ):
            raise ValueError('must be "host:port", or several separated by commas')
    return ",".join(servers)


def _topic(value: str) -> str:
    if value in ("", ".", ".."):
        raise ValueError("must be a topic name or a regular expression")
    if not _TOPIC.fullmatch(value):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # "possible nested set": its meaning may change
                re.compile(value)
        except (re.error, OverflowError, RecursionError, FutureWarning) as error:
            # Python's message may quote the expression, so it is kept apart from ours.
            raise PydanticCustomError(
                "topic", "must be a topic name or a regular expression", {"detail": str(error)}
            ) from None
    return value


def _topic_name(value: str) -> str:
    if value in (".", "..") or not _TOPIC.fullmatch(value):
        raise ValueError("must be a topic name: 1 to 249 letters, digits, dots, hyphens and underscores")
    return value


def placement(value: object) -> int | tuple[tuple[int, int], ...]:
    """One partition for all, or pairs of source and destination in which no source occurs twice."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value):
        return int(value)  # from a variable or an option
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must be a partition, or a list of { src = …, dest = … }")
    pairs = []
    for pair in value:
        if isinstance(pair, dict) and set(pair) == {"src", "dest"}:
            pair = (pair["src"], pair["dest"])
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(map(_is_partition, pair)):
            raise ValueError("must be a partition, or a list of { src = …, dest = … }")
        pairs.append((pair[0], pair[1]))
    sources = [src for src, _ in pairs]
    repeated = [src for index, src in enumerate(sources) if src in sources[:index]]
    if repeated:
        raise ValueError(f"names source partition {repeated[0]} twice")
    return tuple(pairs)


def _is_partition(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def as_text(value: Any) -> Any:
    """A table that JSON can hold: TOML's dates and times as text."""
    if isinstance(value, dict):
        return {key: as_text(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_text(inner) for inner in value]
    return value.isoformat() if isinstance(value, date | time) else value


def _start(value: object) -> str:
    if isinstance(value, str) and value in ("earliest", "latest"):
        return value
    if isinstance(value, str | date):
        try:
            # TOML has timestamps of its own; their text is ISO 8601 as well.
            moment = datetime.fromisoformat(str(value))
            elapsed = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
            # Milliseconds are rounded down: starting slightly earlier loses nothing.
            text = (_EPOCH + elapsed).isoformat(timespec="milliseconds")
        except (ValueError, OverflowError):
            pass
        else:
            if elapsed >= timedelta(0):
                return text.removesuffix("+00:00").removesuffix(".000") + "Z"
    raise ValueError('must be "earliest", "latest" or a timestamp such as "2026-01-31T08:00:00Z"')


def start_at(start: str) -> Literal["earliest", "latest"] | int:
    """A checked start as clients need it: "earliest", "latest", or milliseconds since 1970."""
    if start == "earliest":
        return "earliest"
    if start == "latest":
        return "latest"
    return (datetime.fromisoformat(start) - _EPOCH) // timedelta(milliseconds=1)


Flag = Annotated[bool, Strict(), Shown("boolean")]
Count = Annotated[int, Strict(), Field(ge=1), Shown("integer, at least 1")]
AutoCount = Annotated[
    Annotated[int, Strict(), Field(ge=1)] | None,
    BeforeValidator(auto),
    PlainSerializer(lambda count: "auto" if count is None else count),
    Shown('"auto" or an integer, at least 1'),
]
Duration = Annotated[
    float,
    BeforeValidator(units.parse_duration),
    PlainSerializer(units.format_duration),
    Shown("duration"),
]
Size = Annotated[int, BeforeValidator(units.parse_size), PlainSerializer(units.format_size), Shown("size")]
Servers = Annotated[str, AfterValidator(_servers), Shown("string")]
Start = Annotated[str, BeforeValidator(_start), Shown('"earliest", "latest" or a timestamp')]
Alias = Annotated[str, _matching(_ALIAS, "an alias has 1 to 100 letters, digits, hyphens and underscores")]
MirrorName = Annotated[
    str,
    _matching(_NAME, "must have 1 to 100 letters, digits, dots, hyphens and underscores"),
    Shown("string"),
]
GroupName = Annotated[
    str,
    _matching(_GROUP, "must have at most 249 characters, none of them a control character"),
    Shown("string"),
]
Names = Annotated[tuple[str, ...], BeforeValidator(many), Shown("string or list of strings")]
Topics = Annotated[
    tuple[Annotated[str, AfterValidator(_topic)], ...],
    BeforeValidator(many),
    Shown("string or list of strings"),
]
Exclusions = Annotated[
    tuple[Annotated[str, AfterValidator(_topic)], ...],
    BeforeValidator(several),
    Shown("string or list of strings"),
]
Affix = Annotated[
    str,
    _matching(_AFFIX, "must have at most 200 letters, digits, dots, hyphens and underscores"),
    Shown("string"),
]
TopicName = Annotated[str, AfterValidator(_topic_name)]
FilterName = Annotated[
    str,
    _matching(
        _FILTER,
        'must be "package.module:name", "path/to/file.py", "path/to/file.py:name" or a Go plugin\'s path',
    ),
    Shown("string"),
]
Renames = Annotated[dict[TopicName, TopicName], Dotted(), Shown("table of topics")]
PartitionMap = Annotated[
    dict[TopicName, Annotated[int | tuple[tuple[int, int], ...], PlainValidator(placement)]],
    Dotted(),
    Shown("table of topics"),
]
Rate = Annotated[int, Strict(), Field(ge=0), Shown("integer, 0 for no limit")]
PropertyValue = Annotated[str, BeforeValidator(properties.property_value)]
ClientProperties = Annotated[
    dict[Annotated[str, AfterValidator(properties.client_name)], PropertyValue],
    Dotted(),
    Shown("table of client properties"),
]
SparkProperties = Annotated[
    dict[Annotated[str, AfterValidator(properties.spark_name)], PropertyValue],
    Dotted(),
    Shown("table of Spark properties"),
]
