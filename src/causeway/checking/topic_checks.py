"""Reports what would happen to a mirror's topics, and what prevents it. Reads both sides, writes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from causeway.config import MirrorSettings
from causeway.core.check_report import Remark, note, ok, problem, warning
from causeway.core.position import Position, SourcePartition
from causeway.core.route import Placement
from causeway.errors import AccessDenied, CausewayError, IntegrityError, PlanRefused
from causeway.kafka.admin import ClusterView
from causeway.kafka.first_timestamps import first_timestamps
from causeway.planning.plan import Survey, plan_of, survey
from causeway.planning.route_conflicts import refuse_claimed
from causeway.planning.routing import ALONE, Neighbours
from causeway.planning.rules.batch_limits import DEFAULT_MAX_BYTES
from causeway.planning.rules.naming import alike
from causeway.planning.rules.readiness import kept_for, nameless, retention, size_limit, topic_defaults
from causeway.planning.rules.topics import Create, Grow
from causeway.planning.rules.write_access import no_access
from causeway.rules.integrity import LogFacts, judge
from causeway.rules.ledger_state import LedgerState

MOST_PARTITIONS = 200
"""Maximum number of partitions queried for their first timestamp: each costs the brokers a disk access."""


@dataclass(frozen=True, slots=True)
class CheckedMirror:
    """The input of all topic checks."""

    mirror: MirrorSettings
    sources: Mapping[str, ClusterView]
    destination: ClusterView
    image: LedgerState
    broker: Mapping[str, str] | None  # settings of the destination's brokers, if readable
    others: Neighbours = ALONE  # the other checked mirrors


def remarks(sight: CheckedMirror) -> Iterator[Remark]:
    """Remarks on every topic; a request that fails becomes one of them."""
    try:
        found = survey(sight.mirror, sight.sources, sight.destination, sight.image, sight.others)
        unread: list[str] = []
        refuse_claimed(
            sight.mirror,
            found,
            sight.sources,
            sight.destination,
            sight.image,
            sight.others,
            starting=True,
            later=False,
            write=lambda _claims: None,
            wait=lambda: None,
            warn=unread.append,
        )
    except CausewayError as error:
        yield problem(error)
        return
    yield from map(warning, unread)
    parts: tuple[Callable[[CheckedMirror, Survey], Iterator[Remark]], ...] = (
        _topics, _refused, _creatable, _writable, _identity, _positions, _sizes, _ages,
    )  # fmt: skip
    for part in parts:
        try:
            yield from part(sight, found)
        except CausewayError as error:
            yield problem(error)


def _topics(sight: CheckedMirror, found: Survey) -> Iterator[Remark]:
    positions = sight.image.positions
    for (alias, topic), route in sorted(found.routes.items()):
        cluster_id = sight.sources[alias].cluster_id()
        facts, to = route.source, route.to
        name = topic if to == topic else f"{topic} → {to}"
        carried = [
            positions[source]
            for number in range(facts.partitions)
            if (source := SourcePartition(cluster_id, topic, number)) in positions
        ]
        place = found.destinations.get(to)
        match found.actions.get(to):
            case Create(partitions, replication, config):
                settings = [f"{key}={value}" for key, value in sorted(config.items()) if _is_telling(key)]
                yield note(
                    f"{name}: would be created with {partitions} partitions,"
                    f" replication factor {replication}, {', '.join(settings)}"
                )
            case Grow(partitions):
                had = place.partitions if place else 0
                yield note(f"{name}: would grow from {had} to {partitions} partitions")
            case _ if carried:
                records = sum(position.tally.delivered for position in carried)
                behind = _behind(sight.sources[alias], carried)
                yield ok(
                    f"{name}: {len(carried)} of {facts.partitions} partitions begun,"
                    f" {records:,} records carried, {behind:,} offsets behind"
                )
            case _:
                yield ok(f"{name}: {facts.partitions} partitions, into the destination's topic as it is")
        if place and place.partitions > facts.partitions and route.placement == Placement():
            yield note(
                f"{name}: the destination has {place.partitions} partitions, the source {facts.partitions}:"
                " the last ones stay empty"
            )
    near = {unmatched.entry: unmatched.nearest for unmatched in found.unmatched}
    for alias, name in found.absent:
        yield warning(
            f'{name}: does not exist on "{alias}" (yet)',
            f"the nearest topic is {near[name]}" if near.get(name) else "",
        )
    names = {name for _, name in found.absent}
    for unmatched in found.unmatched:
        if unmatched.entry not in names:
            yield warning(str(unmatched), "see what is there with kafka-topics.sh --list")


def _creatable(sight: CheckedMirror, found: Survey) -> Iterator[Remark]:
    """What the destination's brokers reject of the topics that would be created."""
    made = {to: action for to, action in found.actions.items() if isinstance(action, Create)}
    refused = sight.destination.would_refuse(
        {to: (one.partitions, one.replication, one.config) for to, one in made.items()}
    )
    yield from (problem(refused[to]) for to in sorted(refused))
    for to, other in alike(made).items():
        if to not in refused:
            yield problem(
                PlanRefused(
                    f"{to}: cannot be created beside {other}: Kafka takes no two topics whose names differ in"
                    " . and _ alone",
                    todo="give one of them another name with rename, or exclude it",
                )
            )


