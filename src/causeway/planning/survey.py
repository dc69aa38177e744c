"""Surveys both sides of a mirror: what can be replicated, which topics are missing, what is refused.

It only reads: `causeway check` and `causeway adopt` use it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from causeway.config import MirrorSettings
from causeway.core.plan import Refusal, Unmatched
from causeway.core.position import Position
from causeway.core.route import Route
from causeway.core.task_order import ledger_topic, offset_map_topic
from causeway.core.topic import TopicFacts
from causeway.kafka.admin import ClusterView
from causeway.planning.routing import ALONE, Neighbours, RouteKey, Routes, refusals, routes
from causeway.planning.rules.batch_limits import DEFAULT_MAX_BYTES, limit_of
from causeway.planning.rules.partitioning import has_place, needed, wished
from causeway.planning.rules.selection import absent, is_name, nearest, select
from causeway.planning.rules.topics import Create, Grow, Refuse, TopicAction, fit, held, new_topic
from causeway.planning.rules.write_access import no_access
from causeway.planning.timings import TimingsSurvey, survey_timings
from causeway.rules.integrity import same_topic
from causeway.rules.ledger_state import LedgerState
from causeway.rules.timings import timings_topic


@dataclass(slots=True)
class Survey:
    """The current state of both sides, for one mirror."""

    routes: Routes = field(default_factory=dict)  # those that can be replicated, at least in part
    every: Routes = field(default_factory=dict)  # including refused ones
    destinations: dict[str, TopicFacts] = field(default_factory=dict)
    actions: dict[str, Create | Grow] = field(default_factory=dict)  # by destination topic
    refusals: list[Refusal] = field(default_factory=list)
    absent: list[tuple[str, str]] = field(default_factory=list)  # alias, named topic that does not exist
    unmatched: list[Unmatched] = field(default_factory=list)
    gone: list[Position] = field(default_factory=list)  # of what was replicated and no longer exists
    max_bytes: dict[str, int] = field(default_factory=dict)  # of existing destination topics
    batch_limits: dict[str, int] = field(default_factory=dict)  # of these, and of the mirror's own topics
    timings: TimingsSurvey = field(default_factory=TimingsSurvey)
    begun: set[RouteKey] = field(default_factory=set)  # routes of which the ledger has positions
    warnings: list[str] = field(default_factory=list)  # about what is replicated nevertheless


def survey(
    mirror: MirrorSettings,
    sources: Mapping[str, ClusterView],
    destination: ClusterView,
    image: LedgerState,
    neighbours: Neighbours = ALONE,
    *,
    adopting: bool = False,
) -> Survey:
    """Read both sides and decide about every topic. `adopting`: destination topics may hold records."""
    result = Survey()
    topics: dict[str, set[str]] = {}
    for alias, view in sources.items():
        settings, names = mirror.for_source(alias), set(view.topic_names())
        result.absent += [(alias, name) for name in absent(names, settings.topics)]
        positions = [own for own in image.positions.values() if own.source.cluster == view.cluster_id()]
        missing = {position.source.topic for position in positions} - names
        gone = set(select(missing, settings.topics, settings.exclude)) if missing else set()
        result.gone += [position for position in positions if position.source.topic in gone]
        topics[alias] = names | gone
    result.unmatched = _unmatched(mirror, topics)
    result.routes = routes(mirror, sources, destination)
    result.every = dict(result.routes)
    result.gone += _without_partition(image, result.routes, sources)
    result.refusals = refusals(mirror, result.routes, sources, destination, image, neighbours)
    for refusal in result.refusals:
        del result.routes[refusal.source, refusal.topic]
    denied: set[str] = set()
    result.destinations = destination.describe({route.to for route in result.routes.values()}, denied=denied)
    configs = destination.configs(result.destinations)
    result.max_bytes = {
        name: int(config.get("max.message.bytes", DEFAULT_MAX_BYTES)) for name, config in configs.items()
    }
    own = destination.describe([ledger_topic(mirror.name), offset_map_topic(mirror.name)])
    result.batch_limits = {
        name: limit_of(config) for name, config in {**configs, **destination.configs(own)}.items()
    }
    known = {(source.cluster, source.topic) for source in image.positions}
    ours = {(position.place.topic, position.place.topic_id) for position in image.positions.values()}
    occupied: dict[str, Refuse | None] = {}
    for (alias, name), route in list(result.routes.items()):
        if route.to in denied and (sources[alias].cluster_id(), name) not in known:
            lacking = no_access(route.to, destination.cluster.alias, "DESCRIBE", -1)
            result.refusals.append(Refusal(alias, name, lacking.what, lacking.todo, denied=True))
            del result.routes[alias, name]
            continue
        existing = result.destinations.get(route.to)
        action: TopicAction
        if existing is None:
            action = _missing(mirror, sources[alias], destination, route)
            if (sources[alias].cluster_id(), name) in known:
                # Deleted although it was replicated to, or this user may not describe it: a shard judges it.
                action = None
                count = wished(route.placement, route.source.partitions)
                result.destinations[route.to] = TopicFacts(route.to, "", count, 1)
        else:
            action = fit(
                needed(route.placement, route.source.partitions),
                wished(route.placement, route.source.partitions),
                existing,
                configs[route.to],
                made_by_us=route.to in image.created
                and image.created[route.to].topic_id == existing.topic_id,
                broker_timestamps=mirror.timestamps == "broker",
            )
            fresh = not adopting and (route.to, existing.topic_id) not in ours
            if action is None and fresh and (sources[alias].cluster_id(), name) not in known:
                if route.to not in occupied:
                    occupied[route.to] = _occupied(mirror, destination, existing)
                action = occupied[route.to]
        if isinstance(action, Refuse):
            refusal = Refusal(alias, name, action.why, action.todo, action.integrity)
            if action.short and (sources[alias].cluster_id(), name) in known:
                # The source topic grew: the partitions that have a place continue.
                assert existing is not None
                refusal = in_part(refusal, route, existing.partitions)
            else:
                del result.routes[alias, name]
            result.refusals.append(refusal)
        elif action is not None:
            result.actions[route.to] = _larger(action, result.actions.get(route.to))
    result.begun = {key for key in result.routes if (sources[key[0]].cluster_id(), key[1]) in known}
    result.timings = survey_timings(mirror, result.routes.values(), destination)
    result.batch_limits |= result.timings.batch_limits
    for name, refuse in result.timings.lacking.items():
        lack_timings(result, name, refuse.why, refuse.todo, denied=name in result.timings.denied)
    return result


def lack_timings(result: Survey, name: str, why: str, todo: str, *, denied: bool = False) -> None:
    """Refuse the routes with this timings topic, which can be neither used nor created.

    What is replicated already goes on without timings.
    """
    for (alias, topic), route in list(result.routes.items()):
        if timings_topic(topic, route.to) != name:
            continue
        if (alias, topic) in result.begun:
            result.warnings.append(f"{alias}:{topic} is replicated without timings: {why}; {todo}")
        else:
            result.refusals.append(Refusal(alias, topic, why, todo, denied=denied))
            del result.routes[alias, topic]


def _unmatched(mirror: MirrorSettings, topics: Mapping[str, set[str]]) -> list[Unmatched]:
    """Entries that select no topic of any source. With several sources, a topic need not be in all."""
    users: dict[str, list[str]] = {}
    for alias in topics:
        for entry in mirror.for_source(alias).topics:
            users.setdefault(entry, []).append(alias)
    unmatched = []
    for entry, aliases in users.items():
        # A name is looked up, not compared with every topic: there may be thousands of both.
        among = {alias: topics[alias] & {entry} if is_name(entry) else topics[alias] for alias in aliases}
        if any(select(names, [entry], mirror.for_source(alias).exclude) for alias, names in among.items()):
            continue
        every = frozenset().union(*(topics[alias] for alias in aliases))
        if select(every, [entry]):
            unmatched.append(Unmatched(entry, tuple(aliases), excluded=True))
        else:
            unmatched.append(Unmatched(entry, tuple(aliases), nearest(entry, every)))
    return unmatched


def _without_partition(
    image: LedgerState, routes: Routes, sources: Mapping[str, ClusterView]
) -> list[Position]:
    """Positions of partitions that a recreated topic does not have any more."""
    now = {(sources[alias].cluster_id(), name): route.source for (alias, name), route in routes.items()}
    return [
        position
        for position in image.positions.values()
        if (facts := now.get(position.source[:2])) is not None
        and position.source.partition >= facts.partitions
        and not same_topic(position.topic_id, facts.topic_id)
    ]


def in_part(refusal: Refusal, route: Route, there: int) -> Refusal:
    """Limit a refusal to the partitions without a place, if the destination has `there` partitions."""
    numbers = range(route.source.partitions)
    without = tuple(number for number in numbers if not has_place(route.placement, number, there))
    return replace(refusal, to=route.to, partitions=without, partial=True)


def _larger(action: Create | Grow, before: Create | Grow | None) -> Create | Grow:
    """Of several topics that share a destination, the one with the most partitions decides."""
    return before if before is not None and before.partitions > action.partitions else action


def _missing(
    mirror: MirrorSettings, source: ClusterView, destination: ClusterView, route: Route
) -> Create | Refuse:
    name, partitions = route.source.name, wished(route.placement, route.source.partitions)
    if not mirror.create_topics:
        return Refuse(
            f"topic {route.to} does not exist on the destination, and create_topics is false",
            f"kafka-topics.sh --create --topic {route.to} --partitions {partitions}",
        )
    own = source.configs([name], overridden=True).get(name, {})
    every = source.configs([name]).get(name, {})
    return new_topic(
        route.source,
        partitions,
        own,
        int(every.get("max.message.bytes", DEFAULT_MAX_BYTES)),
        destination.topic_settings(),
        destination.brokers(),
        mirror.replication_factor,
    )


def _occupied(mirror: MirrorSettings, destination: ClusterView, topic: TopicFacts) -> Refuse | None:
    """Refuse a destination with records unknown to the ledger: after a lost ledger all would be repeated."""
    if mirror.on_existing_records == "append":
        return None
    partitions = [(topic.name, number) for number in range(topic.partitions)]
    ends = destination.all_offsets(partitions, "latest")
    if not any(ends.values()):
        return None
    starts = destination.all_offsets(partitions, "earliest")
    return Refuse(
        f"the destination topic {topic.name}"
        f" {held([ends[spot] - starts[spot] for spot in partitions])} that the"
        f' ledger of mirror "{mirror.name}" does not know: replicating the source again could repeat them',
        "if another tool replicated them, take over where it stopped:"
        " `causeway adopt CONFIG --from group|destination-end|timestamp`;"
        ' if they have nothing to do with this mirror, set on_existing_records = "append"',
        integrity=True,
    )
