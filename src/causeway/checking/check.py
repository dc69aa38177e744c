"""`causeway check`: examines both sides of mirrors, writes nothing, reports everything it finds.

A cluster that cannot be read is one finding; everything that does not need that cluster is still checked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from causeway.checking.topic_checks import CheckedMirror, remarks
from causeway.config import MirrorSettings, Settings
from causeway.core.check_report import CheckReport, Remark, Section, note, ok, problem
from causeway.core.task_order import ledger_topic
from causeway.errors import AccessDenied, CausewayError, ConfigError, PlanRefused
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import read_image
from causeway.kafka.versions import highest_versions
from causeway.planning.clusters import chosen, cluster_of, filters_of
from causeway.planning.filters import make
from causeway.planning.routing import KnownEdge, Neighbours, edges, routes, selection_of
from causeway.planning.rules.readiness import literal_secrets, transactions
from causeway.planning.rules.releases import at_least
from causeway.rules.ledger_state import LedgerState

STATE_LOG = "__transaction_state"
CONNECT_SECONDS = 6.0


@dataclass(slots=True)
class Side:
    """A cluster, as far as it can be read."""

    alias: str
    remarks: list[Remark] = field(default_factory=list)
    view: ClusterView | None = None  # None: it cannot be read
    highest: Mapping[int, int] = field(default_factory=dict)  # API key → highest supported version
    brokers: int = 0


def examine(settings: Settings, names: list[str]) -> CheckReport:
    """Check the mirrors with these names, or all of them."""
    mirrors = chosen(settings, names)
    aliases = list(dict.fromkeys(alias for one in mirrors for alias in (*one.source, one.destination)))
    # In parallel: it takes seconds to be sure that a cluster does not respond.
    with ThreadPoolExecutor(max(1, len(aliases))) as pool:
        sides = dict(zip(aliases, pool.map(lambda alias: _look(settings, alias), aliases), strict=True))
    edges_of = {mirror.name: list(_edges(mirror, sides)) for mirror in mirrors if len(mirrors) > 1}
    return CheckReport(
        (
            *(Section("cluster", alias, tuple(side.remarks)) for alias, side in sides.items()),
            *(
                Section("mirror", mirror.name, tuple(_mirror(mirror, mirrors, sides, edges_of)))
                for mirror in mirrors
            ),
        )
    )


def _look(settings: Settings, alias: str) -> Side:
    side = Side(alias)
    tables = settings.clusters[alias]
    side.remarks += literal_secrets(
        alias,
        {"properties": tables.properties, "consumer": tables.consumer, "producer": tables.producer},
    )
    try:
        cluster = cluster_of(settings, alias)
        view = ClusterView(cluster)
        cluster_id = view.connect(CONNECT_SECONDS)
        side.brokers = view.brokers()
        side.highest = highest_versions(cluster)
    except CausewayError as error:
        side.remarks.append(problem(error))
        return side
    side.view = view
    brokers = f"{side.brokers} broker{'s' if side.brokers > 1 else ''}"
    side.remarks.append(ok(f"{cluster.bootstrap_servers} answers: cluster id {cluster_id}, {brokers}"))
    release = at_least(side.highest)
    side.remarks.append(ok(f"Kafka ≥ {release}") if release else note("version unknown"))
    return side


def _mirror(
    mirror: MirrorSettings,
    mirrors: Sequence[MirrorSettings],
    sides: Mapping[str, Side],
    edges_of: Mapping[str, Sequence[KnownEdge]],
) -> Iterator[Remark]:
    destination = sides[mirror.destination]
    closed = [f'"{alias}"' for alias in (*mirror.source, mirror.destination) if sides[alias].view is None]
    yield from _filters(mirror)
    if destination.view is not None:
        try:
            broker = _broker_config(destination.view)
            yield from _delivery(mirror, destination, destination.view, broker)
            image = read_image(destination.view.cluster, mirror.name)
            yield from _ledger(mirror, destination.view, image)
        except CausewayError as error:
            yield problem(error)
            return
        if not closed:
            sources = _views(mirror, sides)
            others = _others(mirror, mirrors, sides, edges_of)
            yield from remarks(CheckedMirror(mirror, sources, destination.view, image, broker, others))
    if closed:
        yield note(f"its topics were not looked at: {', '.join(closed)} cannot be read")


def _filters(mirror: MirrorSettings) -> Iterator[Remark]:
    try:
        for spec in filters_of(mirror):
            make(spec)
            yield ok(f'filter {spec.name}: can be made; where it raises: "{spec.on_error}"')
    except ConfigError as error:
        yield problem(error)


def _views(mirror: MirrorSettings, sides: Mapping[str, Side]) -> dict[str, ClusterView]:
    return {alias: view for alias in mirror.source if (view := sides[alias].view)}


def _edges(mirror: MirrorSettings, sides: Mapping[str, Side]) -> Iterator[KnownEdge]:
    """The topics a mirror would replicate, for the checks of the others: records must not come back."""
    destination = sides[mirror.destination].view
    if destination is None:
        return
    try:
        sources = _views(mirror, sides)
        found = routes(mirror, sources, destination).values()
        yield from (
            KnownEdge(edge, mirror.provenance, mirror.name) for edge in edges(found, sources, destination)
        )
    except CausewayError:
        return  # its own section reports the reason


def _others(
    mirror: MirrorSettings,
    mirrors: Sequence[MirrorSettings],
    sides: Mapping[str, Side],
    edges_of: Mapping[str, Sequence[KnownEdge]],
) -> Neighbours:
    """The other checked mirrors, as if they ran in the same process."""
    earlier = []
    for other in mirrors[: mirrors.index(mirror)]:
        sources, destination = _views(other, sides), sides[other.destination].view
        if destination is not None:
            earlier.append(selection_of(other, sources, destination))
    names = frozenset(
        (view.cluster_id(), other.name)
        for other in mirrors
        if other is not mirror and (view := sides[other.destination].view) is not None
    )
    edges = tuple(edge for name, known in edges_of.items() if name != mirror.name for edge in known)
    return Neighbours(names, edges, tuple(earlier))


def _broker_config(view: ClusterView) -> dict[str, str] | None:
    """Settings of the destination's brokers; None if access is denied, since nothing else needs them."""
    try:
        return view.broker_config()
    except AccessDenied:
        return None


