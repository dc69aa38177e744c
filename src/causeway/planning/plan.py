"""Plans a mirror after a survey: creates missing topics, and assigns a place to each source partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from causeway.core.plan import Plan, Refusal
from causeway.core.position import Place, SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.task_order import Lane
from causeway.core.topic import TopicFacts
from causeway.errors import AccessDenied, CausewayError, PlanRefused, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.planning.routing import Routes
from causeway.planning.rules.batch_limits import DEFAULT_MAX_BYTES, limit_of, small
from causeway.planning.rules.partitioning import has_place, place_of
from causeway.planning.rules.timings import timings_of
from causeway.planning.rules.topics import Create, Grow
from causeway.planning.survey import Survey, in_part, lack_timings


def prepare(survey: Survey, destination: ClusterView) -> Iterator[TopicFacts]:
    """Create missing topics, and grow those that Causeway created; yields each new one.

    A topic that the cluster rejects becomes a refusal in `survey`; the others are created anyway.
    """
    for name, action in list(survey.actions.items()):
        try:
            created = _act(name, action, destination)
        except (PlanRefused, AccessDenied) as error:
            _refuse(survey, name, error)
            continue
        facts = destination.describe([name])
        if name not in facts:
            raise Unreachable(
                f"topic {name} was created, but the brokers do not know it yet",
                where=f'cluster "{destination.cluster.alias}"',
                cluster=destination.cluster.alias,
            )
        survey.destinations |= facts
        if isinstance(action, Create):
            survey.batch_limits[name] = limit_of(action.config)
        if created:
            yield facts[name]
    yield from _prepare_timings(survey, destination)


def _prepare_timings(survey: Survey, destination: ClusterView) -> Iterator[TopicFacts]:
    """Create missing timings topics of the routes that are left."""
    wanted = timings_of(survey.routes.values())
    for name in sorted(survey.timings.create.keys() & wanted.keys()):
        create = survey.timings.create[name]
        try:
            created = destination.create_topic(name, create.partitions, create.replication, create.config)
        except (PlanRefused, AccessDenied) as error:
            refusal = refusal_of("", "", error)
            lack_timings(survey, name, refusal.why, refusal.todo, denied=refusal.denied)
            continue
        survey.batch_limits[name] = limit_of(create.config)
        if created:
            yield from destination.describe([name]).values()


def _act(name: str, action: Create | Grow, destination: ClusterView) -> bool:
    """Create or grow a topic; returns whether it is new."""
    if isinstance(action, Create):
        return destination.create_topic(name, action.partitions, action.replication, action.config)
    destination.grow_topic(name, action.partitions)
    return False


def _refuse(survey: Survey, name: str, error: CausewayError) -> None:
    """Refuse the routes to this topic; if it only cannot grow, refuse just the partitions without a place."""
    action = survey.actions.pop(name)
    for (alias, topic), route in list(survey.routes.items()):
        if route.to == name:
            refusal = refusal_of(alias, topic, error)
            if isinstance(action, Create):
                del survey.routes[alias, topic]
            else:
                refusal = in_part(refusal, route, survey.destinations[name].partitions)
                if not refusal.partitions:
                    continue  # with by-key or modulo every partition has a place already
            survey.refusals.append(refusal)


def refusal_of(alias: str, topic: str, error: CausewayError) -> Refusal:
    why = f"{error.what}: {error.why}" if error.why else error.what
    return Refusal(alias, topic, why, error.todo, denied=isinstance(error, AccessDenied))


def plan_of(
    survey: Survey,
    sources: Mapping[str, ClusterView],
) -> Plan:
    """Plan every partition of every topic that can be replicated."""
    lanes = []
    for (alias, name), route in sorted(survey.routes.items()):
        topic = survey.destinations.get(route.to)
        if topic is None:
            continue
        cluster_id = sources[alias].cluster_id()
        action = survey.actions.get(route.to)  # not executed yet if this is only a check
        count = max(topic.partitions, action.partitions if action else 0)
        for number in range(route.source.partitions):
            if not has_place(route.placement, number, count):
                continue  # the topic could not grow: there is a refusal
            place = Place(route.to, topic.topic_id, place_of(route.placement, number, count))
            source = SourcePartition(cluster_id, name, number)
            limit = small(survey.batch_limits.get(route.to, DEFAULT_MAX_BYTES))
            lanes.append(Lane(source, route.source.topic_id, place, until=None, batch_limit=limit))
    # What was replicated and no longer exists is judged, not forgotten.
    lanes += [Lane(gone.source, gone.topic_id, gone.place, until=None) for gone in survey.gone]
    gone = frozenset(position.source for position in survey.gone)
    refused = tuple(_whole(refusal, survey.every) for refusal in survey.refusals)
    return Plan(
        tuple(_marked(lanes)),
        refused,
        survey.batch_limits,
        gone,
        tuple(survey.unmatched),
        frozenset(survey.timings.topics),
    )


def _marked(lanes: list[Lane]) -> Iterator[Lane]:
    """Mark lanes that share a destination partition with others."""
    crowded = Counter(lane.place for lane in lanes)
    for lane in lanes:
        shared = lane.place.partition == BY_KEY or crowded[lane.place] > 1
        yield replace(lane, shared=True) if shared else lane


def _whole(refusal: Refusal, every: Routes) -> Refusal:
    route = every.get((refusal.source, refusal.topic))
    if route is None or refusal.partial:
        return refusal
    return replace(refusal, to=route.to, partitions=tuple(range(route.source.partitions)))
