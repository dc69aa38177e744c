"""Verdicts on records that cannot be written as they are, whatever the destination accepts."""

from __future__ import annotations

from causeway.core.position import SourcePartition
from causeway.rules.header_names import MOST_HEADERS, encoded
from causeway.rules.integrity import Finding

_ASIDE = 'on_poison = "quarantine" quarantines such records'


def unreadable_headers(source: SourcePartition, offset: int, why: str) -> Finding:
    return Finding(
        "poison",
        f"the headers of the record at {source} offset {offset} cannot be read: {why}",
        f"write fewer headers to the source; {_ASIDE}, without their headers",
        offset,
    )


def odd_header_name(source: SourcePartition, offset: int, name: str) -> Finding:
    return Finding(
        "poison",
        f"the record at {source} offset {offset} has a header name that the client cannot write:"
        f" {encoded(name)[:100]!r}",
        'names with a NUL, or that are not UTF-8, are replicated only by carrier = "native"'
        " (kafka-causeway[fast], no filters, no provenance, no timings in headers);"
        f" {_ASIDE}, with such names escaped",
        offset,
    )


def no_room_for_added(source: SourcePartition, offset: int, count: int) -> Finding:
    return Finding(
        "poison",
        f"the record at {source} offset {offset} has {count:,} headers: with those that the mirror adds it"
        f" could not be read again, librdkafka parses up to {MOST_HEADERS:,}",
        "write fewer headers to the source, or switch provenance off, or timings in headers;"
        f" {_ASIDE}, without their headers",
        offset,
    )
