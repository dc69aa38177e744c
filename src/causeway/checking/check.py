"""`causeway check`: examines both sides of mirrors, writes nothing, reports everything it finds.

A cluster that cannot be read is one finding; everything that does not need that cluster is still checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from causeway.checking.checked_mirror import CheckedMirror
from causeway.checking.checked_sources import (
    CheckedCluster,
    CheckedSources,
    clusters_of,
    excuse_nodes,
    read_sources,
)
from causeway.checking.permission_checks import check_permissions
from causeway.checking.topic_checks import remarks
from causeway.config import MirrorSettings, Settings, client_tables
from causeway.core.check_report import CheckReport, Remark, Section, note, ok, problem, warning
from causeway.core.clock import now_ms
from causeway.core.plural import counted
from causeway.core.task_order import ledger_topic
from causeway.errors import AccessDenied, CausewayError, ConfigError, PlanRefused
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import read_image
from causeway.kafka.versions import highest_versions
from causeway.planning.clusters import chosen, cluster_of, filters_of
from causeway.planning.filters import try_out
from causeway.planning.routing import KnownEdge, Neighbours, edges, routes, selection_of
from causeway.planning.rules.readiness import transactions
from causeway.planning.rules.releases import at_least
from causeway.rules.ledger_state import LedgerState

STATE_LOG = "__transaction_state"
CONNECT_SECONDS = 6.0
_SAFE = "use TLS with verification, and leave unsafe out"


def check_mirrors(settings: Settings, names: list[str]) -> CheckReport:
    """Check the mirrors with these names, or all of them."""
    mirrors = chosen(settings, names)
    aliases = list(
        dict.fromkeys(
            alias
            for mirror in mirrors
            for alias in (*clusters_of(settings, mirror.source), mirror.destination)
        )
    )
    # In parallel: it takes seconds to be sure that a cluster does not respond.
    with ThreadPoolExecutor(max(1, len(aliases))) as pool:
        clusters = dict(
            zip(aliases, pool.map(lambda alias: _check_cluster(settings, alias), aliases), strict=True)
        )
    excuse_nodes(settings, mirrors, clusters)
    check_permissions(settings, mirrors, clusters)
    sources = {mirror.name: read_sources(settings, mirror, clusters) for mirror in mirrors}
    edges_of = {
        mirror.name: list(_edges(mirror, sources, clusters)) for mirror in mirrors if len(mirrors) > 1
    }
    elsewhere = tuple(literal_secrets(settings, ""))
    return CheckReport(
        (
            *([Section("configuration", "secrets", elsewhere)] if elsewhere else []),
            *(Section("cluster", alias, tuple(checked.remarks)) for alias, checked in clusters.items()),
            *(
                Section("mirror", mirror.name, tuple(_mirror(mirror, mirrors, clusters, sources, edges_of)))
                for mirror in mirrors
            ),
        )
    )


def literal_secrets(settings: Settings, cluster: str) -> Iterator[Remark]:
    """A warning for each secret in the configuration itself that belongs to this cluster, or to none ("")."""
    for secret in settings.literal_secrets:
        if secret.cluster == cluster:
            yield warning(
                str(secret), "write ${env:NAME}, ${file:/path} or ${dir:/path:key} instead of the secret"
            )


def _check_cluster(settings: Settings, alias: str) -> CheckedCluster:
    checked = CheckedCluster(alias)
    tables = settings.clusters[alias]
    checked.remarks += literal_secrets(settings, alias)
    checked.remarks += (warning(line, _SAFE) for line in client_tables.warnings(alias, tables))
    try:
        cluster = cluster_of(settings, alias)
        view = ClusterView(cluster)
        cluster_id = view.connect(CONNECT_SECONDS)
        checked.brokers = view.brokers()
        checked.highest = highest_versions(cluster)
    except CausewayError as error:
        checked.remarks.append(problem(error))
        return checked
    checked.view = view
    brokers = counted(checked.brokers, "broker")
    checked.remarks.append(ok(f"{cluster.bootstrap_servers} responds: cluster id {cluster_id}, {brokers}"))
    release = at_least(checked.highest)
    checked.remarks.append(ok(f"Kafka ≥ {release}") if release else note("version unknown"))
    return checked


def _mirror(
    mirror: MirrorSettings,
    mirrors: Sequence[MirrorSettings],
    clusters: Mapping[str, CheckedCluster],
    sources_of: Mapping[str, CheckedSources],
    edges_of: Mapping[str, Sequence[KnownEdge]],
) -> Iterator[Remark]:
    destination = clusters[mirror.destination]
    sources = sources_of[mirror.name].views
    unreadable = [f'"{alias}"' for alias in mirror.source if alias not in sources]
    unreadable += [f'"{mirror.destination}"'] if destination.view is None else []
    yield from _filters(mirror)
    yield from sources_of[mirror.name].remarks
    if destination.view is not None:
        try:
            broker = _broker_config(destination.view)
            yield from _delivery(mirror, destination, destination.view, broker)
            ledger = read_image(destination.view.cluster, mirror.name)
            yield from _ledger(mirror, destination.view, ledger)
        except CausewayError as error:
            yield problem(error)
            return
        if not unreadable:
            others = _others(mirror, mirrors, clusters, sources_of, edges_of)
            yield from remarks(CheckedMirror(mirror, sources, destination.view, ledger, broker, others))
    if unreadable:
        yield note(f"topics were not checked: {', '.join(unreadable)} cannot be read")


def _filters(mirror: MirrorSettings) -> Iterator[Remark]:
    try:
        for spec in filters_of(mirror):
            try_out([spec])
            yield ok(f'filter {spec.name}: loads; if it raises: "{spec.on_error}"')
    except ConfigError as error:
        yield problem(error)


def _edges(
    mirror: MirrorSettings,
    sources_of: Mapping[str, CheckedSources],
    clusters: Mapping[str, CheckedCluster],
) -> Iterator[KnownEdge]:
    """The topics a mirror would replicate, for the checks of the others: records must not come back."""
    destination = clusters[mirror.destination].view
    if destination is None:
        return
    try:
        sources = sources_of[mirror.name].views
        routes_found = routes(mirror, sources, destination).values()
        yield from (
            KnownEdge(edge, mirror.provenance, mirror.name)
            for edge in edges(routes_found, sources, destination)
        )
    except CausewayError:
        return  # its own section reports the reason


def _others(
    mirror: MirrorSettings,
    mirrors: Sequence[MirrorSettings],
    clusters: Mapping[str, CheckedCluster],
    sources_of: Mapping[str, CheckedSources],
    edges_of: Mapping[str, Sequence[KnownEdge]],
) -> Neighbours:
    """The other checked mirrors, as if they ran in the same process."""
    earlier = []
    for other in mirrors[: mirrors.index(mirror)]:
        sources, destination = sources_of[other.name].views, clusters[other.destination].view
        if destination is not None:
            earlier.append(selection_of(other, sources, destination))
    names = frozenset(
        (view.cluster_id(), other.name)
        for other in mirrors
        if other is not mirror and (view := clusters[other.destination].view) is not None
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
    mirror: MirrorSettings, checked: CheckedCluster, view: ClusterView, broker: Mapping[str, str] | None
) -> Iterator[Remark]:
    if mirror.delivery == "at-least-once":
        yield note("at-least-once: transactions are not needed; a failure may repeat records")
        return
    try:
        state_log = view.describe([STATE_LOG]).get(STATE_LOG)
    except AccessDenied:
        state_log = None  # replication does not need to read it
    yield from transactions(mirror.transaction_timeout, checked.highest, checked.brokers, broker, state_log)


def _ledger(mirror: MirrorSettings, view: ClusterView, ledger: LedgerState) -> Iterator[Remark]:
    topic = ledger_topic(mirror.name)
    config = view.configs([topic]).get(topic)
    if config is None:
        yield note("no ledger yet: the mirror has never run")
        return
    yield ok(f"ledger {topic} has the positions of {counted(len(ledger.positions), 'partition')}")
    policy = config.get("cleanup.policy", "")
    if policy != "compact":
        yield problem(
            PlanRefused(
                f'the ledger has cleanup.policy "{policy}", which would delete positions',
                todo=f"kafka-configs.sh --alter --entity-type topics --entity-name {topic}"
                " --add-config cleanup.policy=compact",
            )
        )
    driver = ledger.heartbeats.get(0)
    if ledger.lease and driver:
        silent = now_ms() - driver.at
        if silent < 5_000 * mirror.heartbeat:
            yield note(
                f"it is running on {ledger.lease.host} (process {ledger.lease.pid}):"
                " another instance would take over from it"
            )
