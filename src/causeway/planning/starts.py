"""Where partitions that the ledger does not know begin, if `start` is not "earliest".

"latest" and a timestamp denote one moment. The driver resolves them before the mirror is ready and commits
the first positions: a shard gets its order seconds later, and would skip what was produced in between.

"earliest" denotes no moment: the shard takes the log start when it opens the partition, and everything that
retention has left by then is replicated.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from causeway.config import MirrorSettings
from causeway.core.clock import now_ms
from causeway.core.ledger_record import RouteClaim
from causeway.core.position import Position, SourcePartition
from causeway.core.route import ClusterTopic
from causeway.core.task_order import Lane
from causeway.errors import Unreachable
from causeway.kafka.admin import At, ClusterView
from causeway.kafka.log_ends import LEADER_SECONDS, source_ends
from causeway.planning.routing import Routes
from causeway.planning.rules.route_conflicts import begun_topics
from causeway.rules.ledger_state import LedgerState
from causeway.rules.positions import first


def wanted_starts(
    mirror: MirrorSettings,
    routes: Routes,
    sources: Mapping[str, ClusterView],
    image: LedgerState,
) -> dict[SourcePartition, At]:
    """The partitions that do not begin at "earliest", and where they begin.

    `start` is for topics that exist now and are new to the ledger. Topics and partitions that appear later
    begin at earliest: nothing of them may be skipped. That holds across restarts, also for a topic that has
    no position yet: its claim records that it appeared later.
    """
    topics = {source[:2] for source in image.positions}
    topics |= {(claim.cluster, claim.topic) for claim in image.claims.values() if claim.later}
    wanted: dict[SourcePartition, At] = {}
    for (alias, name), route in routes.items():
        start, cluster_id = mirror.for_source(alias).start_at, sources[alias].cluster_id()
        if start == "earliest" or (cluster_id, name) in topics:
            continue
        # The last stable offset: a transaction that is open now and commits later arrives whole.
        at: At = "stable" if start == "latest" else start
        wanted |= {SourcePartition(cluster_id, name, number): at for number in range(route.source.partitions)}
    return wanted


def met_later(
    routes: Routes, sources: Mapping[str, ClusterView], image: LedgerState, at_start: Collection[ClusterTopic]
) -> list[RouteClaim]:
    """Withdrawn claims for topics that appeared since the start, to remember that they begin at earliest.

    The driver commits them before it does anything else about a topic. Without them, this skips records:

        The mirror runs with start = "latest"; topic t appears, with records.
        The driver creates t at the destination, and is killed; or it refuses t, and the settings are changed.
        The next start finds t, new to the ledger, and begins at its end.
    """
    begun = begun_topics(image.positions)
    spots = [ClusterTopic(sources[alias].cluster_id(), name) for alias, name in routes]
    return [
        RouteClaim(spot.cluster, spot.topic, "", "", provenance=False, settled=False, at=now_ms(), later=True)
        for spot in spots
        if spot not in at_start and spot not in begun and spot not in image.claims
    ]


def first_positions(
    lanes: Sequence[Lane],
    wanted: Mapping[SourcePartition, At],
    sources: Mapping[str, ClusterView],
    destination: ClusterView,
    *,
    generation: int,
    lease: int,
) -> list[Position]:
    """The first positions of the wanted partitions; what is produced from now on lies at or after them."""
    mine = [lane for lane in lanes if lane.source in wanted]
    begins = _resolved({lane.source: wanted[lane.source] for lane in mine}, sources)
    places = {(lane.place.topic, lane.place.partition) for lane in mine if lane.place.partition >= 0}
    ends = destination.all_offsets(places, "latest")
    at = now_ms()
    return [
        first(
            lane,
            begins[lane.source],
            ends.get((lane.place.topic, lane.place.partition), 0),
            generation,
            lease,
            at,
        )
        for lane in mine
    ]


def _resolved(
    wanted: Mapping[SourcePartition, At], sources: Mapping[str, ClusterView]
) -> dict[SourcePartition, int]:
    """Wait for partitions without a leader: if resolved later, they would skip records too."""
    deadline = time.monotonic() + LEADER_SECONDS
    found: dict[SourcePartition, int] = {}
    while True:
        missing = [source for source in wanted if source not in found]
        for at in {wanted[source] for source in missing}:
            found |= source_ends(sources, [source for source in missing if wanted[source] == at], at)
        unled = [source for source in wanted if source not in found]
        if not unled:
            return found
        if time.monotonic() > deadline:
            raise Unreachable(
                f"the start of {len(unled)} partition(s) cannot be resolved: no leader answers",
                where=", ".join(map(str, unled[:10])),
                todo='bring their brokers back; with start = "earliest" they would be waited for later',
            )
        time.sleep(0.1)
