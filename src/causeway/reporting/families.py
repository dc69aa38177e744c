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

from causeway.core.snapshot import UNROUTABLE, State

MetricKind = Literal["counter", "gauge", "histogram", "summary", "unknown"]

STATES: tuple[State, ...] = get_args(State)
STOPS = (
    "gap", "truncated", "recreated", "deleted", "corrupt", "destination-recreated", "destination-deleted",
    "destination-shrunk", "destination-truncated", "poison", "refused", "filter",
    UNROUTABLE,
)  # fmt: skip
"""Verdicts that stop a partition. Each has its series at 0 before it first occurs."""
MOVES = (*(verdict for verdict in STOPS if verdict != UNROUTABLE), "skip")
"""Verdicts of gaps; "skip" is an operator's move without a verdict."""

MIRROR = ("mirror",)
TOPIC = ("mirror", "topic")
PARTITION = ("mirror", "cluster", "topic", "partition")
SHARD = ("mirror", "shard")
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
    Family("causeway_build_info", "gauge", ("version",), "Always 1; the version is the label."),
    Family("causeway_start_time_seconds", "gauge", (), "When this process started."),
    Family("causeway_snapshot_age_seconds", "gauge", (), "How old what is shown here is."),
    Family("causeway_mirror_state", "gauge", ("mirror", "state"), "1 for the state that the mirror is in."),
    Family("causeway_records_consumed_total", "counter", TOPIC, "Records read and settled at a commit."),
    Family("causeway_records_delivered_total", "counter", TOPIC, "Records committed at the destination."),
    Family("causeway_records_filtered_total", "counter", TOPIC, "Records that filters left out."),
    Family("causeway_records_quarantined_total", "counter", TOPIC, "Records set aside in the quarantine."),
    Family("causeway_bytes_consumed_total", "counter", TOPIC, "Bytes of keys and values read and settled."),
    Family("causeway_bytes_delivered_total", "counter", TOPIC, "Bytes of those committed there."),
    Family("causeway_bytes_filtered_total", "counter", TOPIC, "Bytes of those that filters left out."),
    Family("causeway_bytes_quarantined_total", "counter", TOPIC, "Bytes of those set aside."),
    Family("causeway_offsets_skipped", "gauge", TOPIC, "Offsets passed over; moves back count negative."),
    Family("causeway_lag_records", "gauge", PARTITION, "Records on the source that are not carried."),
    Family("causeway_lag_bytes", "gauge", PARTITION, "Their bytes, estimated."),
    Family("causeway_lag_seconds", "gauge", PARTITION, "How long the oldest of them waits."),
    Family("causeway_position_offset", "gauge", PARTITION, "The next offset to carry."),
    Family("causeway_log_end_offset", "gauge", PARTITION, "The end of the source's log, read_committed."),
    Family("causeway_partition_series_limited", "gauge", MIRROR, "1 where partitions are summed by topic."),
    Family("causeway_partitions_stopped", "gauge", VERDICT, "Partitions that stand still."),
    Family("causeway_partition_stopped_expected_offset", "gauge", STOPPED, "The next offset to carry."),
    Family("causeway_partition_stopped_found_offset", "gauge", STOPPED, "The offset found instead."),
    Family("causeway_partition_stopped_gone_offsets", "gauge", STOPPED, "Offsets gone between them."),
    Family("causeway_integrity_events_total", "counter", VERDICT, "Gaps: positions moved without carrying."),
    Family("causeway_replication_latency_seconds", "histogram", MIRROR, "Record timestamp to commit."),
    Family("causeway_carrying_seconds", "histogram", MIRROR, "Fetch to commit."),
    Family("causeway_last_commit_timestamp_seconds", "gauge", MIRROR, "The latest commit, 0 for none."),
    Family("causeway_starts_total", "counter", MIRROR, "Starts of the mirror, since its ledger was made."),
    Family("causeway_slices_total", "counter", MIRROR, "Spark jobs that ended."),
    Family("causeway_failed_slices_total", "counter", MIRROR, "Spark jobs that failed."),
    Family("causeway_group_commits_total", "counter", MIRROR, "Commits to the source's consumer group."),
    Family("causeway_transactions_total", "counter", SHARD, "Transactions committed."),
    Family("causeway_transaction_seconds_total", "counter", SHARD, "Their time, first record to commit."),
    Family("causeway_transaction_records_total", "counter", SHARD, "Records in them."),
    Family("causeway_retries_total", "counter", SHARD, "Attempts that began anew."),
    Family("causeway_fences_total", "counter", SHARD, "Attempts that were fenced."),
    Family("causeway_shard_heartbeat_timestamp_seconds", "gauge", SHARD, "The latest heartbeat, 0 for none."),
    Family("causeway_carrier_info", "gauge", (*SHARD, "carrier"), "Always 1; what carries the records."),
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
