"""What a mirror looks like from outside: the source's ends beside the ledger, measured again and again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.outcome import Again
from causeway.mirror.ends import source_ends
from causeway.mirror.progress import Gauge
from causeway.mirror.view import Logs, Partitions, Shards, gaps, refused_lane, refused_stop
from causeway.model.order import Lane
from causeway.model.plan import Refusal
from causeway.model.position import SourcePartition
from causeway.model.progress import MirrorProgress
from causeway.model.snapshot import MirrorView
from causeway.pipeline.memory import now_ms
from causeway.policy.ages import Ages
from causeway.policy.image import LedgerImage


class Outlook:
    """`progress` and `view` are values that are replaced as a whole, since other threads show them."""

    def __init__(self, empty: MirrorView) -> None:
        self._gauge = Gauge()
        self._logs = Logs({}, {}, Ages())
        self._partitions = Partitions()
        self.shards = Shards()
        self.ended_slices = 0
        self.failed_slices = 0
        self.progress = MirrorProgress(empty.name, empty.state, (), 0)
        self.view = empty
        self.measured_at = now_ms()

    def look_at_logs(
        self,
        views: Mapping[str, ClusterView],
        sources: Sequence[SourcePartition],
        image: LedgerImage,
        *,
        starts: bool,
    ) -> None:
        """Ask the sources where their partitions end now and, less often, where they start.

        Raises what one of them answers with; of the others is known what they said.
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
        ages.saw(time.monotonic(), ends, {source: one.offset for source, one in positions.items()})
        self._logs = Logs(begin, ends, ages, positions)
        if failure is not None:
            self.settle_logs(image)
            raise failure

    def settle_logs(self, image: LedgerImage) -> None:
        """Show positions of now without asking for ends, at the end of a run or where a source is away."""
        self._logs = self._logs.settled(image.positions)

    def restate(self, base: MirrorView) -> None:
        """The driver's own part alone is new."""
        self.view = replace(
            self.view,
            state=base.state,
            state_since=base.state_since,
            events=base.events,
            waiting_for=base.waiting_for,
        )

    def measure(
        self,
        base: MirrorView,
        lanes: Sequence[Lane],
        refused: Mapping[SourcePartition, Refusal],
        image: LedgerImage,
        aliases: Mapping[str, str],
        shards: int,
        until: Mapping[SourcePartition, int] | None,
    ) -> None:
        """Everything that follows from ledger and logs, beside what the driver says of itself."""
        positions, planned = image.positions, {lane.source for lane in lanes}
        stopped = {source: record for source, record in image.stopped.items() if source in planned}
        stopped |= {source: refused_stop(source, one) for source, one in refused.items()}
        shown = [*lanes, *(refused_lane(source, one) for source, one in refused.items())]
        progress = self._gauge.measure(
            base.name, base.state, positions, self._logs.ends, stopped, shards, until=until
        )
        counts, seconds = self._gauge.totals.latency()
        carrying, carrying_seconds = self.shards.carrying()
        self.progress = progress
        self.measured_at = now_ms()
        self.view = replace(
            base,
            partitions=self._partitions.views(shown, stopped, self._logs, aliases, shards),
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
    known: Mapping[SourcePartition, int], cluster: str, found: Mapping[SourcePartition, int]
) -> dict[SourcePartition, int]:
    """What one cluster said replaces what it said before."""
    return {source: offset for source, offset in known.items() if source.cluster != cluster} | dict(found)
