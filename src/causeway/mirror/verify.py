"""`causeway verify`: are both sides equal, up to the ends captured at the start?

The order of looking makes it sound while the mirror runs: the source's ends (what must be there or is
behind), the ledger (what was carried), the destination's ends, and the source's ends once more, so that
everything the destination holds by then has an original before them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence

from causeway.config import MirrorSettings, Settings
from causeway.errors import Unreachable
from causeway.kafka.admin import At, ClusterView
from causeway.kafka.ledger import LedgerImage, read_image
from causeway.mirror.clusters import chosen, cluster_of
from causeway.mirror.plan import shape
from causeway.model.position import SourcePartition
from causeway.model.topic import TopicFacts
from causeway.model.verdict import Pair, PartitionVerdict, VerifyReport
from causeway.pipeline import session
from causeway.pipeline.verify import Progress, compare_all
from causeway.policy.pairing import Bounds, pair_of
from causeway.policy.selection import select

Say = Callable[[str], None]

POLL_SECONDS = 1.0
SAY_SECONDS = 5.0
SILENT_SECONDS = 30.0
"""A mirror that runs says so in its ledger every few seconds."""

MARKER_SECONDS = 10.0
"""A commit is in the ledger a moment before its marker is in every other partition of the transaction."""


def verify(
    settings: Settings,
    names: list[str],
    *,
    wait: bool = False,
    timeout: float | None = None,
    say: Say = lambda text: None,
    progress: Progress = lambda done, total: None,
) -> list[VerifyReport]:
    """Compare both sides of the mirrors with these names, or of all."""
    captured = [_Capture(settings, mirror, say) for mirror in chosen(settings, names)]
    for capture in captured:
        capture.take(wait, timeout)
    pairs = sum(len(capture.pairs) for capture in captured)
    if not pairs:
        return [capture.report([], 0.0) for capture in captured]
    say("starting Spark")
    spark = session.start(settings.spark, min(pairs, os.cpu_count() or 1), "causeway verify")
    try:
        return [capture.compare(spark, progress) for capture in captured]
    finally:
        spark.stop()


class _Capture:
    """Everything one mirror's comparison needs to know, taken once."""

    def __init__(self, settings: Settings, mirror: MirrorSettings, say: Say) -> None:
        self._mirror = mirror
        self._say = say
        self._views = {alias: ClusterView(cluster_of(settings, alias)) for alias in mirror.source}
        self._destination = cluster_of(settings, mirror.destination)
        self._view = ClusterView(self._destination)
        self._notes: list[str] = []
        self._at = 0
        self.pairs: list[Pair] = []

    def take(self, wait: bool, timeout: float | None) -> None:
        """Look at both sides and at the ledger, in the order that the module's docstring gives."""
        mirror = self._mirror
        for view in (*self._views.values(), self._view):
            view.connect()
        topics = shape(mirror, self._views)
        sources = self._source_partitions(topics)
        self._at = time.time_ns() // 1_000_000
        starts = self._on_source(sources, "earliest")
        ends = self._on_source(sources, "stable")
        image = self._caught_up(ends, timeout) if wait else read_image(self._destination, mirror.name)
        positions = image.positions
        homes = self._view.describe({positions[one].place.topic for one in sources if one in positions})
        places = {
            (position.place.topic, position.place.partition): position.place_end
            for one, position in positions.items()
            if one in sources and position.place.topic in homes
        }
        place_starts = self._view.offsets(places, "earliest")
        place_ends = self._place_ends(places)
        now = self._on_source(sources, "stable")
        compacted = self._compacted(topics, homes)
        for source, facts in sources.items():
            position, stopped = positions.get(source), image.stopped.get(source)
            place = (position.place.topic, position.place.partition) if position else ("", 0)
            bounds = Bounds(
                topic_id=facts.topic_id,
                log_start=starts[source],
                end=ends[source],
                place_topic_id=homes[place[0]].topic_id if place in place_ends else None,
                place_log_start=place_starts.get(place, 0),
                place_end=place_ends.get(place, 0),
                now=now[source],
            )
            self.pairs.append(
                pair_of(
                    source,
                    position,
                    bounds,
                    compacted=not compacted.isdisjoint((source.topic, place[0])),
                    timestamps=mirror.timestamps == "preserve",
                    stopped=stopped.what if stopped else "",
                )
            )
        self._note_uncompared(image, sources)

    def compare(self, spark: session.Spark, progress: Progress) -> VerifyReport:
        began = time.monotonic()
        mirror = self._mirror.name
        self._say(f'comparing {len(self.pairs)} partitions of mirror "{mirror}"')
        clusters = {view.cluster_id(): view.cluster for view in self._views.values()}
        findings = compare_all(
            spark, self.pairs, clusters, self._destination, f"causeway.{mirror}.verify", progress
        )
        verdicts = [
            PartitionVerdict(pair.source, pair.place, found, pair.declared, pair.notes)
            for pair, found in zip(self.pairs, findings, strict=True)
        ]
        return self.report(verdicts, time.monotonic() - began)

    def report(self, partitions: Sequence[PartitionVerdict], seconds: float) -> VerifyReport:
        return VerifyReport(
            mirror=self._mirror.name,
            sources=tuple(self._mirror.source),
            destination=self._mirror.destination,
            at=self._at,
            seconds=seconds,
            partitions=tuple(sorted(partitions, key=lambda one: one.source)),
            notes=tuple(self._notes),
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
        found: dict[SourcePartition, int] = {}
        for alias, view in self._views.items():
            mine = [one for one in sources if one.cluster == view.cluster_id()]
            offsets = view.offsets([(one.topic, one.partition) for one in mine], at)
            for one in mine:
                if (one.topic, one.partition) not in offsets:
                    raise Unreachable(f"{one} has no leader", where=f'cluster "{alias}"')
                found[one] = offsets[one.topic, one.partition]
        return found

    def _place_ends(self, places: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """The destination's committed ends, once they hold what the ledger says was committed."""
        deadline = time.monotonic() + MARKER_SECONDS
        while True:
            ends = self._view.offsets(places, "stable")
            late = [place for place, end in places.items() if ends.get(place, end) < end]
            if not late or time.monotonic() > deadline:
                return ends
            time.sleep(POLL_SECONDS / 10)

    def _compacted(self, topics: dict[tuple[str, str], TopicFacts], homes: dict[str, TopicFacts]) -> set[str]:
        found: set[str] = set()
        for alias, view in self._views.items():
            configs = view.configs([name for on, name in topics if on == alias])
            found |= {name for name, config in configs.items() if "compact" in config["cleanup.policy"]}
        for name, config in self._view.configs(homes).items():
            if "compact" in config["cleanup.policy"]:
                found.add(name)
        return found

    def _caught_up(self, ends: dict[SourcePartition, int], timeout: float | None) -> LedgerImage:
        """The ledger once every position has reached the captured ends, or when that will not happen."""
        began = moved_at = time.monotonic()
        said_at = -SAY_SECONDS
        seen: object = None
        while True:
            image = read_image(self._destination, self._mirror.name)
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
                self._notes.append("did not wait any longer: no mirror of this name seems to run")
                return image
            if timeout is not None and now - began > timeout:
                self._notes.append(f"not caught up within {timeout:.0f} s")
                return image
            if now - said_at >= SAY_SECONDS:
                said_at = now
                self._say(
                    f'waiting for mirror "{self._mirror.name}": {len(behind)} partitions are'
                    f" {sum(behind.values()):,} offsets behind"
                )
            time.sleep(POLL_SECONDS)

    def _note_uncompared(self, image: LedgerImage, sources: dict[SourcePartition, TopicFacts]) -> None:
        """Topics that were carried once and cannot be compared now."""
        clusters = {view.cluster_id() for view in self._views.values()}
        there = {(one.cluster, one.topic) for one in sources}
        for cluster, topic in sorted({(one.cluster, one.topic) for one in image.positions} - there):
            if cluster not in clusters:
                why = f"it came from cluster {cluster}, which is no source of the mirror now"
            elif select([topic], self._mirror.topics):
                why = "it does not exist on the source any more"
            else:
                why = "the mirror does not carry it any more"
            self._notes.append(f"topic {topic} is not compared: {why}")
