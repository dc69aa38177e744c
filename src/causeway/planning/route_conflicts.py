"""Refuses routes that conflict with those of mirrors in other processes, according to their ledgers.

`planning/rules/route_conflicts.py` has the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from causeway.config import MirrorSettings
from causeway.core.clock import now_ms
from causeway.core.ledger_record import RouteClaim
from causeway.core.plan import Refusal
from causeway.core.route import ClusterTopic, Edge
from causeway.core.task_order import ledger_topic
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledgers import OtherLedger, other_ledgers
from causeway.planning.routing import KnownEdge, Neighbours, RouteKey, edges, selection_of, way_back
from causeway.planning.rules.route_conflicts import (
    ALIVE_MS,
    begun_topics,
    has_same_route,
    is_alive,
    is_known,
    is_settled,
)
from causeway.planning.survey import Survey
from causeway.rules.ledger_state import LedgerState

UNKNOWN = "cannot tell whether another mirror has the same routes"


def refuse_claimed(
    mirror: MirrorSettings,
    found: Survey,
    sources: Mapping[str, ClusterView],
    destination: ClusterView,
    image: LedgerState,
    neighbours: Neighbours,
    *,
    starting: bool,
    later: bool,
    write: Callable[[Sequence[RouteClaim]], None],
    wait: Callable[[], None],
    warn: Callable[[str], None],
) -> bool:
    """Claim the routes of a survey, and refuse those that conflict with mirrors in other processes.

    A conflict is the same route of any other mirror, running or not, or a loop back to the source topic over
    running mirrors. `write` commits claims, `wait` returns once others can read them. At a start all routes
    are compared, afterwards only those that are not settled. What is claimed `later`, after the start, begins
    at earliest, and its claim records that.

    Returns whether unsettled claims are left because ledgers could not be read. The mirror replicates these
    routes anyway: otherwise a user without rights to another ledger could not replicate anything.
    """
    claims = {
        key: replace(claim, later=_begins_later(image.claims.get(claim.source), later))
        for key, claim in _claims(mirror, found, sources, destination)
    }
    fresh = {
        key: claim for key, claim in claims.items() if not is_settled(claim, image.claims.get(claim.source))
    }
    before = dict(image.claims)
    unwritten = [claim for claim in fresh.values() if not is_known(claim, image.claims.get(claim.source))]
    left = _left(mirror, sources, destination, image) if starting else []
    if unwritten or left:
        write([*unwritten, *left])
    if not claims or not (fresh or starting):
        return False
    if fresh:
        wait()  # before the others are read; also for claims written earlier and not waited for
    begun = begun_topics(image.positions)
    new = {claim.source for claim in fresh.values() if claim.source not in begun}
    read = partial(_read, f"causeway.{mirror.name}.ledger", warn)
    there, all_read = read(destination, {mirror.name, *neighbours.on(destination.cluster_id())}, new)
    running = _running(there, destination)
    for view in sources.values():
        if view.cluster_id() != destination.cluster_id():  # there, a ledger of its own name is another's
            here, complete = read(view, neighbours.on(view.cluster_id()), ())
            running += _running(here, view)
            all_read = all_read and complete
    own = [
        KnownEdge(edge, mirror.provenance, mirror.name)
        for edge in edges(found.routes.values(), sources, destination)
    ]
    graph = EdgeGraph([*own, *neighbours.edges, *running]) if running else EdgeGraph([])
    updates = []
    for key, claim in claims.items():
        edge = claim.source, ClusterTopic(destination.cluster_id(), claim.to_topic)
        refusal = _same_route(key, claim, there, begun) if key in fresh else None
        refusal = refusal or _comes_back(key, edge, mirror, graph)
        if refusal is not None:
            del found.routes[key]
            found.refusals.append(refusal)
        if key in fresh and refusal is not None:
            known = before.get(claim.source)
            updates.append(replace(_withdrawn(claim), later=known is not None and known.later))
        elif key in fresh and all_read:
            updates.append(replace(claim, settled=True))
    if updates:
        write(updates)
    return len(updates) < len(fresh)


class EdgeGraph:
    """All known edges, to find loops."""

    def __init__(self, known: Sequence[KnownEdge]) -> None:
        self.known = known
        self.sources = {
            known_edge.edge[0] for known_edge in known
        }  # from any other topic there is no way back
        self.mirrors = {known_edge.edge: known_edge.mirror for known_edge in known}


def _left(
    mirror: MirrorSettings,
    sources: Mapping[str, ClusterView],
    destination: ClusterView,
    image: LedgerState,
) -> list[RouteClaim]:
    """Withdraw claims of routes that the configuration no longer has: other mirrors may take them."""
    selection = selection_of(mirror, sources, destination)
    return [
        _withdrawn(claim)
        for claim in image.claims.values()
        if claim.to_topic
        and selection.to(claim.source) != ClusterTopic(destination.cluster_id(), claim.to_topic)
    ]


def _begins_later(known: RouteClaim | None, later: bool) -> bool:
    """A claim in force keeps its `later`; a topic without one (refused at the start, say) begins now."""
    if known is None:
        return later
    return known.later or (later and not known.to_topic)


def _withdrawn(claim: RouteClaim) -> RouteClaim:
    return replace(claim, to_topic="", to_topic_id="", settled=False, at=now_ms())


def _claims(
    mirror: MirrorSettings, found: Survey, sources: Mapping[str, ClusterView], destination: ClusterView
) -> Iterable[tuple[RouteKey, RouteClaim]]:
    at = now_ms()
    for key, spot, to in _spots(found, sources, destination):
        facts = found.destinations.get(to.topic)
        if facts is not None and facts.topic_id:  # no id: deleted, or this user may not describe it
            yield (
                key,
                RouteClaim(
                    spot.cluster,
                    spot.topic,
                    to.topic,
                    facts.topic_id,
                    mirror.provenance,
                    settled=False,
                    at=at,
                ),
            )


def _same_route(
    key: RouteKey, claim: RouteClaim, others: Iterable[OtherLedger], begun: Collection[ClusterTopic]
) -> Refusal | None:
    for other in others:
        if has_same_route(claim, other.claims, other.positions, begun=claim.source in begun):
            ledger = ledger_topic(other.mirror)
            why = f'mirror "{other.mirror}" also replicates it to topic {claim.to_topic}, by its ledger'
            todo = (
                "give it another name here with prefix, suffix or rename; or exclude it there and start that"
                f" mirror again; if that mirror will never run again, delete topic {ledger}"
            )
            return Refusal(*key, f"{why}: every record would arrive twice", todo, integrity=True)
    return None


def _comes_back(key: RouteKey, edge: Edge, mirror: MirrorSettings, graph: EdgeGraph) -> Refusal | None:
    if edge[1] not in graph.sources or not (back := way_back(edge, mirror.provenance, graph.known)):
        return None
    steps = " → ".join(spot.topic for spot in (edge[0], *back))
    names = {graph.mirrors[step] for step in pairwise((edge[0], *back)) if step in graph.mirrors}
    others = ", ".join(f'"{name}"' for name in sorted(names - {mirror.name}))
    return Refusal(
        *key,
        f"its records would come back to it in a loop ({steps}), through the running mirror {others}",
        "set provenance = true on all mirrors of the loop, or use a prefix;"
        f" or stop that mirror, and wait until it has written no heartbeat for {ALIVE_MS // 1_000} s",
    )


def _running(others: Iterable[OtherLedger], view: ClusterView) -> list[KnownEdge]:
    """The edges to this cluster of mirrors that run now in other processes."""
    now = now_ms()
    return [
        KnownEdge(
            (claim.source, ClusterTopic(view.cluster_id(), claim.to_topic)), claim.provenance, other.mirror
        )
        for other in others
        if is_alive(other.beat, other.begun, now)
        for claim in other.claims.values()
        if claim.to_topic
    ]


def _read(
    group: str,
    warn: Callable[[str], None],
    view: ClusterView,
    leave_out: Collection[str],
    topics: Collection[ClusterTopic],
) -> tuple[list[OtherLedger], bool]:
    """The other ledgers, and whether all of them were read; warns if not."""
    try:
        others = other_ledgers(view, group, leave_out, topics)
    except CausewayError as error:
        warn(f"{UNKNOWN}: {error}")
        return [], False
    if unread := sorted(other.mirror for other in others if other.unread):
        names = ", ".join(unread[:5])
        warn(
            f"{UNKNOWN}: the ledger of {names} cannot be read: no permission, or its leader does not respond"
        )
    return others, not unread


def _spots(
    found: Survey, sources: Mapping[str, ClusterView], destination: ClusterView
) -> list[tuple[RouteKey, ClusterTopic, ClusterTopic]]:
    """Each route's key, source topic and destination topic."""
    return [
        (
            key,
            ClusterTopic(sources[key[0]].cluster_id(), key[1]),
            ClusterTopic(destination.cluster_id(), route.to),
        )
        for key, route in found.routes.items()
    ]
