"""Plans a comparison: pairs and pools of partitions, and the offsets between which to compare.

This order of reads makes the comparison correct while the mirror runs:

1. the source's ends: what is before them must be on the destination, or is `behind`
2. the ledger: what was replicated
3. the destination's ends
4. the source's ends again: everything that the destination holds by then has an original before them
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from causeway.config import MirrorSettings, Settings
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Gap
from causeway.core.pool import Pool
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import quarantine_topic
from causeway.core.topic import TopicFacts
from causeway.core.verify_report import Pair, Passage
from causeway.kafka.admin import At, ClusterView
from causeway.kafka.ledger import read_image
from causeway.kafka.log_ends import offsets_of
from causeway.kafka.quarantine import read_labels
from causeway.planning import filters
from causeway.planning.clusters import cluster_of, filters_of
from causeway.planning.routing import routes
from causeway.planning.rules.selection import absent, select
from causeway.rules.coverage import ids_of
from causeway.rules.ledger_state import LedgerState
from causeway.verification.comparison_job import CompareProgress
from causeway.verification.destination_bounds import adopted, ground_of, held_before, look, not_compared
from causeway.verification.rules.grouping import grouped
from causeway.verification.rules.pairing import Bounds, pair_of

SayLine = Callable[[str], None]

POLL_SECONDS = 1.0
SAY_SECONDS = 5.0
SILENT_SECONDS = 30.0
"""Stop waiting after this time: a running mirror writes a heartbeat to its ledger every few seconds."""


class VerifyPlan:
    """Everything that one mirror's comparison needs, read once."""

    def __init__(
        self,
        settings: Settings,
        mirror: MirrorSettings,
        say: SayLine,
        stopping: threading.Event,
        progress: CompareProgress = lambda done, total: None,
    ) -> None:
        self.mirror = mirror
        self._say = say
        self._progress = progress
        self._stopping = stopping
        self._views = {alias: ClusterView(cluster_of(settings, alias)) for alias in mirror.source}
        self.destination = cluster_of(settings, mirror.destination)
        self._view = ClusterView(self.destination)
        self.clusters: dict[str, Cluster] = {}  # the sources by their ids
        self.passage = Passage()
        self.pairs: list[Pair] = []
        self.pools: list[Pool] = []
        self.notes: list[str] = []
        self.at = 0  # when the ends were captured, milliseconds
        self._filters = filters_of(mirror)

    @property
    def comparisons(self) -> int:
        return len(self.pairs) + len(self.pools)

    def take(self, wait: bool, timeout: float | None) -> None:
        """Read both sides and the ledger, in the order that the module's docstring gives."""
        mirror = self.mirror
        for spec in self._filters:
            filters.make(spec)  # a filter that cannot be created fails here, not in every comparison
        for view in (*self._views.values(), self._view):
            view.connect()
        self.clusters = {view.cluster_id(): view.cluster for view in self._views.values()}
        self.passage = Passage(self._filters, self._view.cluster_id() if mirror.provenance else None)
        found = routes(mirror, self._views, self._view)
        topics = {key: route.source for key, route in found.items()}
        sources = self._source_partitions(topics)
        self.at = time.time_ns() // 1_000_000
        starts = self._on_source(sources, "earliest")
        ends = self._on_source(sources, "stable")
        image = self._caught_up(ends, timeout) if wait else read_image(self.destination, mirror.name)
        self._progress(0, 0)  # what follows is short
        positions = {source: at for source, at in image.positions.items() if source in sources}
        labels = self._labels()
        gaps: dict[SourcePartition, list[Gap]] = {}
        for gap in image.gaps_in_order():
            gaps.setdefault(gap.source, []).append(gap)
        homes = self._view.describe({position.place.topic for position in positions.values()})
        grounds, held_back = look(self._view, positions.values(), homes, self._pause)
        self.notes += held_back
        now = self._on_source(sources, "stable")
        compacted, compacted_there = self._compacted(topics, homes)
        pairs = []
        for source, facts in sources.items():
            position, stopped = positions.get(source), image.stopped.get(source)
            ground, home = ground_of(position, grounds, homes)
            bounds = Bounds(
                topic_id=facts.topic_id,
                log_start=starts[source],
                end=ends[source],
                place_topic_id=home.topic_id if home else None,
                place_log_start=ground.log_start,
                place_end=ground.end,
                now=now[source],
            )
            pairs.append(
                pair_of(
                    source,
                    position,
                    bounds,
                    compacted=(source.cluster, source.topic) in compacted
                    or (home is not None and home.name in compacted_there),
                    timestamps=mirror.timestamps == "preserve",
                    source_compacted=(source.cluster, source.topic) in compacted,
                    stopped=stopped.what if stopped else "",
                    gaps=gaps.get(source, ()),
                    labels=_labels_of(position, gaps.get(source, ()), labels) if position else {},
                )
            )
        begins = adopted(image, grounds)
        self.pairs, self.pools = grouped(
            pairs,
            not_compared(pairs, image, homes),
            grounds,
            begins=begins,
            held_before=held_before(mirror, image, homes, begins),
            sifted=not self.passage.open,
        )
        self._note_uncompared(image, sources)

    def _source_partitions(
        self, topics: dict[tuple[str, str], TopicFacts]
    ) -> dict[SourcePartition, TopicFacts]:
        return {
            SourcePartition(self._views[alias].cluster_id(), name, number): facts
            for (alias, name), facts in topics.items()
            for number in range(facts.partitions)
        }

    def _on_source(self, sources: Iterable[SourcePartition], at: At) -> dict[SourcePartition, int]:
        found: dict[SourcePartition, int] = {}
        for view in self._views.values():
            found |= offsets_of(view, (one for one in sources if one.cluster == view.cluster_id()), at)
        return found

    def _labels(self) -> dict[tuple[SourcePartition, str], Counter[int]]:
        """Offsets of quarantined records, by their partition and the id of its topic."""
        quarantine = read_labels(self._view, self.mirror.name)
        found: dict[tuple[SourcePartition, str], Counter[int]] = {}
        for label in quarantine.labels:
            found.setdefault((label.source, label.topic_id), Counter())[label.offset] += 1
        name = quarantine_topic(self.mirror.name)
        if quarantine.unlabelled:
            self.notes.append(f"{quarantine.unlabelled:,} records of {name} have no label that can be read")
        if quarantine.trimmed:
            self.notes.append(f"records were deleted from {name}: what they were is not known any more")
        return found

    def _compacted(
        self, topics: Iterable[tuple[str, str]], homes: Iterable[str]
    ) -> tuple[set[tuple[str, str]], set[str]]:
        """Compacted topics of the sources, by cluster id and name, and of the destination."""
        found = set()
        for alias, view in self._views.items():
            names = _compacted_among(view.configs([name for on, name in topics if on == alias]))
            found |= {(view.cluster_id(), name) for name in names}
        return found, _compacted_among(self._view.configs(homes))

    def _caught_up(self, ends: dict[SourcePartition, int], timeout: float | None) -> LedgerState:
        """Wait until every position has reached the captured ends, or will not; return the ledger's state."""
        began = moved_at = time.monotonic()
        said_at = -SAY_SECONDS
        most = 0
        seen: object = None
        while True:
            image = read_image(self.destination, self.mirror.name)
            positions = image.positions
            behind = {
                one: end - (positions[one].offset if one in positions else 0)
                for one, end in ends.items()
                if one not in image.stopped and (one not in positions or positions[one].offset < end)
            }
            if not behind:
                return image
            now = time.monotonic()
            signs = image.lease, image.heartbeats, {one: at.offset for one, at in positions.items()}
            if signs != seen:
                seen, moved_at = signs, now
            if now - moved_at > SILENT_SECONDS:
                self.notes.append("did not wait any longer: no mirror of this name seems to run")
                return image
            if timeout is not None and now - began > timeout:
                self.notes.append(f"not caught up within {timeout:.0f} s")
                return image
            if now - said_at >= SAY_SECONDS:
                said_at = now
                self._say(
                    f'waiting for mirror "{self.mirror.name}": {len(behind)} partitions are'
                    f" {sum(behind.values()):,} offsets behind"
                )
            most = max(most, sum(behind.values()))
            self._progress(most - sum(behind.values()), most)
            self._pause(POLL_SECONDS)

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise KeyboardInterrupt

    def _note_uncompared(self, image: LedgerState, sources: dict[SourcePartition, TopicFacts]) -> None:
        """Note topics that were replicated once, or are configured, but cannot be compared now."""
        there = {(one.cluster, one.topic) for one in sources}
        carried = {(one.cluster, one.topic) for one in image.positions}
        seen = {view.cluster_id(): self.mirror.seen_from(alias) for alias, view in self._views.items()}
        for cluster, topic in sorted(carried - there):
            if cluster not in seen:
                why = f"it came from cluster {cluster}, which is no source of the mirror now"
            elif select([topic], seen[cluster].topics, seen[cluster].exclude):
                why = "it does not exist on the source any more"
            else:
                why = "the mirror does not carry it any more"
            self.notes.append(f"topic {topic} is not compared: {why}")
        for alias, view in self._views.items():
            for name in absent(view.topic_names(), self.mirror.seen_from(alias).topics):
                if (view.cluster_id(), name) not in carried:
                    self.notes.append(f'topic {name} does not exist on "{alias}"')
        if not sources:
            self.notes.append("nothing was compared: the mirror's `topics` choose none that exists")


def _compacted_among(configs: Mapping[str, Mapping[str, str]]) -> set[str]:
    return {name for name, config in configs.items() if "compact" in config.get("cleanup.policy", "")}


def _labels_of(
    position: Position, gaps: Sequence[Gap], labels: Mapping[tuple[SourcePartition, str], Counter[int]]
) -> Counter[int]:
    found: Counter[int] = Counter()
    for topic_id in ids_of(position, gaps):
        found += labels.get((position.source, topic_id), Counter())
    return found
