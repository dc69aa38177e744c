"""Prometheus metrics: the snapshot's values at the moment of a scrape."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from causeway.core.choices import Compat
from causeway.core.position import LATENCY_BOUNDS_MS
from causeway.core.snapshot import MirrorView, PartitionView, ShardView, Snapshot
from causeway.reporting.compat import compat_families, put_compat
from causeway.reporting.exposition import exposition
from causeway.reporting.families import FAMILIES, MOVES, STATES, STOPS, Sheet
from causeway.reporting.pool_metrics import put_pools

PARTITION_SERIES = 1000
"""A mirror with more partitions has its per-partition series summed by topic, unless configured otherwise."""

BOUNDS = (*(str(bound / 1000) for bound in LATENCY_BOUNDS_MS), "+Inf")


class Metrics:
    """A collector in its own registry. `exposition` returns the response to a scrape.

    `compat` adds the names of other tools, for existing dashboards.
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        *,
        partitions: int = PARTITION_SERIES,
        compat: Sequence[Compat] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._snapshot = snapshot
        self._partitions = partitions
        self._compat = tuple(compat)
        self._clock = clock
        self._families = (*FAMILIES, *compat_families(self._compat))
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def describe(self) -> list[Metric]:
        return Sheet(self._families).metrics

    def collect(self) -> Iterator[Metric]:
        snapshot = self._snapshot()
        sheet = Sheet(self._families)
        _put_process(sheet, snapshot, self._clock())
        for mirror in snapshot.mirrors:
            _put_mirror(sheet, mirror)
            _put_stopped(sheet, mirror, limit=max(self._partitions, PARTITION_SERIES))
            for shard in mirror.shards:
                _put_shard(sheet, mirror.name, shard)
            aggregated = len(mirror.partitions) > self._partitions
            put_pools(sheet, mirror, aggregated=aggregated)
            if not mirror.lease:
                # The ledger is not read yet. Prometheus would count 0 followed by a million as that many
                # new records.
                continue
            _put_ledger_counts(sheet, mirror)
            _put_topics(sheet, mirror)
            _put_partitions(sheet, mirror, aggregated=aggregated)
        put_compat(sheet, snapshot, self._compat, self._partitions)
        yield from sheet.metrics

    def exposition(self) -> bytes:
        return exposition(self.registry.collect())


def _put_process(sheet: Sheet, snapshot: Snapshot, now: float) -> None:
    sheet.put("causeway_build_info", {"version": snapshot.version}, 1)
    sheet.put_all(
        {},
        {
            "causeway_start_time_seconds": _seconds(snapshot.started_at),
            "causeway_snapshot_age_seconds": max(0.0, now - _seconds(snapshot.at)),
        },
    )


def _put_mirror(sheet: Sheet, mirror: MirrorView) -> None:
    """Values known before the ledger is read."""
    for state in STATES:
        labels = {"mirror": mirror.name, "state": state}
        sheet.put("causeway_mirror_state", labels, int(state == mirror.state))
    sheet.put_all(
        {"mirror": mirror.name},
        {
            "causeway_slices_total": mirror.slices,
            "causeway_slices_failed_total": mirror.failed_slices,
            "causeway_group_commits_total": mirror.group_commits,
        },
    )
    stopped = Counter(partition.verdict for partition in mirror.stopped_partitions)
    for verdict in dict.fromkeys((*STOPS, *stopped)):
        labels = {"mirror": mirror.name, "verdict": verdict}
        sheet.put("causeway_partitions_stopped", labels, stopped[verdict])
    waiting = sum(bool(partition.waits_for) for partition in mirror.partitions)
    sheet.put("causeway_partitions_waiting_for_schemas", {"mirror": mirror.name}, waiting)


def _put_stopped(sheet: Sheet, mirror: MirrorView, *, limit: int) -> None:
    """Where each partition stopped, even if the other series are summed by topic: an operator has to act.

    Only the first `limit` if thousands are stopped, as after a topic was deleted: that needs one action, and
    another series has the count anyway.
    """
    for partition in mirror.stopped_partitions[:limit]:
        labels = {**_labels(mirror.name, partition), "verdict": partition.verdict}
        # Every stopped partition has this series, whatever the verdict, so that each one is named.
        sheet.put("causeway_partition_stopped_gone_offsets", labels, partition.gone)
        if partition.expected >= 0:
            sheet.put("causeway_partition_stopped_expected_offset", labels, partition.expected)
        if partition.found >= 0:
            sheet.put("causeway_partition_stopped_found_offset", labels, partition.found)


def _put_shard(sheet: Sheet, mirror: str, shard: ShardView) -> None:
    labels = {"mirror": mirror, "shard": str(shard.number)}
    sheet.put_all(
        labels,
        {
            "causeway_transactions_total": shard.transactions,
            "causeway_transaction_seconds_total": shard.transaction_seconds,
            "causeway_transaction_records_total": shard.transaction_records,
            "causeway_retries_total": shard.retries,
            "causeway_fences_total": shard.fences,
            "causeway_shard_heartbeat_timestamp_seconds": _seconds(shard.heartbeat_at),
        },
    )
    if shard.carrier:
        # The text after the first word is why the native carrier is not used: it is not part of the label.
        carrier = shard.carrier.partition(" ")[0]
        sheet.put("causeway_carrier_info", {**labels, "carrier": carrier}, 1)


