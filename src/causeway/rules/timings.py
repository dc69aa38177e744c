"""Timings: when records were fetched and committed, as records of a topic of their own or as headers.

All times are milliseconds since the epoch, by the clock of the machine that runs the shard.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from causeway.core.position import Place, SourcePartition
from causeway.rules.header_names import Headers
from causeway.rules.offset_runs import OffsetRun

TOPIC_PREFIX = "timings_"
CONSUMED, PRODUCED = "causeway-consumed", "causeway-produced"
TIMES_ADDED = (
    f'timings = "headers": each record gets the headers {CONSUMED} and {PRODUCED}, so records at the'
    " destination are not bit for bit those of the source"
)


def timings_topic(source: str, to: str) -> str:
    """The topic for the timings of this route; "" where the source topic itself has timings.

    Otherwise two mirrors that copy each other's topics would write timings of timings without end.
    """
    return "" if source.startswith(TOPIC_PREFIX) else TOPIC_PREFIX + to


@dataclass(frozen=True, slots=True)
class TransactionTimings:
    """What one transaction replicated of one source partition, and when."""

    source: SourcePartition
    place: Place
    offsets: tuple[int, int]  # source offsets of the first and the last record
    timestamps: tuple[int, int]  # of these two records
    fetched: int  # when the first of them came
    committed: int  # when all of them were acknowledged, just before the commit
    count: int
    size: int  # bytes of keys and values

    def encoded(self, mirror: str) -> tuple[bytes, bytes]:
        """Key and value of the record. The key is the source partition: its timings stay in order."""
        cluster, topic, partition = self.source
        value = {
            "v": 1,
            "mirror": mirror,
            "cluster": cluster,
            "topic": topic,
            "partition": partition,
            "to": self.place.topic,
            "offsets": self.offsets,
            "timestamps": self.timestamps,
            "fetched": self.fetched,
            "committed": self.committed,
            "count": self.count,
            "bytes": self.size,
        }
        key = f"{cluster}|{topic}|{partition}"
        return key.encode(), json.dumps(value, separators=(",", ":")).encode()


def with_times(headers: Headers, consumed: int, produced: int) -> Headers:
    """The headers with both times. Times of an earlier hop are replaced: each record has one of each."""
    times = [(CONSUMED, str(consumed).encode()), (PRODUCED, str(produced).encode())]
    return [*without_times(headers), *times]


def without_times(headers: Headers) -> Headers:
    if not any(name in (CONSUMED, PRODUCED) for name, _ in headers):
        return headers
    return [header for header in headers if header[0] not in (CONSUMED, PRODUCED)]


def offsets_of(runs: Iterable[Sequence[OffsetRun]]) -> tuple[int, int]:
    """The first and the last source offset of these runs of the offset map, in any order."""
    every = [run for its_runs in runs for run in its_runs]
    return min(run.source for run in every), max(run.source + run.length - 1 for run in every)
