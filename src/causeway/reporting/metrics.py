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
            _put_stopped(sheet, mirror, most=max(self._partitions, PARTITION_SERIES))
            for shard in mirror.shards:
                _put_shard(sheet, mirror.name, shard)
            if not mirror.lease:
                # The ledger is not read yet. Prometheus would count 0 followed by a million as that many
                # new records.
                continue
            _put_carried(sheet, mirror)
            _put_topics(sheet, mirror)
            _put_partitions(sheet, mirror, limited=len(mirror.partitions) > self._partitions)
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
            "causeway_failed_slices_total": mirror.failed_slices,
            "causeway_group_commits_total": mirror.group_commits,
        },
    )
    stopped = Counter(one.verdict for one in mirror.partitions if one.verdict)
    for verdict in dict.fromkeys((*STOPS, *stopped)):
        labels = {"mirror": mirror.name, "verdict": verdict}
        sheet.put("causeway_partitions_stopped", labels, stopped[verdict])


def _put_stopped(sheet: Sheet, mirror: MirrorView, *, most: int) -> None:
    """Where each partition stopped, even if the other series are summed by topic: an operator has to act.

    Only the first `most` if thousands are stopped, as after a topic was deleted: that needs one action, and
    another series has the count anyway.
    """
    for one in mirror.standing[:most]:
        labels = {**_labels(mirror.name, one), "verdict": one.verdict}
        # Every stopped partition has this series, whatever the verdict, so that each one is named.
        sheet.put("causeway_partition_stopped_gone_offsets", labels, one.gone)
        if one.expected >= 0:
            sheet.put("causeway_partition_stopped_expected_offset", labels, one.expected)
        if one.found >= 0:
            sheet.put("causeway_partition_stopped_found_offset", labels, one.found)


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


def _put_carried(sheet: Sheet, mirror: MirrorView) -> None:
    _put_histogram(
        sheet, "causeway_replication_latency_seconds", mirror.name, mirror.latency, mirror.latency_seconds
    )
    _put_histogram(sheet, "causeway_carrying_seconds", mirror.name, mirror.carrying, mirror.carrying_seconds)
    latest = max((one.committed_at for one in mirror.partitions), default=-1)
    sheet.put("causeway_last_commit_timestamp_seconds", {"mirror": mirror.name}, _seconds(latest))
    sheet.put("causeway_starts_total", {"mirror": mirror.name}, mirror.lease)  # each start increments it
    gaps = Counter(gap.verdict for gap in mirror.gaps)
    for verdict in dict.fromkeys((*MOVES, *gaps)):
        labels = {"mirror": mirror.name, "verdict": verdict}
        sheet.put("causeway_integrity_events_total", labels, gaps[verdict])


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
    for one in mirror.partitions:
        count = counts.get(one.topic)
        if count is None:
            count = counts[one.topic] = [0] * 7
        count[0] += one.delivered
        count[1] += one.filtered
        count[2] += one.quarantined
        count[3] += one.bytes
        count[4] += one.skipped
        count[5] += one.filtered_bytes
        count[6] += one.quarantined_bytes
    for topic, (delivered, filtered, quarantined, size, skipped, dropped, aside) in counts.items():
        sheet.put_all(
            {"mirror": mirror.name, "topic": topic},
            {
                "causeway_records_consumed_total": delivered + filtered + quarantined,
                "causeway_records_delivered_total": delivered,
                "causeway_records_filtered_total": filtered,
                "causeway_records_quarantined_total": quarantined,
                "causeway_bytes_consumed_total": size + dropped + aside,
                "causeway_bytes_delivered_total": size,
                "causeway_bytes_filtered_total": dropped,
                "causeway_bytes_quarantined_total": aside,
                "causeway_offsets_skipped": skipped,
            },
        )


def _put_partitions(sheet: Sheet, mirror: MirrorView, *, limited: bool) -> None:
    sheet.put("causeway_partition_series_limited", {"mirror": mirror.name}, int(limited))
    if limited:
        groups: dict[tuple[str, str], list[PartitionView]] = {}
        for one in mirror.partitions:
            groups.setdefault((one.cluster, one.topic), []).append(one)
        for (cluster, topic), group in groups.items():
            sheet.put_all({"mirror": mirror.name, "cluster": cluster, "topic": topic}, _together(group))
        return
    name = mirror.name
    for one in mirror.partitions:
        labels = _labels(name, one)
        values = {
            "causeway_lag_records": one.lag_records,
            "causeway_lag_bytes": one.lag_bytes,
            "causeway_lag_seconds": one.lag_seconds,
        }
        # "Nothing yet" is the absence of a position, never 0.
        if one.position >= 0:
            values["causeway_position_offset"] = one.position
        if one.log_end >= 0:
            values["causeway_log_end_offset"] = one.log_end
        sheet.put_all(labels, values)


def _together(group: Sequence[PartitionView]) -> dict[str, float]:
    """The partitions as `sum by (topic)` and `max by (topic)` would aggregate them."""
    return {
        "causeway_lag_records": sum(one.lag_records for one in group),
        "causeway_lag_bytes": sum(one.lag_bytes for one in group),
        "causeway_lag_seconds": max(one.lag_seconds for one in group),
        "causeway_position_offset": sum(max(0, one.position) for one in group),
        "causeway_log_end_offset": sum(max(0, one.log_end) for one in group),
    }


def _labels(mirror: str, one: PartitionView) -> dict[str, str]:
    return {"mirror": mirror, "cluster": one.cluster, "topic": one.topic, "partition": str(one.partition)}


def _seconds(milliseconds: int) -> float:
    return max(0, milliseconds) / 1000
