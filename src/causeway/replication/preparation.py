"""Prepare: everything between the first connection to a cluster and the first slice.

Whatever can fail at a start fails here, with an error for the user. After that the driver waits for a
cluster that does not respond.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from causeway.core.plan import Plan
from causeway.core.position import SourcePartition
from causeway.errors import Unreachable
from causeway.kafka.admin import At
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.ledger_topics import ensure_topics
from causeway.kafka.log_ends import nothing_left, target_offsets
from causeway.kafka.quarantine import ensure_quarantine
from causeway.kafka.task_errors import Again, Fenced
from causeway.planning import filters
from causeway.planning.clusters import shards_of
from causeway.planning.source_pools import SettledPools, furthest_ends, settle_pools
from causeway.planning.starts import first_positions, wanted_starts
from causeway.planning.task_assignment import MirrorRun
from causeway.planning.topology import UNKNOWN
from causeway.replication.ledger_consistency import refuse_older
from causeway.replication.mirror_setup import MirrorSetup
from causeway.replication.mirror_state import MirrorState
from causeway.replication.open_ledger import OpenLedger
from causeway.replication.replanning import Planner
from causeway.replication.start_checks import (
    refuse_at_start,
    refuse_paused,
    refuse_single_node,
    refuse_timeout,
    refuse_twins,
)
from causeway.rules.ledger_state import LedgerState
from causeway.rules.sharding import shard_of
from causeway.rules.timings import TIMES_ADDED

LEDGER_SECONDS = 60.0
NOT_PREPARED = "the mirror could not be prepared"


@dataclass(frozen=True, slots=True)
class Prepared:
    run: MirrorRun
    ledger: OpenLedger
    until: Mapping[SourcePartition, int] | None  # with --stop-at-end: where to stop
    fulfilled: bool  # with --stop-at-end: nothing is left to replicate or to judge


def prepare(setup: MirrorSetup, planner: Planner, state: MirrorState, cores: int) -> Prepared:
    """Connect, take the lease, settle the sharding, make the plan, commit first positions."""
    try:
        return _prepare(setup, planner, state, cores)
    except (Again, Fenced) as error:
        raise _explained(setup, state, Unreachable(NOT_PREPARED, where=setup.name, why=str(error))) from None
    except Unreachable as error:
        if planner.topology is UNKNOWN:
            raise  # a cluster does not respond at all
        raise _explained(setup, state, error) from None


def _explained(setup: MirrorSetup, state: MirrorState, error: Unreachable) -> Unreachable:
    """The error, or too few in-sync replicas, which are then its cause and which no client reports."""
    short = state.in_sync.find(())
    if short is None:
        return error
    return Unreachable(
        NOT_PREPARED,
        where=setup.name,
        why=short.what,
        todo=short.todo,
        cluster=setup.destination.cluster.alias,
    )


def _prepare(setup: MirrorSetup, planner: Planner, state: MirrorState, cores: int) -> Prepared:
    mirror = setup.mirror
    for warning in setup.unsafe:
        state.events.report("warning", warning)
    if mirror.timings == "headers":
        state.events.report("info", TIMES_ADDED)
    filters.try_out(setup.filters)  # an invalid filter fails here, not in every shard
    for view in (*setup.sources.values(), setup.destination):
        view.connect()
    if setup.schemas is not None:
        setup.schemas.check()
    pools = settle_pools(setup.sources.values(), setup.destination.cluster, setup.name)
    state.pools.reject(pools.rejected)
    for refused in pools.refused:
        state.events.report("error", refused)
    refuse_twins(setup.name, setup.sources)
    refuse_timeout(mirror, setup.destination)
    planner.read_topology()
    partitions = sum(route.source.partitions for route in planner.topology.routes.values())
    run, ledger = _take_lease(setup, state, shards_of(mirror, partitions, cores))
    try:
        return _begin(setup, planner, state, run, ledger, pools)
    except BaseException:
        ledger.close()
        raise


def _begin(
    setup: MirrorSetup,
    planner: Planner,
    state: MirrorState,
    run: MirrorRun,
    ledger: OpenLedger,
    pools: SettledPools,
) -> Prepared:
    """Read and check the ledger, make the plan, commit first positions, and measure."""
    mirror = setup.mirror
    ledger.reader.read_to_end(LEDGER_SECONDS)
    ledger.reader.watch()
    refuse_single_node(setup.name, setup.sources, ledger.state.pools.values())
    ledger.record(pools.records)
    if mirror.delivery == "exactly-once":
        refuse_older(setup.destination, setup.name, ledger.state)
    if setup.stop_at_end:
        refuse_paused(setup.name, ledger.state.paused)  # it would wait for a resume that may never come
    starts = wanted_starts(mirror, planner.topology.routes, setup.sources, ledger.state)
    _create_quarantine(setup, state, ledger.state)
    planner.make_plan(ledger, starting=True)
    # A run with --stop-at-end must not succeed if it left out partitions.
    refuse_at_start(setup.name, planner.plan.refusals, allow_partial=not setup.stop_at_end)
    planner.report_refusals()
    _commit_first_positions(setup, planner.plan, run, ledger, starts)
    until: Mapping[SourcePartition, int] | None = None
    if setup.stop_at_end:
        until = target_offsets(setup.sources, planner.sources(), planner.plan.gone)
        until = furthest_ends(setup.sources, until, ledger.state.positions)
    fulfilled = (
        until is not None
        and nothing_left(planner.plan, ledger.state.positions, until, setup.destination)
        and not ledger.state.stopped.keys() & set(planner.sources())
    )
    state.fetch_log_ends(ledger.state)
    state.measure(ledger.state, run.shards, until)
    return Prepared(run, ledger, until, fulfilled)


def _take_lease(setup: MirrorSetup, state: MirrorState, shards: int) -> tuple[MirrorRun, OpenLedger]:
    """Create the ledger if there is none, take the lease, and settle the sharding."""
    mirror, control = setup.mirror, setup.control
    cluster = setup.destination.cluster
    topic = ensure_topics(setup.destination, setup.name, shards, mirror.replication_factor)
    control.acquire(topic.topic_id)
    generation = control.settle_shards(shards)
    state.events.report_all("warning", control.notices)
    run = MirrorRun(
        mirror=mirror,
        sources=setup.source_clusters(),
        destination=cluster,
        destination_id=setup.destination.cluster_id(),
        filters=setup.filters,
        shards=shards,
        lease=control.lease,
        generation=generation.number,
        ledger_id=topic.topic_id,
    )
    reader = LedgerReader(cluster, setup.name, range(topic.partitions))
    return run, OpenLedger(topic, reader, control)


def _create_quarantine(setup: MirrorSetup, state: MirrorState, image: LedgerState) -> None:
    mirror = setup.mirror
    if mirror.on_poison == "quarantine":
        quarantined = sum(position.tally.quarantined for position in image.positions.values())
        lost = ensure_quarantine(setup.destination, setup.name, mirror.replication_factor, quarantined)
        if lost:
            state.events.report("warning", lost)


def _commit_first_positions(
    setup: MirrorSetup,
    plan: Plan,
    run: MirrorRun,
    ledger: OpenLedger,
    starts: Mapping[SourcePartition, At],
) -> None:
    """Commit the first positions of these partitions before the mirror is reported as ready."""
    positions = first_positions(
        plan.lanes, starts, setup.sources, setup.destination, generation=run.generation, lease=run.lease
    )
    if positions:
        setup.control.begin(positions, run.shards)
        for position in positions:
            ledger.state.apply(shard_of(position.source, run.shards), position)