def _delivery(
    mirror: MirrorSettings, side: Side, view: ClusterView, broker: Mapping[str, str] | None
) -> Iterator[Remark]:
    if mirror.delivery == "at-least-once":
        yield note("at-least-once: transactions are not needed; a failure may repeat records")
        return
    try:
        state_log = view.describe([STATE_LOG]).get(STATE_LOG)
    except AccessDenied:
        state_log = None  # replication does not need to read it
    yield from transactions(mirror.transaction_timeout, side.highest, side.brokers, broker, state_log)


def _ledger(mirror: MirrorSettings, view: ClusterView, image: LedgerState) -> Iterator[Remark]:
    topic = ledger_topic(mirror.name)
    config = view.configs([topic]).get(topic)
    if config is None:
        yield note("there is no ledger yet: the mirror has never run")
        return
    yield ok(f"the ledger {topic} knows {len(image.positions)} partitions")
    policy = config.get("cleanup.policy", "")
    if policy != "compact":
        yield problem(
            PlanRefused(
                f'the ledger has cleanup.policy "{policy}", which would delete positions',
                todo=f"kafka-configs.sh --alter --entity-type topics --entity-name {topic}"
                " --add-config cleanup.policy=compact",
            )
        )
    driver = image.heartbeats.get(0)
    if image.lease and driver:
        silent = time.time_ns() // 1_000_000 - driver.at
        if silent < 5_000 * mirror.heartbeat:
            yield note(
                f"it is running on {image.lease.host} (process {image.lease.pid}):"
                " another instance would take its place"
            )
