"""Reports what would happen to a mirror's topics, and what prevents it. Reads both sides, writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from causeway.checking.checked_mirror import CheckedMirror
from causeway.checking.record_checks import check_retention, check_sizes
from causeway.core.check_report import Remark, note, ok, problem, warning
from causeway.core.plural import counted
from causeway.core.position import Position, SourcePartition
from causeway.core.route import Placement
from causeway.errors import CausewayError, IntegrityError, PlanRefused
from causeway.kafka.admin import ClusterView
from causeway.kafka.pool_view import PoolView
from causeway.planning.plan import plan_of
from causeway.planning.route_conflicts import refuse_claimed
from causeway.planning.rules.naming import alike
from causeway.planning.rules.readiness import nameless
from causeway.planning.rules.topics import Create, Grow
from causeway.planning.survey import Survey, survey
from causeway.rules.integrity import LogFacts, judge
from causeway.rules.timings import TIMES_ADDED


def remarks(checked: CheckedMirror) -> Iterator[Remark]:
    """Remarks on every topic; a request that fails becomes one of them."""
    try:
        surveyed = survey(
            checked.mirror, checked.sources, checked.destination, checked.ledger, checked.others
        )
        warnings: list[str] = []
        refuse_claimed(
            checked.mirror,
            surveyed,
            checked.sources,
            checked.destination,
            checked.ledger,
            checked.others,
            starting=True,
            later=False,
            write=lambda _claims: None,
            wait=lambda: None,
            warn=warnings.append,
        )
    except CausewayError as error:
        yield problem(error)
        return
    yield from map(warning, warnings)
    parts: tuple[Callable[[CheckedMirror, Survey], Iterator[Remark]], ...] = (
        _topics, _timings, _refused, _creatable, _identity, _positions, check_sizes, check_retention,
    )  # fmt: skip
    for part in parts:
        try:
            yield from part(checked, surveyed)
        except CausewayError as error:
            yield problem(error)


def _topics(checked: CheckedMirror, surveyed: Survey) -> Iterator[Remark]:
    positions = checked.ledger.positions
    for (alias, topic), route in sorted(surveyed.routes.items()):
        cluster_id = checked.sources[alias].cluster_id()
        facts, to = route.source, route.to
        name = topic if to == topic else f"{topic} → {to}"
        positioned = [
            positions[source]
            for number in range(facts.partitions)
            if (source := SourcePartition(cluster_id, topic, number)) in positions
        ]
        place = surveyed.destinations.get(to)
        match surveyed.actions.get(to):
            case Create(partitions, replication, config):
                settings = [
                    f"{key}={value}" for key, value in sorted(config.items()) if _is_topic_specific(key)
                ]
                yield note(
                    f"{name}: would be created with {counted(partitions, 'partition')},"
                    f" replication factor {replication}, {', '.join(settings)}"
                )
            case Grow(partitions):
                current = place.partitions if place else 0
                yield note(f"{name}: would grow from {current} to {counted(partitions, 'partition')}")
            case _ if positioned:
                records = sum(position.tally.delivered for position in positioned)
                lag = _lag(checked.sources[alias], positioned)
                yield ok(
                    f"{name}: {len(positioned)} of {counted(facts.partitions, 'partition')} started,"
                    f" {counted(records, 'record')} replicated, lag {counted(lag, 'offset')}"
                )
            case _:
                yield ok(f"{name}: {counted(facts.partitions, 'partition')}, into the existing topic")
        if place and place.partitions > facts.partitions and route.placement == Placement():
            yield note(
                f"{name}: the destination has {counted(place.partitions, 'partition')}, the source"
                f" {facts.partitions}: the last ones stay empty"
            )
    near = {unmatched.entry: unmatched.nearest for unmatched in surveyed.unmatched}
    for alias, name in surveyed.absent:
        yield warning(
            f'{name}: does not exist on "{alias}" (yet)',
            f"the nearest topic is {near[name]}" if near.get(name) else "",
        )
    names = {name for _, name in surveyed.absent}
    for unmatched in surveyed.unmatched:
        if unmatched.entry not in names:
            yield warning(str(unmatched), "list the existing topics: kafka-topics.sh --list")


def _timings(checked: CheckedMirror, surveyed: Survey) -> Iterator[Remark]:
    timings = surveyed.timings
    if checked.mirror.timings == "headers":
        yield note(TIMES_ADDED)
    for name, create in sorted(timings.create.items()):
        settings = ", ".join(f"{key}={value}" for key, value in sorted(create.config.items()))
        yield note(
            f"{name}: would be created for timings, with {counted(create.partitions, 'partition')},"
            f" replication factor {create.replication}, {settings}"
        )
    if timings.existing:
        yield ok(f"timings go to {counted(len(timings.existing), 'existing topic')}")
    yield from map(warning, surveyed.warnings)


def _creatable(checked: CheckedMirror, surveyed: Survey) -> Iterator[Remark]:
    """What the destination's brokers reject of the topics that would be created."""
    to_create = {to: action for to, action in surveyed.actions.items() if isinstance(action, Create)}
    to_create |= surveyed.timings.create
    refused = checked.destination.would_reject(
        {to: (action.partitions, action.replication, action.config) for to, action in to_create.items()}
    )
    yield from (problem(refused[to]) for to in sorted(refused))
    for to, other in alike(to_create).items():
        if to not in refused:
            yield problem(
                PlanRefused(
                    f"{to}: cannot be created beside {other}: Kafka rejects topic names that differ only in"
                    " . and _",
                    todo="give one of them another name with `rename`, or exclude it",
                )
            )


