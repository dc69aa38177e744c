"""What a mirror's driver is made of before it connects: settings, filters, clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

from causeway.config import MirrorSettings, Settings, client_tables
from causeway.config.effective import registries_of
from causeway.core.filtering import FilterSpec
from causeway.core.task_order import SourceCluster
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.pool_view import PoolView
from causeway.planning.clusters import cluster_of, filters_of, group_of, limits_of
from causeway.planning.registries import (
    destination_registry,
    registry_warnings,
    schema_policy,
    source_registries,
)
from causeway.planning.source_pools import pool_in, source_view
from causeway.replication.event_log import EventLog
from causeway.replication.schema_copying import SchemaCopying
from causeway.replication.schema_threads import SchemaSetup


def unsafe_of(settings: Settings, mirror: MirrorSettings) -> tuple[str, ...]:
    """A warning for each danger that a cluster of the mirror allows with `unsafe`."""
    sources = (
        settings.pools[alias].nodes if alias in settings.pools else (alias,) for alias in mirror.source
    )
    aliases = dict.fromkeys((*chain(*sources), mirror.destination))
    clusters = (client_tables.warnings(alias, settings.clusters[alias]) for alias in aliases)
    names = registries_of(settings, mirror)
    registries = (registry_warnings(name, settings.registries[name]) for name in names)
    return tuple(chain(*clusters, *registries))


def schemas_of(settings: Settings, mirror: MirrorSettings) -> SchemaSetup | None:
    schemas = mirror.schemas
    if not mirror.copies_schemas:
        return None
    return SchemaSetup(
        source_registries(settings, mirror),
        destination_registry(settings, mirror),
        {"key": schemas.keys, "value": schemas.values},
        schemas.versions == "all",
    )


def schema_copying(setup: MirrorSetup, events: EventLog) -> SchemaCopying | None:
    """What copies schemas while the mirror runs. The cluster ids must be known."""
    if setup.schemas is None:
        return None
    return SchemaCopying(setup.schemas, events, setup.aliases(), partial(schema_policy, setup.mirror))


@dataclass(frozen=True, slots=True)
class MirrorSetup:
    mirror: MirrorSettings
    stop_at_end: bool
    filters: tuple[FilterSpec, ...]
    sources: Mapping[str, ClusterView]  # by alias
    destination: ClusterView
    control: Control  # writes the ledger's control partition
    unsafe: tuple[str, ...]  # what the settings of its clusters allow others to read or to impersonate
    schemas: SchemaSetup | None  # with schemas = "copy"

    @staticmethod
    def of(settings: Settings, mirror: MirrorSettings, stop_at_end: bool) -> MirrorSetup:
        destination = cluster_of(settings, mirror.destination)
        return MirrorSetup(
            mirror,
            stop_at_end,
            filters_of(mirror),
            {alias: source_view(settings, alias) for alias in mirror.source},
            ClusterView(destination),
            Control(destination, mirror.name, mirror.delivery, limits_of(mirror)),
            unsafe_of(settings, mirror),
            schemas_of(settings, mirror),
        )

    @property
    def name(self) -> str:
        return self.mirror.name

    def source_clusters(self) -> dict[str, SourceCluster]:
        """What orders say of the sources, by cluster id: pools with the nodes that may be read now."""
        return {
            view.cluster_id(): SourceCluster(view.cluster, group_of(self.mirror, alias), pool_in(view))
            for alias, view in self.sources.items()
        }

    def next_node(self, failed: str) -> bool:
        """After a failure of this cluster: if it is a pool's node in use, use the next one that responds."""
        return any(view.move(failed) for view in self.sources.values() if isinstance(view, PoolView))

    def aliases(self) -> dict[str, str]:
        """The sources' aliases, by cluster id."""
        return {view.cluster_id(): alias for alias, view in self.sources.items()}
