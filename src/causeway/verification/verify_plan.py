"""Plans a comparison: pairs and pools of partitions, and the offsets between which to compare.

This order of reads makes the comparison correct while the mirror runs:

1. the source's ends: what is before them must be on the destination, or is `lagging`
2. the ledger: what was replicated
3. the destination's ends
4. the source's ends again: everything that the destination holds by then has an original before them
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from causeway.config import MirrorSettings, Settings
from causeway.core.clock import now_ms
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Gap
from causeway.core.pair import Filtering, Pair
from causeway.core.plural import counted
from causeway.core.pool import Pool
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import quarantine_topic
from causeway.core.topic import TopicFacts
from causeway.kafka.admin import At, ClusterView
from causeway.kafka.ledger import read_image
from causeway.kafka.log_ends import offsets_of
from causeway.kafka.quarantine import read_labels
from causeway.planning import filters
from causeway.planning.clusters import cluster_of, filters_of
from causeway.planning.routing import routes
from causeway.planning.rules.selection import absent, select
from causeway.planning.source_pools import source_view
from causeway.rules.coverage import of_topic
from causeway.rules.ledger_state import LedgerState
from causeway.rules.timings import CONSUMED, PRODUCED
from causeway.verification.catch_up import SayLine, wait_until_caught_up
from causeway.verification.comparison_job import CompareProgress
from causeway.verification.destination_bounds import (
    adopted_ends,
    bounds_of,
    not_compared,
    preexisting_topics,
    read_bounds,
)
from causeway.verification.rules.grouping import group_pairs
from causeway.verification.rules.pairing import Bounds, pair_of
from causeway.verification.source_nodes_read import SourceNodesRead


class VerifyPlan:
    """Everything that one mirror's comparison needs, read once."""

    def __init__(
        self,
        settings: Settings,
        mirror: MirrorSettings,
        say: SayLine,
        stopping: threading.Event,
        progress: CompareProgress = lambda done, total: None,
        node: str = "",  # of a source pool: compare this one
    ) -> None:
        self.mirror = mirror
        self._node = node
        self._say = say
        self._progress = progress
        self._stopping = stopping
        self._views = {alias: source_view(settings, alias) for alias in mirror.source}
        self.destination = cluster_of(settings, mirror.destination)
        self._view = ClusterView(self.destination)
        self.clusters: dict[str, Cluster] = {}  # the sources by their ids; of a pool the node that is read
        self.aliases: dict[str, str] = {}  # of the sources, by their ids
        self.nodes: dict[str, str] = {}  # the node that is read, by the pool's name
        self.filtering = Filtering()
        self.pairs: list[Pair] = []
        self.pools: list[Pool] = []
        self.notes: list[str] = []
        self.at = 0  # when the ends were captured, milliseconds
        self._filters = filters_of(mirror)

    @property
    def comparisons(self) -> int:
        return len(self.pairs) + len(self.pools)

    def read(self, wait: bool, timeout: float | None) -> None:
        """Read both sides and the ledger, in the order that the module's docstring gives."""
        mirror = self.mirror
        filters.try_out(self._filters)  # an invalid filter fails here, not in every comparison
        for view in (*self._views.values(), self._view):
            view.connect()
        pools = SourceNodesRead(mirror, self._views, self.destination, self._node)
        self.nodes = pools.nodes
        self.notes += pools.notes
        self.clusters = {view.cluster_id(): view.cluster for view in self._views.values()}
        self.aliases = {view.cluster_id(): alias for alias, view in self._views.items()}
        not_back_to = self._view.cluster_id() if mirror.provenance else None
        self.filtering = Filtering(self._filters, not_back_to, mirror.timings == "headers")
        if self.filtering.times:
            self.notes.append(f"the headers {CONSUMED} and {PRODUCED} are not compared (timings)")
        source_topics = {key: route.source for key, route in routes(mirror, self._views, self._view).items()}
        sources = self._source_partitions(source_topics)
        pools.refuse_missing(sources)
        self.at = now_ms()
        log_starts = self._on_source(sources, "earliest")
        ends = self._on_source(sources, "stable")
        ledger = self._ledger(ends, timeout) if wait else read_image(self.destination, mirror.name)
        self._progress(0, 0)  # what follows is short
        positions = {source: position for source, position in ledger.positions.items() if source in sources}
        labels = self._labels()
        gaps: dict[SourcePartition, list[Gap]] = {}
        for gap in ledger.gaps_in_order():
            gaps.setdefault(gap.source, []).append(gap)
        topics = self._view.describe({position.place.topic for position in positions.values()})
        place_bounds, notes = read_bounds(self._view, positions.values(), topics, self._pause)
        self.notes += notes
        pools.wait_for_replicated(lambda: self._on_source(sources, "stable"), self._pause)
        now = self._on_source(sources, "stable")
        compacted, compacted_on_destination = self._compacted(source_topics, topics)
        pairs = []
        for source, facts in sources.items():
            position, stopped = positions.get(source), ledger.stopped.get(source)
            place, topic = bounds_of(position, place_bounds, topics)
            bounds = Bounds(
                topic_id=facts.topic_id,
                log_start=log_starts[source],
                end=ends[source],
                place_topic_id=topic.topic_id if topic else None,
                place_log_start=place.log_start,
                place_end=place.end,
                now=now[source],
            )
            pairs.append(
                pair_of(
                    source,
                    position,
                    bounds,
                    compacted=(source.cluster, source.topic) in compacted
                    or (topic is not None and topic.name in compacted_on_destination),
                    timestamps=mirror.timestamps == "preserve",
                    source_compacted=(source.cluster, source.topic) in compacted,
                    stopped=stopped.what if stopped else "",
                    gaps=gaps.get(source, ()),
                    labels=_labels_of(position, gaps.get(source, ()), labels) if position else {},
                )
            )
        adopted = adopted_ends(ledger, place_bounds)
        self.pairs, self.pools = group_pairs(
            pairs,
            not_compared(pairs, ledger, topics),
            place_bounds,
            adopted_ends=adopted,
            preexisting=preexisting_topics(mirror, ledger, topics, adopted),
            omits_records=not self.filtering.keeps_all,
        )
        self._note_not_compared(ledger, sources)
        if mirror.copies_schemas:
            self._map_schemas()

    def _map_schemas(self) -> None:
        """Read the map of schema ids, after all else: it has the ids of all records that are compared."""
        copied = read_image(self.destination, self.mirror.name).schemas
        replaced = {
            use: record.to_id
            for use, record in copied.items()
            if record.to_id is not None and isinstance(use.id, int) and use.id != record.to_id
        }
        self.filtering = replace(self.filtering, schemas=replaced)
        if copied:
            self.notes.append(
                f"schema ids are compared by the ledger's map: {counted(len(copied), 'schema')},"
                f" {len(replaced):,} with another id at the destination"
            )

    def _source_partitions(
        self, topics: dict[tuple[str, str], TopicFacts]
    ) -> dict[SourcePartition, TopicFacts]:
        return {
            SourcePartition(self._views[alias].cluster_id(), name, number): facts
            for (alias, name), facts in topics.items()
            for number in range(facts.partitions)
        }

    def _on_source(self, sources: Iterable[SourcePartition], at: At) -> dict[SourcePartition, int]:
        offsets: dict[SourcePartition, int] = {}
        for view in self._views.values():
            of_cluster = (source for source in sources if source.cluster == view.cluster_id())
            offsets |= offsets_of(view, of_cluster, at)
        return offsets

    def _ledger(self, ends: dict[SourcePartition, int], timeout: float | None) -> LedgerState:
        """The ledger's state once the mirror has caught up with these ends, or will not."""
        ledger, note = wait_until_caught_up(
            self.destination, self.mirror.name, ends, timeout, self._pause, self._say, self._progress
        )
        if note:
            self.notes.append(note)
        return ledger

    def _labels(self) -> dict[SourcePartition, dict[str, Counter[int]]]:
        """Offsets of quarantined records, by their partition and the id of its topic."""
        quarantine = read_labels(self._view, self.mirror.name)
        labels: dict[SourcePartition, dict[str, Counter[int]]] = {}
        for label in quarantine.labels:
            by_topic = labels.setdefault(label.source, {})
            by_topic.setdefault(label.topic_id, Counter())[label.offset] += 1
        name = quarantine_topic(self.mirror.name)
        if count := quarantine.unlabelled:
            self.notes.append(f"{name} holds {counted(count, 'record')} without a readable label")
        if quarantine.trimmed:
            self.notes.append(f"records were deleted from {name}: they cannot be compared with the ledger")
        return labels

    def _compacted(
        self, source_topics: Iterable[tuple[str, str]], topics: Iterable[str]
    ) -> tuple[set[tuple[str, str]], set[str]]:
        """Compacted topics of the sources, by cluster id and name, and of the destination."""
        compacted = set()
        for alias, view in self._views.items():
            configs = view.configs([name for cluster, name in source_topics if cluster == alias])
            compacted |= {(view.cluster_id(), name) for name in _compacted_among(configs)}
        return compacted, _compacted_among(self._view.configs(topics))

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise KeyboardInterrupt

    def _note_not_compared(self, ledger: LedgerState, sources: Iterable[SourcePartition]) -> None:
        """Note topics that were replicated once, or are configured, but cannot be compared now."""
        existing = {(source.cluster, source.topic) for source in sources}
        replicated = {(source.cluster, source.topic) for source in ledger.positions}
        selections = {view.cluster_id(): self.mirror.for_source(alias) for alias, view in self._views.items()}
        for cluster, topic in sorted(replicated - existing):
            if cluster not in selections:
                why = f"it came from cluster {cluster}, which is no source of the mirror now"
            elif select([topic], selections[cluster].topics, selections[cluster].exclude):
                why = "it does not exist on the source any more"
            else:
                why = "the mirror does not select it any more"
            self.notes.append(f"topic {topic} is not compared: {why}")
        for alias, view in self._views.items():
            for name in absent(view.topic_names(), self.mirror.for_source(alias).topics):
                if (view.cluster_id(), name) not in replicated:
                    self.notes.append(f'topic {name} does not exist on "{alias}"')
        if not existing:
            self.notes.append("nothing was compared: the mirror's `topics` select no existing topic")


def _compacted_among(configs: Mapping[str, Mapping[str, str]]) -> set[str]:
    return {name for name, config in configs.items() if "compact" in config.get("cleanup.policy", "")}


def _labels_of(
    position: Position, gaps: Sequence[Gap], labels: Mapping[SourcePartition, Mapping[str, Counter[int]]]
) -> Counter[int]:
    offsets: Counter[int] = Counter()
    counts = of_topic(position, gaps)
    for topic_id, offsets_labelled in labels.get(position.source, {}).items():
        if counts(topic_id):
            offsets += offsets_labelled
    return offsets
