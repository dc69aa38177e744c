"""Samples of each mirror: one per second for ten minutes, one per ten seconds for six hours.

Memory is bounded, and the samples end with the process: for more there are the metrics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from causeway.core.position import stayed_under
from causeway.core.snapshot import MirrorView, Snapshot

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
    lag_records: int
    lag_seconds: float
    p50_ms: float | None  # None if nothing was replicated
    p99_ms: float | None
    backlog: int  # the lag without stopped partitions: those never catch up by themselves


NAMES = tuple(field.name for field in fields(Sample))


class Track:
    """One mirror's samples."""

    def __init__(self) -> None:
        self._fine: deque[Sample] = deque(maxlen=FINE_KEPT)
        self._coarse: deque[Sample] = deque(maxlen=COARSE_KEPT)
        self._merged = 0  # how many samples the last coarse one combines
        self._counts: deque[tuple[int, tuple[int, ...]]] = deque()

    def add(self, view: MirrorView, at: int) -> None:
        """Keeps the first sample of each second. If the clock was set back, drops the samples after `at`."""
        for kept in (self._fine, self._coarse, self._counts):
            while kept and _at(kept[-1]) > at:
                kept.pop()
        if self._fine and self._fine[-1].at // FINE_MS == at // FINE_MS:
            return
        sample = self._measured(view, at)
        self._fine.append(sample)
        if self._coarse and self._coarse[-1].at // COARSE_MS == at // COARSE_MS:
            self._merged += 1
            self._coarse[-1] = _joined(self._coarse[-1], sample, self._merged)
        else:
            self._merged = 1
            self._coarse.append(sample)

    def samples(self, since: int = 0) -> Iterator[Sample]:
        """Oldest first: coarse samples up to the first fine one."""
        first = self._fine[0].at if self._fine else 0
        yield from (one for one in self._coarse if since <= one.at < first)
        yield from (one for one in self._fine if one.at >= since)

    @property
    def last(self) -> Sample | None:
        return self._fine[-1] if self._fine else None

    @property
    def trend(self) -> float | None:
        """Records per second by which the backlog grows; negative while it shrinks, None if it is too early.

        Compares the mean of the last minute's second half with that of its first: producers write in bursts.
        """
        recent = [one for one in self._fine if one.at > self._fine[-1].at - TREND_MS]
        if len(recent) < TREND_SAMPLES:
            return None
        half = len(recent) // 2
        before, after = recent[:half], recent[half:]
        change = _mean([one.backlog for one in after]) - _mean([one.backlog for one in before])
        seconds = (_mean([one.at for one in after]) - _mean([one.at for one in before])) / 1000
        return change / seconds

    def _measured(self, view: MirrorView, at: int) -> Sample:
        self._counts.append((at, view.latency))
        while self._counts[0][0] < at - WINDOW_MS:
            self._counts.popleft()
        before = self._counts[0][1]
        recent = [new - old for new, old in zip(view.latency, before, strict=True)]
        if min(recent) < 0:
            # The counts fell: a partition left the mirror, or joined it with counts from before.
            self._counts.clear()
            self._counts.append((at, view.latency))
            recent = [0] * len(recent)
        return Sample(
            at=at,
            records_per_second=view.records_per_second,
            bytes_per_second=view.bytes_per_second,
            lag_records=view.lag_records,
            lag_seconds=view.lag_seconds,
            p50_ms=stayed_under(recent, 0.5),
            p99_ms=stayed_under(recent, 0.99),
            backlog=sum(one.lag_records for one in view.partitions if not one.verdict),
        )


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
        return {name: [getattr(one, name) for one in samples] for name in NAMES}


def _at(kept: Any) -> int:
    return kept.at if isinstance(kept, Sample) else kept[0]


def _joined(before: Sample, sample: Sample, count: int) -> Sample:
    """Averages rates, takes the maximum of lags; latencies already cover WINDOW_MS, which is as long."""
    return replace(
        sample,
        records_per_second=_averaged(before.records_per_second, sample.records_per_second, count),
        bytes_per_second=_averaged(before.bytes_per_second, sample.bytes_per_second, count),
        lag_records=max(before.lag_records, sample.lag_records),
        lag_seconds=max(before.lag_seconds, sample.lag_seconds),
        backlog=max(before.backlog, sample.backlog),
    )


def _averaged(before: float, value: float, count: int) -> float:
    return before + (value - before) / count


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)
