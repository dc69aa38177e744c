"""Whether another mirror replicates the same source topic to the same destination topic. Pure.

Two mirrors in two processes know each other by their ledgers. Each one commits a claim for a route, waits
until readers see it (brokers respond to a commit before its markers are written), and only then reads the
other ledgers. So if two find a topic at the same time, at least one sees the other:

    A commits its claim, and readers see it.   B commits its claim, and readers see it.
    A reads B's ledger: claimed. A withdraws, and refuses the route.
    B reads A's ledger: claimed, or withdrawn already. B withdraws too, or goes on.

If both withdraw, nothing is replicated twice, and both retry later. A claim is settled when all other ledgers
were read and none has the route; an unsettled claim (a kill came between, or a ledger could not be read) is
compared again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.core.ledger_record import RouteClaim
from causeway.core.position import Position, SourcePartition
from causeway.core.route import ClusterTopic
from causeway.rules.integrity import same_topic

ALIVE_MS, STARTING_MS = 30_000, 120_000
"""A driver counts as running this long after its last heartbeat, or after its start: it waits for Spark
first."""


def is_settled(claim: RouteClaim, known: RouteClaim | None) -> bool:
    """Whether the ledger has this claim already, compared with the other ledgers and found free."""
    return known is not None and known.settled and is_known(claim, known)


def is_known(claim: RouteClaim, known: RouteClaim | None) -> bool:
    """Whether the ledger has this claim already, settled or not."""
    return known is not None and claim.provenance == known.provenance and _same_place(claim, known)


def has_same_route(
    claim: RouteClaim,
    claims: Mapping[ClusterTopic, RouteClaim],
    positions: Iterable[Position],
    *,
    begun: bool,
) -> bool:
    """Whether another mirror's ledger has the route of this claim.

    A ledger without any claim is of an older version, so its positions decide; but not if this mirror has
    `begun` with the topic, since the other one may be retired. If that one ever runs again, it claims the
    route, and finds this one.
    """
    other = claims.get(claim.source)
    if other is not None and _same_place(claim, other):
        return True
    return not claims and not begun and any(_lies_there(claim, position) for position in positions)


def begun_topics(positions: Iterable[SourcePartition]) -> set[ClusterTopic]:
    return {ClusterTopic(source.cluster, source.topic) for source in positions}


def is_alive(beat: int, begun: int, now: int) -> bool:
    return beat > now - ALIVE_MS or begun > max(beat, now - STARTING_MS)


def _same_place(claim: RouteClaim, other: RouteClaim) -> bool:
    return bool(other.to_topic) and (
        claim.to_topic == other.to_topic and same_topic(claim.to_topic_id, other.to_topic_id)
    )


def _lies_there(claim: RouteClaim, position: Position) -> bool:
    source, place = position.source, position.place
    return (
        claim.source == ClusterTopic(source.cluster, source.topic)
        and claim.to_topic == place.topic
        and same_topic(claim.to_topic_id, place.topic_id)
    )
