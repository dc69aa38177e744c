"""Looking at both sides: what is to be carried, what must be made first, what cannot be carried.

`survey` only reads (also for `causeway check`); `prepare` makes what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from causeway.config import MirrorSettings
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import LedgerImage
from causeway.model.order import Lane, Start
from causeway.model.plan import Plan, Refusal
from causeway.model.position import Place, SourcePartition
from causeway.model.topic import TopicFacts
from causeway.policy.selection import absent, select
from causeway.policy.topics import Action, Create, Grow, Refuse, fit, new_topic

DEFAULT_MAX_BYTES = 1_048_588
LARGEST_BATCH = 1_000_000


@dataclass(slots=True)
class Survey:
    """What both sides look like now, for one mirror."""

    topics: dict[tuple[str, str], TopicFacts] = field(default_factory=dict)  # by alias and name
    destinations: dict[str, TopicFacts] = field(default_factory=dict)
    actions: dict[str, Create | Grow] = field(default_factory=dict)  # by destination topic
    refusals: list[Refusal] = field(default_factory=list)
    absent: list[tuple[str, str]] = field(default_factory=list)  # alias, named topic that is not there
    max_bytes: dict[str, int] = field(default_factory=dict)  # by destination topic that exists


def survey(
    mirror: MirrorSettings,
    sources: Mapping[str, ClusterView],
    destination: ClusterView,
    image: LedgerImage,
) -> Survey:
    """Read both sides and decide about every topic."""
    result = Survey()
    for alias, view in sources.items():
        result.absent += [(alias, name) for name in absent(view.topic_names(), mirror.topics)]
    result.topics = shape(mirror, sources)
    _refuse_collisions(result, sources, destination)
    wanted = {name for _, name in result.topics}
    result.destinations = destination.describe(wanted)
    configs = destination.configs(result.destinations)
    result.max_bytes = {
        name: int(config.get("max.message.bytes", DEFAULT_MAX_BYTES)) for name, config in configs.items()
    }
    known = {(source.cluster, source.topic) for source in image.positions}
    for (alias, name), facts in list(result.topics.items()):
        found = result.destinations.get(name)
        action: Action
        if found is None:
            action = _missing(mirror, sources[alias], destination, facts)
            if (sources[alias].cluster_id(), name) in known:
                action = None  # deleted under the mirror: its lanes are judged, nothing is made anew
                result.destinations[name] = TopicFacts(name, "", facts.partitions, 1)
        else:
            action = fit(
                facts,
                found,
                configs[name],
                made_by_us=name in image.created and image.created[name].topic_id == found.topic_id,
                broker_timestamps=mirror.timestamps == "broker",
            )
            if action is None and (sources[alias].cluster_id(), name) not in known:
                action = _occupied(mirror, destination, found)
        if isinstance(action, Refuse):
            del result.topics[alias, name]
            result.refusals.append(Refusal(alias, name, action.why, action.todo, action.integrity))
        elif action is not None:
            result.actions[name] = action
    return result


def shape(mirror: MirrorSettings, sources: Mapping[str, ClusterView]) -> dict[tuple[str, str], TopicFacts]:
    """The selected source topics as they are now: cheap enough to ask every few seconds."""
    return {
        (alias, name): facts
        for alias, view in sources.items()
        for name, facts in view.describe(select(view.topic_names(), mirror.topics)).items()
    }


def _refuse_collisions(result: Survey, sources: Mapping[str, ClusterView], destination: ClusterView) -> None:
    """Two source topics in one destination topic, or a topic onto itself, cannot be carried."""
    homes: dict[str, list[str]] = {}
    for alias, name in result.topics:
        homes.setdefault(name, []).append(alias)
    for alias, name in list(result.topics):
        others = [other for other in homes[name] if other != alias]
        if sources[alias].cluster_id() == destination.cluster_id():
            why, todo = (
                "source and destination are the same cluster: it would feed itself",
                "choose another destination",
            )
        elif others:
            why = f"the topic exists on {', '.join(others)} too, and both would land in one topic"
            todo = "carry them with two mirrors into two clusters, or take one out of `topics`"
        else:
            continue
        del result.topics[alias, name]
        result.refusals.append(Refusal(alias, name, why, todo))


def _missing(
    mirror: MirrorSettings, source: ClusterView, destination: ClusterView, facts: TopicFacts
) -> Create | Refuse:
    if not mirror.create_topics:
        return Refuse(
            f"topic {facts.name} does not exist on the destination, and create_topics is false",
            f"kafka-topics.sh --create --topic {facts.name} --partitions {facts.partitions}",
        )
    own = source.configs([facts.name], overridden=True).get(facts.name, {})
    every = source.configs([facts.name]).get(facts.name, {})
    return new_topic(
        facts,
        own,
        int(every.get("max.message.bytes", DEFAULT_MAX_BYTES)),
        destination.topic_settings(),
        destination.brokers(),
        mirror.replication_factor,
    )


def _occupied(mirror: MirrorSettings, destination: ClusterView, found: TopicFacts) -> Refuse | None:
    """A destination that holds records nobody remembers carrying: a lost ledger would repeat them all."""
    if mirror.onto_existing == "append":
        return None
    partitions = [(found.name, number) for number in range(found.partitions)]
    held = sum(destination.offsets(partitions, "latest").values())
    if not held:
        return None
    return Refuse(
        f"the destination topic {found.name} already holds records (offsets up to {held}) that the ledger of"
        f' mirror "{mirror.name}" knows nothing of: carrying the source again could repeat them',
        'if they are not this mirror\'s, set onto_existing = "append"',
        integrity=True,
    )


def prepare(survey: Survey, destination: ClusterView) -> list[TopicFacts]:
    """Make the topics that are missing, grow those that Causeway made; answers the new ones."""
    made = []
    for name, action in survey.actions.items():
        if isinstance(action, Create):
            fresh = destination.create_topic(name, action.partitions, action.replication, action.config)
            survey.destinations.update(destination.describe([name]))
            if fresh:
                made.append(survey.destinations[name])
            survey.max_bytes[name] = int(action.config["max.message.bytes"])
        else:
            destination.grow_topic(name, action.partitions)
            survey.destinations.update(destination.describe([name]))
    return made


def plan_of(
    survey: Survey,
    sources: Mapping[str, ClusterView],
    starts: Mapping[SourcePartition, Start],
    made: Iterable[str],
) -> Plan:
    """Every partition of every topic that can be carried; those without a start begin at earliest."""
    lanes = []
    for (alias, name), facts in sorted(survey.topics.items()):
        place = survey.destinations.get(name)
        if place is None:
            continue
        cluster_id = sources[alias].cluster_id()
        lanes += [
            Lane(
                source=(source := SourcePartition(cluster_id, name, number)),
                topic_id=facts.topic_id,
                place=Place(name, place.topic_id, number),
                start=starts.get(source, "earliest"),
                until=None,
            )
            for number in range(facts.partitions)
        ]
    smallest = min([LARGEST_BATCH, *survey.max_bytes.values()])
    return Plan(tuple(lanes), tuple(survey.refusals), tuple(made), smallest)
