"""Metric names of other tools, for existing dashboards and alerts.

Only values that a snapshot has are here; docs/metrics.md names the omitted ones. Unlike the tools' metrics,
these count at commit. Values of all mirrors are summed: the names have no label for the mirror.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from causeway.core.choices import Compat
from causeway.core.snapshot import MirrorView, PartitionView, Snapshot
from causeway.reporting.families import Family, Sheet

KTM_LABELS = ("app", "topic_name")
KTM = (
    # The client appends _total to a counter's name. Only an untyped metric can have this name.
    Family("consumed_messages_count", "unknown", KTM_LABELS, "Records read, by input topic."),
    Family("produced_messages_count", "unknown", KTM_LABELS, "Records delivered, by output topic."),
)
OLD_LABELS = ("source", "destination", "partition")
MIDDLE_LABELS = ("source", "src_partition", "destination", "dest_partition")
NEW_LABELS = ("source_topic", "source_partition", "target_topic", "target_partition")
FLUSH_SIZE, FLUSH_SECONDS = "kafka_relay_target_flush_batch_size", "kafka_relay_target_flush_duration_seconds"
UNHEALTHY = ("dead", "short", "trimmed", "rejected")
KAF_RELAY = (
    Family("kafka_relay_msg_count", "unknown", OLD_LABELS, "Records delivered."),
    Family("kafka_relay_msgs_total", "counter", MIDDLE_LABELS, "Records delivered."),
    Family("kafka_relay_messages_relayed_total", "counter", NEW_LABELS, "Records delivered."),
    Family("kafka_relay_messages_filtered_total", "counter", (), "Records dropped, by all filters."),
    Family(
        "kafka_relay_source_highwatermark",
        "gauge",
        ("node_id",),
        "Sum of a source's end offsets; -1 for a node of a pool that does not respond.",
    ),
    Family("kafka_relay_source_candidate_switches_total", "counter", (), "Moves to another node."),
    Family("kafka_relay_source_unhealthy_total", "counter", (), "Nodes left that could not be read from."),
    Family(
        "kafka_relay_source_lag_threshold_exceeded_total",
        "counter",
        ("node_id",),
        "Moves from a node that lagged.",
    ),
    Family(FLUSH_SIZE, "summary", (), "Records in a transaction."),
    Family(FLUSH_SECONDS, "summary", (), "A transaction's time, first record to commit."),
)


def compat_families(compat: Sequence[Compat]) -> tuple[Family, ...]:
    return (*(KTM if "ktm" in compat else ()), *(KAF_RELAY if "kaf-relay" in compat else ()))


def put_compat(sheet: Sheet, snapshot: Snapshot, compat: Sequence[Compat], partitions: int) -> None:
    mirrors = [mirror for mirror in snapshot.mirrors if mirror.lease]
    if "ktm" in compat:
        _put_ktm(sheet, mirrors)
    if "kaf-relay" in compat:
        _put_messages(sheet, mirrors, partitions)
        _put_sources(sheet, mirrors)
        _put_flushes(sheet, snapshot)


def _put_ktm(sheet: Sheet, mirrors: Sequence[MirrorView]) -> None:
    consumed, produced = Counter[str](), Counter[str]()
    for partition in _all(mirrors):
        consumed[partition.topic] += partition.delivered + partition.filtered + partition.quarantined
        produced[partition.to_topic] += partition.delivered
    for name, counts in (("consumed_messages_count", consumed), ("produced_messages_count", produced)):
        for topic, count in counts.items():
            sheet.put(name, {"app": "kafka_topic_mirror", "topic_name": topic}, count)


def _put_messages(sheet: Sheet, mirrors: Sequence[MirrorView], partitions: int) -> None:
    old, new = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    filtered = 0
    for mirror in mirrors:
        aggregated = len(mirror.partitions) > partitions  # an empty label means no label
        for view in mirror.partitions:
            number, to_number = ("", "") if aggregated else (str(view.partition), str(view.to_partition))
            old[view.topic, view.to_topic, number] += view.delivered
            new[view.topic, number, view.to_topic, to_number] += view.delivered
            filtered += view.filtered
    for values, count in old.items():
        sheet.put("kafka_relay_msg_count", dict(zip(OLD_LABELS, values, strict=True)), count)
    for values, count in new.items():
        sheet.put("kafka_relay_msgs_total", dict(zip(MIDDLE_LABELS, values, strict=True)), count)
        sheet.put("kafka_relay_messages_relayed_total", dict(zip(NEW_LABELS, values, strict=True)), count)
    sheet.put("kafka_relay_messages_filtered_total", {}, filtered)


def _put_sources(sheet: Sheet, mirrors: Sequence[MirrorView]) -> None:
    # Two mirrors may read the same partition: count its end once.
    ends = {
        (view.cluster, view.topic, view.partition): view.log_end
        for view in _all(mirrors)
        if view.log_end >= 0
    }
    pools = {pool.name: pool for mirror in mirrors for pool in mirror.pools}
    sums = Counter[str]()
    for (cluster, _, _), end in ends.items():
        if cluster not in pools:
            sums[cluster] += end
    for pool in pools.values():
        for node in pool.nodes:
            sums[node.name] = node.log_ends if node.responds else -1
    for cluster, total in sums.items():
        sheet.put("kafka_relay_source_highwatermark", {"node_id": cluster}, total)
    _put_moves(sheet, mirrors)


def _put_moves(sheet: Sheet, mirrors: Sequence[MirrorView]) -> None:
    lagging = Counter[str]()
    moves = unhealthy = 0
    for pool in (pool for mirror in mirrors for pool in mirror.pools):
        lagging.update({node.name: 0 for node in pool.nodes})
        for (reason, left), count in pool.counts.items():
            moves += count
            unhealthy += count if reason in UNHEALTHY else 0
            lagging[left] += count if reason == "lagging" else 0
    sheet.put("kafka_relay_source_candidate_switches_total", {}, moves)
    sheet.put("kafka_relay_source_unhealthy_total", {}, unhealthy)
    for node, count in lagging.items():
        if node:
            sheet.put("kafka_relay_source_lag_threshold_exceeded_total", {"node_id": node}, count)


def _put_flushes(sheet: Sheet, snapshot: Snapshot) -> None:
    """Sums and counts only: the distribution is not recorded."""
    shards = [shard for mirror in snapshot.mirrors for shard in mirror.shards]
    transactions = sum(shard.transactions for shard in shards)
    records = sum(shard.transaction_records for shard in shards)
    seconds = sum(shard.transaction_seconds for shard in shards)
    sheet.put_parts(FLUSH_SIZE, [("_count", {}, transactions), ("_sum", {}, records)])
    sheet.put_parts(FLUSH_SECONDS, [("_count", {}, transactions), ("_sum", {}, seconds)])


def _all(mirrors: Sequence[MirrorView]) -> Iterator[PartitionView]:
    for mirror in mirrors:
        yield from mirror.partitions
