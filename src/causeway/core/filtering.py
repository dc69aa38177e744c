"""Filters: the record that they see, and the specification that they are created from.

A filter is created where the shard runs, by calling the configured name with its config table:

    class Europe:
        def __init__(self, config): self.countries = set(config["countries"])
        def keep(self, record): return dict(record.headers).get("country") in self.countries

`keep` returns True or False for one record. For speed, a filter may have `keep_all` instead: it takes a list
of records and returns a list. Filters see records in partition order, and must not change them.

A Go plugin of kaf-relay is a filter too: `path/to/testfilter.filter`, or `path/to/file.so:id`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from causeway.core.choices import OnError


class FilterRecord(NamedTuple):
    """A record as filters see it."""

    topic: str  # of the source
    partition: int
    offset: int
    timestamp: int  # milliseconds
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class FilterSpec:
    """A filter in a task order.

    `code` is the source of a Python file, so that executors need no copy. `digest` is the SHA-256 of a Go
    plugin: an order goes to each shard in each slice, and plugins have megabytes.
    """

    name: str  # as the configuration spells it
    config: Mapping[str, Any]
    on_error: OnError
    code: str | None = None
    digest: str | None = None


def is_go_plugin(name: str) -> bool:
    """Whether a filter's name is a Go plugin's: a file that is not Python.

    A module's name has no slash: in one directory with the configuration, `./file.so:id`.
    """
    path, colon, _ = name.rpartition(":")
    return ("/" in path and not path.endswith(".py")) if colon else not name.endswith(".py")