def _is_topic_specific(setting: str) -> bool:
    """Timestamps are always preserved: their settings are the same for every topic."""
    return not setting.startswith("message.timestamp.")


def _lag(view: ClusterView, positioned: list[Position]) -> int:
    at = {(position.source.topic, position.source.partition): position.offset for position in positioned}
    return sum(max(0, end - at[partition]) for partition, end in view.offsets(at, "stable").items())


def _refused(_checked: CheckedMirror, surveyed: Survey) -> Iterator[Remark]:
    for refusal in surveyed.refusals:
        kind = IntegrityError if refusal.integrity else PlanRefused
        yield problem(kind(f"{refusal.topic}: {refusal.why}", todo=refusal.todo))


def _identity(checked: CheckedMirror, surveyed: Survey) -> Iterator[Remark]:
    topics_of = {checked.mirror.destination: list(surveyed.destinations.values())}
    for (alias, _), route in surveyed.routes.items():
        if isinstance(checked.sources[alias], PoolView):
            continue  # its topics have an id on each node
        topics_of.setdefault(alias, []).append(route.source)
    for alias, topics in topics_of.items():
        remark = nameless(alias, topics)
        if remark is not None:
            yield remark


def _positions(checked: CheckedMirror, surveyed: Survey) -> Iterator[Remark]:
    """Whether partitions could resume at the ledger's positions."""
    positions = checked.ledger.positions
    stopped = dict(checked.ledger.stopped)
    lanes = [lane for lane in plan_of(surveyed, checked.sources).lanes if lane.source in positions]
    for alias, view in checked.sources.items():
        cluster_lanes = [lane for lane in lanes if lane.source.cluster == view.cluster_id()]
        partitions = [(lane.source.topic, lane.source.partition) for lane in cluster_lanes]
        starts, ends = view.offsets(partitions, "earliest"), view.offsets(partitions, "latest")
        for lane, at in zip(cluster_lanes, partitions, strict=True):
            if at not in starts or at not in ends:
                yield warning(f'{lane.source}: has no leader on "{alias}" now')
                continue
            # In the survey, a deleted destination topic has no id.
            log = LogFacts(lane.topic_id, starts[at], ends[at], lane.place.topic_id or None)
            finding = judge(lane, positions[lane.source], log)
            if finding is not None:
                stopped.pop(lane.source, None)
                yield problem(IntegrityError(f"{lane.source}: {finding.what}", todo=finding.todo))
    for source, record in sorted(stopped.items()):
        yield warning(f"{source}: stopped in the last run ({record.verdict}): {record.what}", record.todo)
