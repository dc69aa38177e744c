"""Filters: the record that they see, and the specification that they are created from.

A filter is created where the shard runs, by calling the configured name with its config table:

    class Europe:
        def __init__(self, config): self.countries = set(config["countries"])
        def keep(self, record): return dict(record.headers).get("country") in self.countries

`keep` returns True or False for one record. For speed, a filter may have `keep_all` instead: it takes a list
of records and returns a list. Filters see records in partition order, and must not change them.
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
    """A filter in a task order. `code` is the source of a filter file, so that executors need no copy."""

    name: str  # as the configuration spells it
    config: Mapping[str, Any]
    on_error: OnError
    code: str | None = None