def _put_ledger_counts(sheet: Sheet, mirror: MirrorView) -> None:
    _put_histogram(
        sheet, "causeway_replication_latency_seconds", mirror.name, mirror.latency, mirror.latency_seconds
    )
    _put_histogram(
        sheet, "causeway_fetch_to_commit_seconds", mirror.name, mirror.carrying, mirror.carrying_seconds
    )
    latest = max((partition.committed_at for partition in mirror.partitions), default=-1)
    sheet.put("causeway_last_commit_timestamp_seconds", {"mirror": mirror.name}, _seconds(latest))
    sheet.put("causeway_starts_total", {"mirror": mirror.name}, mirror.lease)  # each start increments it
    gaps = Counter(gap.verdict for gap in mirror.gaps)
    for verdict in dict.fromkeys((*MOVES, *gaps)):
        labels = {"mirror": mirror.name, "verdict": verdict}
        sheet.put("causeway_gaps_total", labels, gaps[verdict])


def _put_histogram(sheet: Sheet, name: str, mirror: str, counts: Sequence[int], seconds: float) -> None:
    parts: list[tuple[str, dict[str, str], float]] = []
    below = 0
    for bound, count in zip(BOUNDS, counts, strict=True):
        below += count
        parts.append(("_bucket", {"mirror": mirror, "le": bound}, below))
    labels = {"mirror": mirror}
    sheet.put_parts(name, [*parts, ("_count", labels, below), ("_sum", labels, seconds)])


def _put_topics(sheet: Sheet, mirror: MirrorView) -> None:
    """Counts summed over a topic's partitions of all sources."""
    counts: dict[str, list[int]] = {}
    for partition in mirror.partitions:
        count = counts.get(partition.topic)
        if count is None:
            count = counts[partition.topic] = [0] * 7
        count[0] += partition.delivered
        count[1] += partition.filtered
        count[2] += partition.quarantined
        count[3] += partition.skipped
        count[4] += partition.bytes
        count[5] += partition.filtered_bytes
        count[6] += partition.quarantined_bytes
    for topic, numbers in counts.items():
        delivered, filtered, quarantined, skipped, *sizes = numbers
        delivered_bytes, filtered_bytes, quarantined_bytes = sizes
        sheet.put_all(
            {"mirror": mirror.name, "topic": topic},
            {
                "causeway_records_consumed_total": delivered + filtered + quarantined,
                "causeway_records_delivered_total": delivered,
                "causeway_records_filtered_total": filtered,
                "causeway_records_quarantined_total": quarantined,
                "causeway_bytes_consumed_total": delivered_bytes + filtered_bytes + quarantined_bytes,
                "causeway_bytes_delivered_total": delivered_bytes,
                "causeway_bytes_filtered_total": filtered_bytes,
                "causeway_bytes_quarantined_total": quarantined_bytes,
                "causeway_offsets_skipped": skipped,
            },
        )


def _put_partitions(sheet: Sheet, mirror: MirrorView, *, aggregated: bool) -> None:
    sheet.put("causeway_partition_series_aggregated", {"mirror": mirror.name}, int(aggregated))
    if aggregated:
        topics: dict[tuple[str, str], list[PartitionView]] = {}
        for partition in mirror.partitions:
            topics.setdefault((partition.cluster, partition.topic), []).append(partition)
        for (cluster, topic), group in topics.items():
            sheet.put_all({"mirror": mirror.name, "cluster": cluster, "topic": topic}, _aggregated(group))
        return
    for partition in mirror.partitions:
        sheet.put_all(_labels(mirror.name, partition), _offsets_and_lag(partition))


def _offsets_and_lag(partition: PartitionView) -> dict[str, float]:
    """Omits what is unknown: 0 would be an offset, or a mirror that has caught up."""
    values: dict[str, float] = {}
    if partition.log_end >= 0:
        values["causeway_lag_records"] = partition.lag_records
        values["causeway_lag_bytes"] = partition.lag_bytes
        values["causeway_lag_seconds"] = partition.lag_seconds
        values["causeway_log_end_offset"] = partition.log_end
    if partition.position >= 0:
        values["causeway_position_offset"] = partition.position
    return values


def _aggregated(group: Sequence[PartitionView]) -> dict[str, float]:
    """As `sum by (topic)` and `max by (topic)` would aggregate the series of the partitions."""
    totals: dict[str, float] = {}
    for partition in group:
        for name, value in _offsets_and_lag(partition).items():
            known = totals.get(name)
            if known is None:
                totals[name] = value
            else:
                totals[name] = max(known, value) if name == "causeway_lag_seconds" else known + value
    return totals


def _labels(mirror: str, partition: PartitionView) -> dict[str, str]:
    number = str(partition.partition)
    return {"mirror": mirror, "cluster": partition.cluster, "topic": partition.topic, "partition": number}


def _seconds(milliseconds: int) -> float:
    return max(0, milliseconds) / 1000
