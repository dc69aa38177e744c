"""The published status of a mirror: the sources' end offsets compared with the ledger, again and again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from causeway.core.clock import now_ms
from causeway.core.plan import Refusal
from causeway.core.position import SourcePartition
from causeway.core.progress import MirrorProgress
from causeway.core.snapshot import MirrorView
from causeway.core.task_order import Lane
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.log_ends import source_ends
from causeway.kafka.task_errors import Again
from causeway.replication.progress import Gauge
from causeway.replication.rules.lag_age import Ages
from causeway.replication.status_rows import Logs, PartitionRows, Shards, gaps, refused_lane, refused_stop
from causeway.rules.ledger_state import LedgerState


class Status:
    """`progress` and `view` are immutable and replaced as a whole, since other threads read them."""

    def __init__(self, empty: MirrorView) -> None:
        self._gauge = Gauge()
        self._logs = Logs({}, {}, Ages())
        self._partitions = PartitionRows()
        self.shards = Shards()
        self.ended_slices = 0
        self.failed_slices = 0
        self.progress = MirrorProgress(empty.name, empty.state, (), 0)
        self.view = empty
        self.measured_at = now_ms()

    def fetch_log_ends(
        self,
        views: Mapping[str, ClusterView],
        sources: Sequence[SourcePartition],
        image: LedgerState,
        *,
        starts: bool,
    ) -> None:
        """Fetch the end offsets of the source partitions and, if `starts` is set, their log starts.

        Raises the error of a source that failed; the offsets of the other sources are kept.
        """
        positions = image.positions  # before the ends, see Logs
        begin, ends = self._logs.starts, self._logs.ends
        failure: Exception | None = None
        for alias, view in views.items():
            try:
                mine = [source for source in sources if source.cluster == view.cluster_id()]
                if starts:
                    begin = _renewed(begin, view.cluster_id(), source_ends({alias: view}, mine, "earliest"))
                ends = _renewed(ends, view.cluster_id(), source_ends({alias: view}, mine, "latest"))
            except (Again, CausewayError) as error:
                failure = error
        ages = self._logs.ages
        ages.saw(time.monotonic(), ends, {source: position.offset for source, position in positions.items()})
        self._logs = Logs(begin, ends, ages, positions)
        if failure is not None:
            self.update_positions(image)
            raise failure

    def update_positions(self, image: LedgerState) -> None:
        """Show current positions without fetching ends, at the end of a run or while a source is away."""
        self._logs = self._logs.settled(image.positions)

    def update_state(self, base: MirrorView) -> None:
        """Replace only the driver's own part of the view."""
        self.view = replace(
            self.view,
            state=base.state,
            state_since=base.state_since,
            events=base.events,
            waiting_for=base.waiting_for,
            waiting_why=base.waiting_why,
            waiting_todo=base.waiting_todo,
            pools=base.pools,
            blocked=base.blocked,
            blocked_todo=base.blocked_todo,
        )

    def measure(
        self,
        base: MirrorView,
        lanes: Sequence[Lane],
        refused: Mapping[SourcePartition, Refusal],
        image: LedgerState,
        aliases: Mapping[str, str],
        shards: int,
        until: Mapping[SourcePartition, int] | None,
        waits: Mapping[SourcePartition, str] | None = None,  # for schemas, and why
    ) -> None:
        """Compute the status from the ledger and the logs, and add it to the driver's own part, `base`."""
        positions, planned = image.positions, {lane.source for lane in lanes}
        stopped = {source: record for source, record in image.stopped.items() if source in planned}
        stopped |= {source: refused_stop(source, refusal) for source, refusal in refused.items()}
        shown = [*lanes, *(refused_lane(source, refusal) for source, refusal in refused.items())]
        progress = self._gauge.measure(
            base.name, base.state, positions, self._logs.ends, stopped, shards, until=until
        )
        counts, seconds = self._gauge.totals.latency()
        carrying, carrying_seconds = self.shards.carrying()
        self.progress = progress
        self.measured_at = now_ms()
        self.view = replace(
            base,
            partitions=self._partitions.views(shown, stopped, self._logs, aliases, shards, waits),
            shards=self.shards.views(lanes, shards),
            gaps=gaps(image, aliases),
            records_per_second=sum(topic.records_per_second for topic in progress.topics),
            bytes_per_second=sum(topic.bytes_per_second for topic in progress.topics),
            latency=counts,
            latency_seconds=seconds,
            carrying=carrying,
            carrying_seconds=carrying_seconds,
            slices=self.ended_slices,
            failed_slices=self.failed_slices,
            group_commits=self.shards.group_commits,
            paused_by=image.paused.by if image.paused else "",
        )


def _renewed(
    known: Mapping[SourcePartition, int], cluster: str, returned: Mapping[SourcePartition, int]
) -> dict[SourcePartition, int]:
    """Replace the offsets of one cluster with those it returned now."""
    return {source: offset for source, offset in known.items() if source.cluster != cluster} | dict(returned)
