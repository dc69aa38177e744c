"""Checks before a mirror replicates anything. Each one raises an error, or does nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from causeway.config import MirrorSettings
from causeway.core.ledger_record import Paused, PoolMembers
from causeway.core.offsets import when
from causeway.core.plan import Refusal
from causeway.core.plural import counted
from causeway.errors import AccessDenied, CausewayError, IntegrityError, PlanRefused, UsageError
from causeway.kafka.admin import ClusterView
from causeway.kafka.pool_view import PoolView
from causeway.planning.rules.readiness import timeout_too_long


def refuse_twins(name: str, views: Mapping[str, ClusterView]) -> None:
    """Refuse two aliases of one cluster: they would replicate the same partitions twice."""
    ids: dict[str, str] = {}
    for alias, view in views.items():
        other = ids.setdefault(view.cluster_id(), alias)
        if other != alias:
            raise PlanRefused(
                f'the sources "{other}" and "{alias}" are the same cluster',
                where=f'mirror "{name}"',
                why=f"both have the id {view.cluster_id()}",
                todo="name it once; topics of both can be chosen there",
            )


def refuse_single_node(name: str, views: Mapping[str, ClusterView], pools: Iterable[PoolMembers]) -> None:
    """Refuse a cluster as a source where the ledger's positions are those of a pool.

    They may be of another node, whose topic ids and leader epochs say nothing about this cluster.
    """
    for alias, view in views.items():
        for pool in pools:
            if not isinstance(view, PoolView) and view.cluster_id() == pool.id:
                raise IntegrityError(
                    f"the ledger's positions are of the pool {pool.name}, not of one cluster",
                    where=f'mirror "{name}", source "{alias}"',
                    todo=f"name the pool as the source; [pools.{pool.name}] may have a single node",
                )


def refuse_timeout(mirror: MirrorSettings, destination: ClusterView) -> None:
    """Refuse a transaction timeout that the brokers do not allow: no shard could begin a transaction."""
    if mirror.delivery != "exactly-once":
        return
    try:
        config = destination.broker_config()
    except CausewayError:
        return  # nothing else needs this setting, and the user may lack the right to read it
    error = timeout_too_long(mirror.transaction_timeout, config)
    if error is not None:
        raise PlanRefused(error.what, where=f'mirror "{mirror.name}"', todo=error.todo)


def refuse_paused(name: str, paused: Paused | None) -> None:
    if paused is not None and paused.by:
        raise UsageError(
            f"the mirror is paused by {paused.by} since {when(paused.at)}",
            where=f'mirror "{name}"',
            todo="`causeway resume CONFIG`, then start it again",
        )


def refuse_at_start(name: str, refusals: Sequence[Refusal], *, allow_partial: bool = False) -> None:
    """Refuse the start if topics cannot be replicated as they are. (While it runs, the others continue.)

    With `allow_partial`, a partial refusal does not block the start: a topic that was replicated before and
    has grown has partitions without a place. A restart must not turn that into a refusal of everything.
    """
    refusals = [refusal for refusal in refusals if not (refusal.partial and allow_partial)]
    if not refusals:
        return
    where = f'mirror "{name}"'
    if all(refusal.integrity for refusal in refusals):
        topics = ", ".join(f"{refusal.source}:{refusal.topic}" for refusal in refusals)
        raise IntegrityError(refusals[0].why, where=f"{where}: {topics}", todo=refusals[0].todo)
    if all(refusal.denied for refusal in refusals):
        topics = ", ".join(f"{refusal.source}:{refusal.topic}" for refusal in refusals)
        raise AccessDenied(refusals[0].why, where=f"{where}: {topics}", todo=refusals[0].todo)
    problems = tuple(str(refusal) for refusal in refusals)
    raise PlanRefused(
        f"{counted(len(refusals), 'topic')} cannot be replicated", problems=problems, where=where
    )
