"""Derives routes from settings and source topics, and finds those that must be refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from causeway.config import MirrorSettings
from causeway.core.plan import Refusal
from causeway.core.route import ClusterTopic, Edge, Placement, Route
from causeway.kafka.admin import ClusterView
from causeway.planning.rules.loops import way
from causeway.planning.rules.naming import LONGEST, destination_name
from causeway.planning.rules.selection import select
from causeway.planning.rules.timings import timings_clash, timings_of
from causeway.rules.ledger_state import LedgerState

RouteKey = tuple[str, str]  # alias and source topic
Routes = dict[RouteKey, Route]


class KnownEdge(NamedTuple):
    """An edge of a mirror, and whether that mirror marks records with their origin."""

    edge: Edge
    marks: bool
    mirror: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What a mirror's settings select, whether or not it exists and can be replicated."""

    mirror: MirrorSettings
    sources: Mapping[str, str]  # alias by cluster id
    destination: str  # the cluster's id

    def to(self, here: ClusterTopic) -> ClusterTopic | None:
        """The destination topic for this topic; None if the mirror does not select it."""
        alias = self.sources.get(here.cluster)
        if alias is None:
            return None
        seen = self.mirror.for_source(alias)
        if not select([here.topic], seen.topics, seen.exclude):
            return None
        return ClusterTopic(
            self.destination, destination_name(here.topic, seen.prefix, seen.suffix, seen.rename)
        )


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The other mirrors of this process."""

    names: frozenset[tuple[str, str]] = frozenset()  # with the id of the cluster that has their ledger
    edges: tuple[KnownEdge, ...] = ()  # what they replicate
    # Of two mirrors with the same route the later one is refused, whichever finds the topic first. Settings
    # decide that, so two threads that survey at the same time cannot miss each other.
    earlier: tuple[Selection, ...] = ()

    def on(self, cluster_id: str) -> set[str]:
        """Mirrors whose ledger is on this cluster; on other clusters the same names are other mirrors."""
        return {name for cluster, name in self.names if cluster == cluster_id}


ALONE = Neighbours()


def selection_of(
    mirror: MirrorSettings, sources: Mapping[str, ClusterView], destination: ClusterView
) -> Selection:
    ids = {view.cluster_id(): alias for alias, view in sources.items()}
    return Selection(mirror, ids, destination.cluster_id())


def routes(mirror: MirrorSettings, sources: Mapping[str, ClusterView], destination: ClusterView) -> Routes:
    """The selected source topics, and where they go. Cheap enough to call every few seconds."""
    selected: Routes = {}
    for alias, view in sources.items():
        own = mirror.for_source(alias)
        for name, facts in view.describe(select(view.topic_names(), own.topics, own.exclude)).items():
            to = destination_name(name, own.prefix, own.suffix, own.rename)
            selected[alias, name] = Route(alias, facts, to, _placement(mirror, name))
    timings = timings_of(selected.values()) if mirror.timings == "topic" else {}
    return {
        key: route
        for key, route in selected.items()
        if not (_onto_itself(route, sources, destination) and _is_output(mirror, route, selected))
        and not (_within(route, sources, destination) and _is_timings(mirror, route, timings))
    }


def _placement(mirror: MirrorSettings, topic: str) -> Placement:
    where = mirror.partition_map.get(topic)
    if isinstance(where, int):
        return Placement(fixed=where, modulo=mirror.modulo)
    if where:
        return Placement(pairs=where, modulo=mirror.modulo)
    return Placement(by_key=mirror.partitions == "by-key", modulo=mirror.modulo)


def _onto_itself(route: Route, sources: Mapping[str, ClusterView], destination: ClusterView) -> bool:
    return _within(route, sources, destination) and route.to == route.source.name


def _within(route: Route, sources: Mapping[str, ClusterView], destination: ClusterView) -> bool:
    """Whether the route stays in one cluster."""
    return sources[route.alias].cluster_id() == destination.cluster_id()


def _is_timings(mirror: MirrorSettings, route: Route, timings: Mapping[str, str]) -> bool:
    """Whether a pattern selected timings that the mirror itself writes: each record would cause another."""
    return route.source.name in timings and route.source.name not in mirror.for_source(route.alias).topics


def _is_output(mirror: MirrorSettings, route: Route, found: Routes) -> bool:
    """Whether a pattern selected the mirror's own output, in a mirror within one cluster."""
    seen, name = mirror.for_source(route.alias), route.source.name
    if name in seen.topics:
        return False
    marked = bool(seen.prefix or seen.suffix) and name.startswith(seen.prefix) and name.endswith(seen.suffix)
    return marked or any(other.to == name and other is not route for other in found.values())


def edges(
    found: Iterable[Route], sources: Mapping[str, ClusterView], destination: ClusterView
) -> Iterator[Edge]:
    for route in found:
        here = ClusterTopic(sources[route.alias].cluster_id(), route.source.name)
        yield here, ClusterTopic(destination.cluster_id(), route.to)