def _writable(sight: CheckedMirror, found: Survey) -> Iterator[Remark]:
    """Topics that this user may not write to, as far as the destination's brokers report it."""
    view, routes = sight.destination, found.routes.values()
    there = view.describe({route.to for route in routes if route.to in found.destinations}, rights=True)
    for to in sorted(name for name, facts in there.items() if facts.writable is False):
        lacking = no_access(to, view.cluster.alias, "WRITE", -1)
        yield problem(AccessDenied(lacking.what, todo=lacking.todo))


def _is_telling(setting: str) -> bool:
    """Timestamps are always preserved: their settings are the same for every topic."""
    return not setting.startswith("message.timestamp.")


def _behind(view: ClusterView, carried: list[Position]) -> int:
    at = {(position.source.topic, position.source.partition): position.offset for position in carried}
    return sum(max(0, end - at[partition]) for partition, end in view.offsets(at, "stable").items())


def _refused(_sight: CheckedMirror, found: Survey) -> Iterator[Remark]:
    for refusal in found.refusals:
        kind = IntegrityError if refusal.integrity else PlanRefused
        yield problem(kind(f"{refusal.topic}: {refusal.why}", todo=refusal.todo))


def _identity(sight: CheckedMirror, found: Survey) -> Iterator[Remark]:
    sides = {sight.mirror.destination: list(found.destinations.values())}
    for (alias, _), route in found.routes.items():
        sides.setdefault(alias, []).append(route.source)
    for alias, topics in sides.items():
        remark = nameless(alias, topics)
        if remark is not None:
            yield remark


def _positions(sight: CheckedMirror, found: Survey) -> Iterator[Remark]:
    """Whether partitions could resume at the ledger's positions."""
    positions = sight.image.positions
    stopped = dict(sight.image.stopped)
    lanes = [lane for lane in plan_of(found, sight.sources).lanes if lane.source in positions]
    for alias, view in sight.sources.items():
        mine = [lane for lane in lanes if lane.source.cluster == view.cluster_id()]
        partitions = [(lane.source.topic, lane.source.partition) for lane in mine]
        starts, ends = view.offsets(partitions, "earliest"), view.offsets(partitions, "latest")
        for lane, at in zip(mine, partitions, strict=True):
            if at not in starts or at not in ends:
                yield warning(f'{lane.source}: has no leader on "{alias}" just now')
                continue
            # In the survey, a deleted destination topic has no id.
            there = LogFacts(lane.topic_id, starts[at], ends[at], lane.place.topic_id or None)
            finding = judge(lane, positions[lane.source], there)
            if finding is not None:
                stopped.pop(lane.source, None)
                yield problem(IntegrityError(f"{lane.source}: {finding.what}", todo=finding.todo))
    for source, record in sorted(stopped.items()):
        yield warning(f"{source}: stopped when it ran last ({record.verdict}): {record.what}", record.todo)


def _sizes(sight: CheckedMirror, found: Survey) -> Iterator[Remark]:
    for alias, name, config in _source_configs(sight, found):
        to = found.routes[alias, name].to
        if to in found.max_bytes:
            largest = int(config.get("max.message.bytes", DEFAULT_MAX_BYTES))
            remark = size_limit(to, largest, found.max_bytes[to])
            if remark is not None:
                yield remark


def _ages(sight: CheckedMirror, found: Survey) -> Iterator[Remark]:
    """Compare the destination's retention with the age of the records that are still to be replicated."""
    waiting = _not_begun(sight, found)
    asked = sorted(waiting, key=lambda at: (at[2], at))[:MOST_PARTITIONS]  # the first ones of each topic
    oldest: dict[tuple[str, str], int] = {}
    for alias, view in sight.sources.items():
        for since in {waiting[at] for at in asked if at[0] == alias}:
            wanted = [at[1:] for at in asked if at[0] == alias and waiting[at] == since]
            for (name, _), stamp in first_timestamps(view.cluster, wanted, since).items():
                oldest[alias, name] = min(stamp, oldest.get((alias, name), stamp))
    existing = sight.destination.configs(found.destinations)
    now = time.time_ns() // 1_000_000
    for alias, name, config in _source_configs(sight, found):
        if (alias, name) not in oldest:
            continue
        to = found.routes[alias, name].to
        action = found.actions.get(to)
        new = isinstance(action, Create)
        there = {**topic_defaults(sight.broker or {}), **action.config} if isinstance(action, Create) else {}
        kept = kept_for(there if new else existing.get(to, {}))
        remark = retention(to, oldest[alias, name], now, kept, kept_for(config), new)
        if remark is not None:
            yield remark
    if len(waiting) > len(asked):
        yield note(f"the age of records was looked up in {len(asked)} of {len(waiting)} partitions")


def _not_begun(sight: CheckedMirror, found: Survey) -> dict[tuple[str, str, int], int]:
    """Partitions without a position, and the time of the first record they would start with."""
    positions = sight.image.positions
    known = {(source.cluster, source.topic) for source in positions}
    waiting = {}
    for (alias, name), route in found.routes.items():
        facts, start = route.source, sight.mirror.for_source(alias).start_at
        cluster_id = sight.sources[alias].cluster_id()
        begun = (cluster_id, name) in known  # new partitions are replicated from their start
        if start == "latest" and not begun:
            continue
        since = start if isinstance(start, int) and not begun else 0
        for number in range(facts.partitions):
            if SourcePartition(cluster_id, name, number) not in positions:
                waiting[alias, name, number] = since
    return waiting


def _source_configs(sight: CheckedMirror, found: Survey) -> Iterator[tuple[str, str, dict[str, str]]]:
    for alias, view in sight.sources.items():
        for name, config in view.configs(name for where, name in found.routes if where == alias).items():
            yield alias, name, config
