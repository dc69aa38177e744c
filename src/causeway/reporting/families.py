"""The metric families: every name that a dashboard or an alert may use, described once.

Counts of records come from the ledger: they continue across restarts, and never count before a commit. Counts
of shards and slices are of this process, and start at 0 with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from causeway.core.pool_health import NodeState
from causeway.core.snapshot import UNROUTABLE, State

MetricKind = Literal["counter", "gauge", "histogram", "summary", "unknown"]

STATES: tuple[State, ...] = get_args(State)
STOPS = (
    "gap", "truncated", "recreated", "deleted", "corrupt", "destination-recreated", "destination-deleted",
    "destination-shrunk", "destination-truncated", "poison", "refused", "filter",
    UNROUTABLE,
)  # fmt: skip
"""Verdicts that stop a partition. Each has a series of value 0 before it first occurs."""
MOVES = (*(verdict for verdict in STOPS if verdict != UNROUTABLE), "skip")
"""Verdicts of gaps; "skip" if an operator moved the position without a verdict."""

NODE_STATES: tuple[NodeState, ...] = get_args(NodeState)
SWITCHES = ("dead", "short", "trimmed", "rejected", "lagging", "resumed", "manual")
"""Reasons of moves to another node of a source pool; "resumed" after none could be read from."""

MIRROR = ("mirror",)
TOPIC = ("mirror", "topic")
PARTITION = ("mirror", "cluster", "topic", "partition")
SHARD = ("mirror", "shard")
NODE = ("mirror", "pool", "node")
VERDICT = ("mirror", "verdict")
STOPPED = (*PARTITION, "verdict")


@dataclass(frozen=True, slots=True)
class Family:
    name: str  # as used in queries
    kind: MetricKind
    labels: tuple[str, ...]
    help: str

    def metric(self) -> Metric:
        """The metric without samples. The client adds a counter's suffix itself."""
        return Metric(self.name.removesuffix("_total"), self.help, self.kind)