def refusals(
    mirror: MirrorSettings,
    found: Routes,
    sources: Mapping[str, ClusterView],
    destination: ClusterView,
    image: LedgerState,
    neighbours: Neighbours = ALONE,
) -> list[Refusal]:
    """Routes that would lose, mix or repeat records, alone or together with those of other mirrors."""
    homes: dict[str, list[RouteKey]] = {}
    for key, route in found.items():
        homes.setdefault(route.to, []).append(key)
    own = [
        KnownEdge(edge, mirror.provenance, mirror.name)
        for edge in edges(found.values(), sources, destination)
    ]
    known = [*own, *neighbours.edges]
    edge_sources = {other.edge[0] for other in known}  # from any other topic there is no way back
    replicated = _replicated_to(image)
    origins: dict[tuple[str, str], set[str]] = {}
    for spot, to in replicated.items():
        origins.setdefault((spot.topic, to), set()).add(spot.cluster)
    ids = {view.cluster_id() for view in sources.values()}
    refused = []
    for (alias, name), route in found.items():
        cluster_id = sources[alias].cluster_id()
        spots = ClusterTopic(cluster_id, name), ClusterTopic(destination.cluster_id(), route.to)
        before = replicated.get(spots[0])
        others = [key for key in homes[route.to] if key != (alias, name)]
        integrity = False
        if spots[0] == spots[1]:
            why = "it would be replicated to itself, in the same cluster"
            todo = "give it another name with prefix, suffix or rename, or exclude it"
        elif twin := next(
            (other.mirror.name for other in neighbours.earlier if other.to(spots[0]) == spots[1]), ""
        ):
            why = f'mirror "{twin}" also replicates it to topic {route.to}: every record would arrive twice'
            todo = "exclude it from one of the two mirrors, or give it another name in one of them"
        elif len(route.to) > LONGEST or route.to in (".", ".."):
            why = f"{route.to[:40]}… is not a valid topic name ({len(route.to)} characters)"
            todo = "give it another name with rename"
        elif before is not None and before != route.to:
            why = f"it was replicated to topic {before} until now, and the configuration has {route.to}"
            todo = "restore the name, or rename the mirror: a renamed mirror starts from the beginning"
            integrity = True
        elif others and not mirror.merge and before is None:
            names = ", ".join(map(_label, others))
            why = f"{names} would be written to the destination topic {route.to} as well"
            todo = "give it another name with prefix, suffix or rename, or set merge = true"
        elif before is None and (gone := origins.get((name, route.to), set()) - ids):
            why = (
                f"topic {route.to} has records replicated from {name} of the cluster with the id {min(gone)}"
            )
            why += f", and this cluster's id is {cluster_id}: everything would be replicated again"
            todo = "read from that cluster again; or, if this one replaced it, rename the mirror"
            todo += " and `causeway adopt` what is there"
            integrity = True
        elif spots[1] in edge_sources and (back := way_back(spots, mirror.provenance, known)):
            steps = " → ".join(spot.topic for spot in (spots[0], *back))
            why = f"its records would come back to it in a loop ({steps})"
            todo = "set provenance = true on all mirrors of the loop, or use a prefix"
        else:
            continue
        refused.append(Refusal(alias, name, why, todo, integrity))
    if mirror.timings == "topic":
        known_refused = {(refusal.source, refusal.topic) for refusal in refused}
        others_write = _written_by_others(destination.cluster_id(), neighbours)
        timings = timings_of(found.values())
        for key in [key for key in found if key not in known_refused]:
            why, todo = timings_clash(found[key], timings, others_write)
            refused += [Refusal(*key, why, todo)] if why else []
    return refused


def _written_by_others(cluster_id: str, neighbours: Neighbours) -> dict[str, str]:
    """The topics that other mirrors write to on this cluster, and their names."""
    return {
        known.edge[1].topic: known.mirror for known in neighbours.edges if known.edge[1].cluster == cluster_id
    }


def _replicated_to(image: LedgerState) -> dict[ClusterTopic, str]:
    """The destination topic of each source topic, according to the ledger."""
    return {
        ClusterTopic(source.cluster, source.topic): position.place.topic
        for source, position in image.positions.items()
    }


def way_back(edge: Edge, marks: bool, known: Sequence[KnownEdge]) -> list[ClusterTopic]:
    """The path by which records would come back; empty if there is none, or every mirror on it marks them."""
    source, destination = edge
    every = [other.edge for other in known]
    if not marks:
        return way(every, destination, source)
    for (here, there), marked, _ in known:
        if not marked and (to := way(every, destination, here)) and (back := way(every, there, source)):
            return [*to, *back]
    return []


def _label(key: RouteKey) -> str:
    return f"{key[0]}:{key[1]}"
