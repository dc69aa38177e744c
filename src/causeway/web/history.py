"""Samples of each mirror: one per second for ten minutes, one per ten seconds for six hours.

Memory is bounded, and the samples end with the process: for more there are the metrics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from causeway.core.position import stayed_under
from causeway.core.snapshot import MirrorView, Snapshot
from causeway.web.health_summary import lag_known

FINE_MS, FINE_KEPT = 1_000, 600
COARSE_MS, COARSE_KEPT = 10_000, 2_160
WINDOW_MS = 10_000
"""Latencies cover the records of this interval: a single second may have few, and their p99 would jump."""
TREND_MS, TREND_SAMPLES = 60_000, 6
"""The backlog's trend covers one minute; with fewer samples there is none."""


@dataclass(frozen=True, slots=True)
class Sample:
    at: int
    records_per_second: float
    bytes_per_second: float
    lag_records: int | None  # None while no log end is known
    lag_seconds: float | None
    p50_ms: float | None  # None if nothing was replicated
    p99_ms: float | None
    backlog: int  # the lag without stopped partitions: those never catch up by themselves


Number = TypeVar("Number", int, float)
COLUMNS = tuple(field.name for field in fields(Sample))


class Track:
    """One mirror's samples."""

    def __init__(self) -> None:
        self._fine: deque[Sample] = deque(maxlen=FINE_KEPT)
        self._coarse: deque[Sample] = deque(maxlen=COARSE_KEPT)
        self._not_running_at = -1  # the last sample of a mirror that was not running
        self._merged = 0  # how many samples the last coarse one combines
        self._latencies: deque[tuple[int, tuple[int, ...]]] = deque()
        self._counted: frozenset[tuple[str, str, int]] = frozenset()  # partitions in the latency counts

    def add(self, view: MirrorView, at: int) -> None:
        """Keeps the first sample of each second. If the clock was set back, drops the samples after `at`."""
        for kept in (self._fine, self._coarse, self._latencies):
            while kept and _at(kept[-1]) > at:
                kept.pop()
        if self._fine and self._fine[-1].at // FINE_MS == at // FINE_MS:
            return
        if view.state != "running":
            self._not_running_at = at
        sample = self._sample(view, at)
        self._fine.append(sample)
        if self._coarse and self._coarse[-1].at // COARSE_MS == at // COARSE_MS:
            self._merged += 1
            self._coarse[-1] = _merged(self._coarse[-1], sample, self._merged)
        else:
            self._merged = 1
            self._coarse.append(sample)

    def samples(self, since: int = 0) -> Iterator[Sample]:
        """Oldest first: coarse samples up to the first fine one."""
        first = self._fine[0].at if self._fine else 0
        yield from (sample for sample in self._coarse if since <= sample.at < first)
        yield from (sample for sample in self._fine if sample.at >= since)

    @property
    def last(self) -> Sample | None:
        return self._fine[-1] if self._fine else None

    @property
    def trend(self) -> float | None:
        """Records per second by which the backlog grows; negative while it shrinks, None if it is too early.

        Compares the mean of the last minute's second half with that of its first: producers write in bursts.
        """
        if not self._fine:
            return None
        # While a mirror starts, waits or is paused its backlog grows: that says nothing about its rate.
        since = max(self._fine[-1].at - TREND_MS, self._not_running_at)
        recent = [sample for sample in self._fine if sample.at > since]
        if len(recent) < TREND_SAMPLES:
            return None
        half = len(recent) // 2
        before, after = recent[:half], recent[half:]
        change = _mean([sample.backlog for sample in after]) - _mean([sample.backlog for sample in before])
        seconds = (_mean([sample.at for sample in after]) - _mean([sample.at for sample in before])) / 1000
        return change / seconds

    def _sample(self, view: MirrorView, at: int) -> Sample:
        recent = self._recent_latency(view, at)
        known = lag_known(view)
        return Sample(
            at=at,
            records_per_second=view.records_per_second,
            bytes_per_second=view.bytes_per_second,
            lag_records=view.lag_records if known else None,
            lag_seconds=view.lag_seconds if known else None,
            p50_ms=stayed_under(recent, 0.5),
            p99_ms=stayed_under(recent, 0.99),
            backlog=sum(partition.lag_records for partition in view.partitions if not partition.verdict),
        )

    def _recent_latency(self, view: MirrorView, at: int) -> list[int]:
        """Records by latency, of the last WINDOW_MS.

        The mirror's counts are cumulative over its partitions. A partition that joins brings counts from
        before, which would look like records of this moment; one that begins again lowers the counts. In
        both cases counting starts over.
        """
        counted = frozenset(
            (partition.cluster, partition.topic, partition.partition)
            for partition in view.partitions
            if partition.position >= 0
        )
        if counted != self._counted:
            self._latencies.clear()
            self._counted = counted
        self._latencies.append((at, view.latency))
        while self._latencies[0][0] < at - WINDOW_MS:
            self._latencies.popleft()
        before = self._latencies[0][1]
        recent = [new - old for new, old in zip(view.latency, before, strict=True)]
        if min(recent) >= 0:
            return recent
        self._latencies.clear()
        self._latencies.append((at, view.latency))
        return [0] * len(recent)


class History:
    """A track for each mirror in the last snapshot."""

    def __init__(self) -> None:
        self._tracks: dict[str, Track] = {}

    def add(self, snapshot: Snapshot) -> None:
        self._tracks = {view.name: self._tracks.get(view.name) or Track() for view in snapshot.mirrors}
        for view in snapshot.mirrors:
            self._tracks[view.name].add(view, snapshot.at)

    def track(self, mirror: str) -> Track:
        return self._tracks.get(mirror) or Track()

    def series(self, mirror: str, since: int = 0) -> dict[str, list[Any]]:
        """One column per field, as plots need them."""
        samples = list(self.track(mirror).samples(since))
        return {name: [getattr(sample, name) for sample in samples] for name in COLUMNS}


def _at(kept: Any) -> int:
    return kept.at if isinstance(kept, Sample) else kept[0]


def _merged(before: Sample, sample: Sample, count: int) -> Sample:
    """Averages rates, takes the maximum of lags; latencies already cover WINDOW_MS, which is as long."""
    return replace(
        sample,
        records_per_second=_averaged(before.records_per_second, sample.records_per_second, count),
        bytes_per_second=_averaged(before.bytes_per_second, sample.bytes_per_second, count),
        lag_records=_maximum(before.lag_records, sample.lag_records),
        lag_seconds=_maximum(before.lag_seconds, sample.lag_seconds),
        backlog=max(before.backlog, sample.backlog),
    )


def _maximum(one: Number | None, other: Number | None) -> Number | None:
    """The larger one; None only if both are unknown."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _averaged(before: float, value: float, count: int) -> float:
    return before + (value - before) / count


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)
