"""Filters: what they see, and what is known of one before it is made.

A filter is made by calling the configured name with its config table, where the shard runs:

    class Europe:
        def __init__(self, config): self.countries = set(config["countries"])
        def keep(self, record): return dict(record.headers).get("country") in self.countries

`keep` answers True or False for one record; a filter with `keep_all` instead is given a list of them and
answers a list, for speed. Filters see records in the order of their partition, and must not change them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

OnError = Literal["stop", "keep", "drop"]


class Record(NamedTuple):
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
    """A filter of an order. A file's code travels with it, so that executors need no copy."""

    name: str  # as the configuration spells it
    config: Mapping[str, Any]
    on_error: OnError
    code: str | None = None