FAMILIES = (
    Family("causeway_build_info", "gauge", ("version",), "Always 1. The version is a label."),
    Family("causeway_start_time_seconds", "gauge", (), "When this process started."),
    Family(
        "causeway_snapshot_age_seconds",
        "gauge",
        (),
        "Age of the snapshot that all other values come from. It is renewed twice a second.",
    ),
    Family(
        "causeway_mirror_state",
        "gauge",
        ("mirror", "state"),
        "1 for the state that the mirror is in, 0 for all others.",
    ),
    Family(
        "causeway_records_consumed_total",
        "counter",
        TOPIC,
        "Records read and settled by a commit: delivered, filtered or quarantined.",
    ),
    Family("causeway_records_delivered_total", "counter", TOPIC, "Records committed at the destination."),
    Family(
        "causeway_records_filtered_total",
        "counter",
        TOPIC,
        "Records dropped by filters, or by provenance because they came from there.",
    ),
    Family(
        "causeway_records_quarantined_total",
        "counter",
        TOPIC,
        "Records that the destination rejected, written to the quarantine topic.",
    ),
    Family(
        "causeway_bytes_consumed_total", "counter", TOPIC, "Bytes of the keys and values of consumed records."
    ),
    Family(
        "causeway_bytes_delivered_total",
        "counter",
        TOPIC,
        "Bytes of the keys and values of delivered records.",
    ),
    Family(
        "causeway_bytes_filtered_total", "counter", TOPIC, "Bytes of the keys and values of filtered records."
    ),
    Family(
        "causeway_bytes_quarantined_total",
        "counter",
        TOPIC,
        "Bytes of the keys and values of quarantined records.",
    ),
    Family(
        "causeway_offsets_skipped",
        "gauge",
        TOPIC,
        "Offsets skipped by a policy or an operator. Moves back count negative.",
    ),
    Family("causeway_lag_records", "gauge", PARTITION, "Offsets on the source that are not replicated yet."),
    Family("causeway_lag_bytes", "gauge", PARTITION, "Estimated bytes of the lag."),
    Family(
        "causeway_lag_seconds", "gauge", PARTITION, "How long the oldest record of the lag has been waiting."
    ),
    Family(
        "causeway_position_offset",
        "gauge",
        PARTITION,
        "The next offset to replicate. No series before there is a position.",
    ),
    Family(
        "causeway_log_end_offset",
        "gauge",
        PARTITION,
        "End of the source's log for read_committed consumers. No series while unknown.",
    ),
    Family(
        "causeway_partition_series_aggregated",
        "gauge",
        MIRROR,
        "1 if the series by partition are aggregated by topic.",
    ),
    Family(
        "causeway_partitions_stopped", "gauge", VERDICT, "Partitions that are stopped until an operator acts."
    ),
    Family(
        "causeway_partitions_waiting_for_schemas",
        "gauge",
        MIRROR,
        "Partitions whose next record names a schema that was not copied yet. They go on by themselves.",
    ),
    Family(
        "causeway_partition_stopped_expected_offset",
        "gauge",
        STOPPED,
        "The next offset to replicate of a stopped partition.",
    ),
    Family(
        "causeway_partition_stopped_found_offset",
        "gauge",
        STOPPED,
        "The offset that was found instead of the expected one.",
    ),
    Family(
        "causeway_partition_stopped_gone_offsets",
        "gauge",
        STOPPED,
        "Offsets that no longer exist. 0 if none, or if they cannot be counted.",
    ),
    Family("causeway_gaps_total", "counter", VERDICT, "Positions that moved without replicating."),
    Family(
        "causeway_replication_latency_seconds",
        "histogram",
        MIRROR,
        "Record timestamp to commit at the destination.",
    ),
    Family(
        "causeway_fetch_to_commit_seconds",
        "histogram",
        MIRROR,
        "Fetch from the source to commit at the destination.",
    ),
    Family(
        "causeway_last_commit_timestamp_seconds",
        "gauge",
        MIRROR,
        "The latest commit of any partition. 0 before the first.",
    ),
    Family("causeway_starts_total", "counter", MIRROR, "Starts of the mirror since its ledger was created."),
    Family("causeway_slices_total", "counter", MIRROR, "Slices (Spark jobs) that ended."),
    Family("causeway_slices_failed_total", "counter", MIRROR, "Slices (Spark jobs) that failed."),
    Family("causeway_group_commits_total", "counter", MIRROR, "Commits to the consumer group on the source."),
    Family("causeway_transactions_total", "counter", SHARD, "Committed transactions."),
    Family(
        "causeway_transaction_seconds_total",
        "counter",
        SHARD,
        "Time of the committed transactions, from first record to commit.",
    ),
    Family("causeway_transaction_records_total", "counter", SHARD, "Records in the committed transactions."),
    Family("causeway_retries_total", "counter", SHARD, "Attempts that failed and were restarted."),
    Family("causeway_fences_total", "counter", SHARD, "Attempts that were fenced by another producer."),
    Family(
        "causeway_shard_heartbeat_timestamp_seconds",
        "gauge",
        SHARD,
        "The latest heartbeat. 0 before the first.",
    ),
    Family(
        "causeway_carrier_info",
        "gauge",
        (*SHARD, "carrier"),
        "Always 1. The carrier, native or object, is a label.",
    ),
    Family(
        "causeway_source_node_up",
        "gauge",
        NODE,
        "1 if the newest check of the source pool's node succeeded, else 0.",
    ),
    Family(
        "causeway_source_node_state",
        "gauge",
        (*NODE, "state"),
        "1 for the state that the source pool's node is in, 0 for all others.",
    ),
    Family("causeway_source_node_shards", "gauge", NODE, "Shards that read the source pool from this node."),
    Family(
        "causeway_source_node_lag_records",
        "gauge",
        (*NODE, "topic", "partition"),
        "Records that another node of the source pool has, and this one lacks. No series while unknown.",
    ),
    Family(
        "causeway_source_switches_total",
        "counter",
        ("mirror", "pool", "reason"),
        "Moves of shards to another node of the source pool, by the state of the one before.",
    ),
)


class Sheet:
    """Samples by family, in the order of the families."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._metrics = {family.name: family.metric() for family in families}

    @property
    def metrics(self) -> list[Metric]:
        return list(self._metrics.values())

    def put(self, name: str, labels: dict[str, str], value: float) -> None:
        self._metrics[name].samples.append(Sample(name, labels, value))

    def put_all(self, labels: dict[str, str], values: Mapping[str, float]) -> None:
        """Values of several families with the same labels, which are formatted once."""
        for name, value in values.items():
            self._metrics[name].samples.append(Sample(name, labels, value))

    def put_parts(self, name: str, parts: Iterable[tuple[str, dict[str, str], float]]) -> None:
        """Add a histogram or a summary: each part has a suffix."""
        samples = self._metrics[name].samples
        samples.extend(Sample(name + suffix, labels, value) for suffix, labels, value in parts)
