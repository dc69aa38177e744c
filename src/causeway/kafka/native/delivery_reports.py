"""What the destination reports about records that the compiled loop produced."""

from __future__ import annotations

from typing import Any

import numpy as np
from confluent_kafka import KafkaError

from causeway.core.position import LATENCY_BOUNDS_MS
from causeway.core.route import BY_KEY
from causeway.kafka.delivery_reports import Unmapped
from causeway.rules.offset_runs import OffsetRun, join
from causeway.rules.positions import Waits


class Stretches:
    """Records of one partition; a row for those that are contiguous on both sides (`loop.stretches`)."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    @property
    def timestamps(self) -> tuple[int, int]:
        return int(self._rows[0, 5]), int(self._rows[-1, 6])

    def rejected(self) -> list[tuple[int, KafkaError]]:
        failed = self._rows[self._rows[:, 7] != 0]
        return [(offset, KafkaError(error)) for offset, error in failed[:, (1, 7)].tolist()]

    def collect(self, place: int, at: int, runs: dict[int, list[OffsetRun]], waits: Waits) -> None:
        rows = self._rows
        if (rows[:, 4] < 0).any():
            raise Unmapped
        partitions = np.unique(rows[:, 3]).tolist() if place == BY_KEY else [place]
        for partition in partitions:
            its = rows[rows[:, 3] == partition] if place == BY_KEY else rows
            join(runs.setdefault(partition, []), list(map(OffsetRun._make, its[:, (1, 4, 2)].tolist())))
        # As in the object carrier: two records represent each stretch.
        half = rows[:, 2] // 2
        for stamps, weights in ((rows[:, 5], half), (rows[:, 6], rows[:, 2] - half)):
            waited = at - stamps
            counts = np.bincount(np.searchsorted(LATENCY_BOUNDS_MS, waited), weights, len(waits.counts))
            waits.counts = [old + int(new) for old, new in zip(waits.counts, counts, strict=True)]
            waits.total += int(np.dot(np.maximum(waited, 0), weights))
