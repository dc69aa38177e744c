"""Turns settings into what clients and shards need: clusters, limits, filters."""

from __future__ import annotations

from pathlib import Path

from causeway.config import MirrorSettings, Settings
from causeway.config.client_tables import client_tables
from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterSpec, is_go_plugin
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.core.task_order import Limits
from causeway.errors import ConfigError, UsageError
from causeway.go_filters.plugin_file import digest_of
from causeway.rules.sharding import default_shards

SMALLEST_FETCH, LARGEST_FETCH = 256 * 1024, 8 * 1024 * 1024


def cluster_of(settings: Settings, alias: str) -> Cluster:
    cluster = settings.clusters[alias]
    tables = client_tables(cluster)
    properties = {**tables.properties, "bootstrap.servers": cluster.bootstrap_servers}
    return Cluster(alias, properties, tables.consumer, tables.producer)


def pool_of(settings: Settings, alias: str) -> SourcePool | None:
    """The pool of this name, or None if the alias is a cluster's. Its ids are in the ledger, not here."""
    pool = settings.pools.get(alias)
    if pool is None:
        return None
    return SourcePool(
        name=alias,
        id="",
        nodes=tuple(PoolNode(cluster_of(settings, node)) for node in pool.nodes),
        healthcheck_interval=pool.healthcheck_interval,
        request_timeout=pool.request_timeout,
        lag_threshold=pool.lag_threshold,
        max_failovers=pool.max_failovers,
        backoff_min=pool.backoff_min,
        backoff_max=pool.backoff_max,
        jitter=pool.jitter,
        initial=pool.initial,
        hysteresis=pool.hysteresis,
    )


def limits_of(mirror: MirrorSettings, batch_bytes: int = 1_000_000, shards: int = 1) -> Limits:
    """The limits of one shard, if `shards` of them share the mirror's."""
    return Limits(
        records=mirror.max_transaction_records,
        bytes=mirror.max_transaction_bytes,
        seconds=mirror.max_transaction_time,
        transaction_timeout=mirror.transaction_timeout,
        queue_bytes=mirror.queue_bytes,
        queue_records=mirror.queue_records,
        batch_bytes=batch_bytes,
        heartbeat=mirror.heartbeat,
        records_per_second=mirror.max_records_per_second / shards,
        bytes_per_second=mirror.max_bytes_per_second / shards,
        fetch_bytes=max(SMALLEST_FETCH, LARGEST_FETCH // shards),
    )


def group_of(mirror: MirrorSettings, alias: str) -> str | None:
    """The consumer group to advance on a source, if any."""
    return mirror.for_source(alias).source_group_name if mirror.source_group else None


def shards_of(mirror: MirrorSettings, partitions: int, cores: int) -> int:
    """How many shards the mirror has. A rate limit is split evenly among them; with one it is met exactly."""
    limited = mirror.max_records_per_second or mirror.max_bytes_per_second
    return mirror.shards or (1 if limited else default_shards(cores, partitions))


def filters_of(mirror: MirrorSettings) -> tuple[FilterSpec, ...]:
    """The mirror's filters, with their files read; raises ConfigError if one cannot be read."""
    specs = []
    for spec in mirror.filters:
        path, _, _ = spec.filter.rpartition(":")
        code = digest = None
        is_plugin = is_go_plugin(spec.filter)
        if is_plugin or path.endswith(".py"):
            try:
                content = Path(path).read_bytes()
                if is_plugin:
                    digest = digest_of(content)
                else:
                    code = content.decode("utf-8")
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"the filter {spec.filter} cannot be read",
                    where=f'mirror "{mirror.name}"',
                    why=str(error),
                ) from None
        specs.append(FilterSpec(spec.filter, spec.config, spec.on_error, code, digest))
    return tuple(specs)


def chosen(settings: Settings, names: list[str]) -> list[MirrorSettings]:
    """The mirrors with these names, or all of them."""
    known = {mirror.name: mirror for mirror in settings.mirrors}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"no mirror is named {', '.join(unknown)}", todo=f"the configuration has: {', '.join(known)}"
        )
    return [known[name] for name in names] if names else list(settings.mirrors)


def the_one(settings: Settings, name: str | None) -> MirrorSettings:
    """The mirror of this name, or the only one there is."""
    mirrors = chosen(settings, [name] if name else [])
    if len(mirrors) > 1:
        raise UsageError(
            "the configuration has several mirrors",
            todo=f"--mirror {mirrors[0].name}, or another of them",
        )
    return mirrors[0]
