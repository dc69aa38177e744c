"""Matches many records at once, as arrays: which rows of one side have a partner on the other.

A row is a record: its partition, its offset, and a fingerprint of 128 bits in two columns. Rows of a
partition are contiguous, in ascending order of offsets. Identical records are interchangeable: only their
number on each side counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

REQUIRED, LAGGING, LATER = range(3)
"""States of a source row: it must be on the destination; it may be there, or is `lagging`; it is after the
captured end."""

ROWS_AT_ONCE = 1 << 20
"""Rows sorted at once: sorting takes several times their memory. Rows of equal fingerprints stay together."""


@dataclass(slots=True)
class Rows:
    owners: npt.NDArray[np.int32]  # the number of the partition in the pool
    offsets: Ints
    high: Words
    low: Words
    keys: Words  # of compacted topics: the key's fingerprint; empty otherwise
    deletes: Flags

    def __len__(self) -> int:
        return len(self.offsets)


class RowBuilder:
    """Collects rows while they are read, partition after partition."""

    def __init__(self) -> None:
        self._parts: list[Rows] = []

    def add(
        self,
        owner: int,
        offsets: Sequence[int],
        digests: Sequence[bytes],
        keys: Sequence[bytes] = (),
        deletes: Sequence[bool] = (),
    ) -> None:
        words = np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 2)
        self._parts.append(
            Rows(
                np.full(len(offsets), owner, np.int32),
                np.array(offsets, np.int64),
                words[:, 0],
                words[:, 1],
                key_words(keys),
                np.array(deletes, np.bool_),
            )
        )

    def mark(self) -> int:
        return len(self._parts)

    def reset(self, mark: int) -> None:
        """Drop what was added since the mark: it must be read again."""
        del self._parts[mark:]

    def build(self) -> Rows:
        """Everything that was added; the builder is empty afterwards."""
        parts, self._parts = self._parts, []
        names = ("owners", "offsets", "high", "low", "keys", "deletes")
        kinds = (np.int32, np.int64, np.uint64, np.uint64, np.uint64, np.bool_)
        return Rows(
            *(
                np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
                for name, kind in zip(names, kinds, strict=True)
            )
        )


def key_words(keys: Sequence[bytes]) -> Words:
    """Digests of keys, shortened: they only show which records replace each other."""
    return np.frombuffer(b"".join(key[:8] for key in keys), np.uint64)


@dataclass(slots=True)
class Matching:
    partners: Ints  # of each source row, its destination row; -1 without one
    originals: Ints  # of each destination row without a partner, a source row of the same content, or -1
    matched: Flags  # destination rows that have a partner
    certain: Flags  # source rows whose partner is certain, so that their order can be compared

    @property
    def interchangeable(self) -> int:
        """Matched rows with identical ones in other partitions: any of them could be the partner."""
        return int(np.count_nonzero((self.partners >= 0) & ~self.certain))


def match(
    source: Rows,
    states: npt.NDArray[np.uint8],
    destination: Rows,
    *,
    newest_source: bool = False,
    newest_destination: bool = False,
    at_once: int = ROWS_AT_ONCE,
) -> Matching:
    """Finds partners. With `newest_…`, if a side has too many identical rows, the last ones get partners: the
    first ones may be older than what is compared.
    """
    result = Matching(
        np.full(len(source), -1, np.int64),
        np.full(len(destination), -1, np.int64),
        np.zeros(len(destination), np.bool_),
        np.zeros(len(source), np.bool_),
    )
    bits = max(0, ((len(source) + len(destination)) // at_once).bit_length())
    for bucket in range(1 << bits):
        source_rows, destination_rows = (_bucket(rows.high, bits, bucket) for rows in (source, destination))
        if len(source_rows) or len(destination_rows):
            _match(
                result,
                source,
                states,
                destination,
                source_rows,
                destination_rows,
                newest_source,
                newest_destination,
            )
    return result


def _bucket(high: Words, bits: int, bucket: int) -> Ints:
    if not bits:
        return np.arange(len(high))
    return np.flatnonzero(high >> np.uint64(64 - bits) == np.uint64(bucket))


def _match(
    result: Matching,
    source: Rows,
    states: npt.NDArray[np.uint8],
    destination: Rows,
    source_rows: Ints,
    destination_rows: Ints,
    newest_source: bool,
    newest_destination: bool,
) -> None:
    """Sorted by fingerprint, identical rows are adjacent: source rows first, required ones before others."""
    count = len(source_rows)
    high = np.concatenate([source.high[source_rows], destination.high[destination_rows]])
    low = np.concatenate([source.low[source_rows], destination.low[destination_rows]])
    kind = np.concatenate([states[source_rows], np.full(len(destination_rows), LATER + 1, np.uint8)])
    order = np.lexsort((kind, low, high))
    high, low, kind = high[order], low[order], kind[order]
    owner = np.concatenate([source.owners[source_rows], destination.owners[destination_rows]])[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    starts = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    on_source = kind <= LATER
    originals = np.add.reduceat(on_source, starts, dtype=np.int64)
    required = np.add.reduceat(kind == REQUIRED, starts, dtype=np.int64)
    copies = np.diff(np.append(starts, len(order))) - originals
    pairs = np.minimum(originals, copies)
    skipped_source = np.maximum(0, required - pairs) if newest_source else np.zeros_like(pairs)
    skipped_destination = copies - pairs if newest_destination else np.zeros_like(pairs)

    rank = np.arange(len(order)) - starts[group] - skipped_source[group]
    at = np.flatnonzero(on_source & (rank >= 0) & (rank < pairs[group]))
    partner = (starts + originals + skipped_destination)[group[at]] + rank[at]
    rows, partners = source_rows[order[at]], destination_rows[order[partner] - count]
    result.partners[rows] = partners
    result.matched[partners] = True

    other_owner = np.zeros(len(order), np.bool_)
    other_owner[1:] = ~first[1:] & (on_source[1:] == on_source[:-1]) & (owner[1:] != owner[:-1])
    one_owner = np.add.reduceat(other_owner, starts, dtype=np.int64) == 0
    result.certain[rows] = (one_owner & (originals == copies))[group[at]]

    known = np.flatnonzero(~on_source & (originals > 0)[group])
    copy = destination_rows[order[known] - count]
    unmatched = ~result.matched[copy]
    result.originals[copy[unmatched]] = source_rows[order[starts[group[known[unmatched]]]]]


def latest(rows: Rows) -> Flags:
    """Rows without a later row of the same key in their partition."""
    flags = np.zeros(len(rows), np.bool_)
    if len(rows):
        order = np.lexsort((rows.keys, rows.owners))
        keys, owners = rows.keys[order], rows.owners[order]
        last = np.ones(len(rows), np.bool_)
        last[:-1] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
        flags[order[last]] = True
    return flags


def out_of_order(values: Ints) -> Flags:
    """Which values are out of order: all but a longest increasing subsequence."""
    flags = np.zeros(len(values), np.bool_)
    if len(values) < 2 or bool(np.all(values[1:] > values[:-1])):
        return flags
    # A value above all before it and below all after it is in every longest one: few are left to sort.
    ends = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    highest_before = np.concatenate([ends[:1], np.maximum.accumulate(values)[:-1]])
    lowest_after = np.concatenate([np.minimum.accumulate(values[::-1])[::-1][1:], ends[1:]])
    rest = np.flatnonzero((values <= highest_before) | (values >= lowest_after))
    flags[rest] = True
    flags[rest[_longest(values[rest].tolist())]] = False
    return flags


def _longest(values: list[int]) -> list[int]:
    """Indexes of a longest increasing subsequence."""
    tops: list[int] = []
    nodes: list[int] = []
    previous: list[int] = []
    for index, value in enumerate(values):
        length = bisect_left(tops, value)
        previous.append(nodes[length - 1] if length else -1)
        if length == len(tops):
            tops.append(value)
            nodes.append(index)
        else:
            tops[length] = value
            nodes[length] = index
    indexes = []
    index = nodes[-1] if nodes else -1
    while index >= 0:
        indexes.append(index)
        index = previous[index]
    return indexes[::-1]
