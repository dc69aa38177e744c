"""From settings to what clients need."""

from __future__ import annotations

from causeway.config import MirrorSettings, Settings
from causeway.errors import UsageError
from causeway.model.cluster import Cluster
from causeway.model.order import Limits


def cluster_of(settings: Settings, alias: str) -> Cluster:
    cluster = settings.clusters[alias]
    properties = {**cluster.properties, "bootstrap.servers": cluster.bootstrap_servers}
    return Cluster(alias, properties, dict(cluster.consumer), dict(cluster.producer))


def limits_of(mirror: MirrorSettings, batch_bytes: int = 1_000_000) -> Limits:
    return Limits(
        records=mirror.max_transaction_records,
        bytes=mirror.max_transaction_bytes,
        seconds=mirror.max_transaction_time,
        transaction_timeout=mirror.transaction_timeout,
        queue_bytes=mirror.queue_bytes,
        batch_bytes=batch_bytes,
        heartbeat=mirror.heartbeat,
    )


def group_of(mirror: MirrorSettings) -> str | None:
    if not mirror.source_group:
        return None
    return mirror.source_group_name


def chosen(settings: Settings, names: list[str]) -> list[MirrorSettings]:
    """The mirrors with these names, or all of them."""
    known = {mirror.name: mirror for mirror in settings.mirrors}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"no mirror is named {', '.join(unknown)}", todo=f"the configuration has: {', '.join(known)}"
        )
    return [known[name] for name in names] if names else list(settings.mirrors)
