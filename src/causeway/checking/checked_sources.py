"""The clusters of the checked mirrors, as far as they can be read; pools with their nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from causeway.checking.pool_checks import PoolCheck
from causeway.config import MirrorSettings, Settings
from causeway.core.check_report import Remark, warning
from causeway.errors import Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.pool_view import PoolView
from causeway.planning.source_pools import source_view


@dataclass(slots=True)
class CheckedCluster:
    """A cluster, as far as it can be read."""

    alias: str
    remarks: list[Remark] = field(default_factory=list)
    view: ClusterView | None = None  # None: it cannot be read
    highest: Mapping[int, int] = field(default_factory=dict)  # API key → highest supported version
    brokers: int = 0


@dataclass(slots=True)
class CheckedSources:
    """The sources of one mirror, as far as they can be read, and remarks on its pools."""

    views: dict[str, ClusterView] = field(default_factory=dict)  # by alias
    remarks: list[Remark] = field(default_factory=list)


def clusters_of(settings: Settings, sources: Sequence[str]) -> Iterator[str]:
    """The aliases of the clusters that these sources consist of."""
    for alias in sources:
        yield from settings.pools[alias].nodes if alias in settings.pools else [alias]


def excuse_nodes(
    settings: Settings, mirrors: Sequence[MirrorSettings], clusters: Mapping[str, CheckedCluster]
) -> None:
    """A node that does not respond prevents nothing while another node of its pool does."""
    needed = {alias for mirror in mirrors for alias in (*mirror.source, mirror.destination)}
    for alias in needed & settings.pools.keys():
        nodes = settings.pools[alias].nodes
        if not any(clusters[node].view for node in nodes):
            continue
        for node in set(nodes) - needed:
            checked = clusters[node]
            checked.remarks = [
                warning(remark.what, remark.todo) if remark.code == Unreachable.code else remark
                for remark in checked.remarks
            ]


def read_sources(
    settings: Settings, mirror: MirrorSettings, clusters: Mapping[str, CheckedCluster]
) -> CheckedSources:
    """Views of the sources that can be read; a pool can if one of its nodes can, and the ledger knows it."""
    checked = CheckedSources()
    destination = clusters[mirror.destination].view
    for alias in mirror.source:
        if alias not in settings.pools:
            if view := clusters[alias].view:
                checked.views[alias] = view
            continue
        responding = [node for node in settings.pools[alias].nodes if clusters[node].view]
        if not responding:
            continue
        pool_view = source_view(settings, alias)
        assert isinstance(pool_view, PoolView)
        pool = PoolCheck(mirror, pool_view, responding)
        checked.remarks += pool.remarks(destination.cluster if destination else None)
        if pool.settled:
            checked.views[alias] = pool_view
    return checked
