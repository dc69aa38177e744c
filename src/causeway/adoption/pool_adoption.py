"""`causeway adopt --from pool`: a mirror of one cluster becomes a mirror of a pool that has it as a node.

Equal offsets do not prove equal data. So the last records before each position are compared between the node
that was replicated and all others. Only if they are equal on every node, the ledger gets the pool: its id is
the cluster id that the positions have, and each position gets a digest of the last record before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from causeway.adoption.compared_nodes import compare_with_first, last_known
from causeway.config import MirrorSettings, Settings
from causeway.core.adopt_report import ComparedNode, PoolAdoptionReport
from causeway.core.clock import now_ms
from causeway.core.control_records import Adopted, PoolMembers
from causeway.core.ledger_record import CONTROL, LedgerRecord
from causeway.core.plural import counted
from causeway.core.position import KnownRecord, Position, SourcePartition
from causeway.core.task_order import ledger_topic
from causeway.errors import IntegrityError, PlanRefused, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger import read_image
from causeway.kafka.ledger_access import LEDGER_SECONDS, refuse_running, who
from causeway.kafka.pool_view import PoolView
from causeway.kafka.range_reader import ReadProgress, no_progress
from causeway.kafka.task_errors import Again, Fenced
from causeway.planning.clusters import cluster_of, limits_of, pool_of
from causeway.planning.rules.selection import select
from causeway.rules.ledger_state import LedgerState
from causeway.rules.sharding import shard_of


@dataclass(frozen=True, slots=True)
class ComparedPool:
    """A pool that the ledger does not know yet."""

    alias: str
    first: str  # the node that was replicated
    ids: Mapping[str, str]  # cluster ids by the nodes' names
    positions: Mapping[SourcePartition, Position]
    known: Mapping[SourcePartition, KnownRecord]  # the last record before the position
    nodes: tuple[ComparedNode, ...]

    @property
    def id(self) -> str:
        return self.ids[self.first]


class PoolAdoption:
    """The adoption of the pools of one mirror."""

    def __init__(self, settings: Settings, mirror: MirrorSettings) -> None:
        self.mirror = mirror
        self.pools: list[ComparedPool] = []
        self._settings = settings
        self._destination = cluster_of(settings, mirror.destination)
        self._view = ClusterView(self._destination)
        self._where = f'mirror "{mirror.name}"'

    def compare(
        self, say: Callable[[str], None] = lambda text: None, progress: ReadProgress = no_progress
    ) -> list[PoolAdoptionReport]:
        """Compare the nodes of each pool that the ledger does not know. Writes nothing.

        Raises the error that prevents the adoption; nodes that differ are in the report.
        """
        self._view.connect()
        ledger = read_image(self._destination, self.mirror.name, LEDGER_SECONDS)
        for alias in self.mirror.source:
            pool = pool_of(self._settings, alias)
            if pool is None or alias in ledger.pools or not ledger.positions:
                continue
            refuse_running(self._destination, self.mirror)
            view = PoolView(pool)
            ids = self._ids(view)
            first = self._first(alias, ids, ledger)
            if first:
                say(f"comparing the nodes of the pool {alias} with {first}")
                self.pools.append(self._compared(alias, view, ids, first, ledger, progress))
        return [
            PoolAdoptionReport(self.mirror.name, pool.alias, pool.first, len(pool.positions), pool.nodes)
            for pool in self.pools
        ]

    def write(self) -> None:
        """Make the pools known to the ledger, with all their positions, in one transaction."""
        topic = ledger_topic(self.mirror.name)
        facts = self._view.describe([topic])[topic]
        control = Control(self._destination, self.mirror.name, self.mirror.delivery, limits_of(self.mirror))
        try:
            control.acquire(facts.topic_id)
            shards = control.settle_shards(self._shards()).shards
            # No other process writes the ledger from here on.
            ledger = read_image(self._destination, self.mirror.name, LEDGER_SECONDS)
            entries: list[tuple[int, LedgerRecord]] = []
            for pool in self.pools:
                self._refuse_changes(pool, ledger)
                entries += self._records(pool, control.lease, shards)
            control.write(entries)
        except (Again, Fenced) as error:
            raise Unreachable(
                "the pool was perhaps not written to the ledger",
                where=self._where,
                why=str(error),
                todo="adopt again: there is nothing to adopt if it was written",
            ) from None
        finally:
            control.close()

    def _ids(self, view: PoolView) -> dict[str, str]:
        """Cluster ids of all nodes: none may be missing, and none may be there twice."""
        ids: dict[str, str] = {}
        for name, node in view.node_views().items():
            try:
                its_id = node.connect()
            except Unreachable as error:
                raise Unreachable(
                    f"node {name} does not respond, so it cannot be compared",
                    where=f'pool "{view.pool.name}"',
                    why=str(error),
                    todo=f"start it, or remove it from [pools.{view.pool.name}] and add it later: a node that"
                    " is added is compared when it is read from for the first time",
                    cluster=name,
                ) from None
            if its_id in ids.values():
                other = next(other for other, known in ids.items() if known == its_id)
                raise PlanRefused(f"{name} is the same cluster as {other}", where=f'pool "{view.pool.name}"')
            ids[name] = its_id
        return ids

    def _first(self, alias: str, ids: Mapping[str, str], ledger: LedgerState) -> str:
        """The node that was replicated; "" if none was."""
        replicated = {source.cluster for source in ledger.positions}
        nodes = [name for name, its_id in ids.items() if its_id in replicated]
        if len(nodes) > 1:
            raise IntegrityError(
                f"the ledger has positions of {counted(len(nodes), 'node')} of the pool {alias}:"
                f" {', '.join(nodes)}",
                where=self._where,
                why="a pool continues the positions of one of its nodes",
                todo="replicate the pool under a new mirror name, into other topics",
            )
        return nodes[0] if nodes else ""

    def _compared(
        self,
        alias: str,
        view: PoolView,
        ids: Mapping[str, str],
        first: str,
        ledger: LedgerState,
        progress: ReadProgress,
    ) -> ComparedPool:
        positions = {
            source: position for source, position in ledger.positions.items() if source.cluster == ids[first]
        }
        nodes = view.node_views()
        known = last_known(nodes[first], positions, progress)
        own = self.mirror.for_source(alias)
        selected = set(select({source.topic for source in positions}, own.topics, own.exclude))
        before = {
            (source.topic, source.partition): position.offset
            for source, position in positions.items()
            if source.topic in selected and position.offset
        }
        return ComparedPool(
            alias,
            first,
            ids,
            positions,
            known,
            tuple(
                compare_with_first(nodes[first], node, before, progress)
                for name, node in nodes.items()
                if name != first
            ),
        )

    def _refuse_changes(self, pool: ComparedPool, ledger: LedgerState) -> None:
        now = {source: at for source, at in ledger.positions.items() if source.cluster == pool.id}
        same = now.keys() == pool.positions.keys() and all(
            (at.offset, at.topic_id) == (pool.positions[source].offset, pool.positions[source].topic_id)
            for source, at in now.items()
        )
        if not same or pool.alias in ledger.pools:
            raise IntegrityError(
                f"the positions of {pool.first} changed meanwhile",
                where=self._where,
                why="nothing was written",
                todo="adopt again, while the mirror does not run",
            )

    def _records(self, pool: ComparedPool, lease: int, shards: int) -> list[tuple[int, LedgerRecord]]:
        """The pool last: without transactions, no pool is known before its positions are."""
        at = now_ms()
        positions = [
            replace(position, node=position.node or pool.id, known=pool.known.get(source), lease=lease)
            for source, position in pool.positions.items()
        ]
        others = ", ".join(node.name for node in pool.nodes) or "no other node"
        adopted = Adopted(
            lease=lease,
            by=who(),
            hint=f"pool {pool.alias}: {pool.first} was replicated, and compared with {others}",
            accepted="",
            unchecked={},
            topics={},
            ends={},
            at=at,
        )
        return [
            *((shard_of(position.source, shards), position) for position in positions),
            (CONTROL, adopted),
            (CONTROL, PoolMembers(pool.alias, pool.id, dict(pool.ids), at)),
        ]

    def _shards(self) -> int:
        """The number of shards of the current generation: this does not change it."""
        generation = read_image(self._destination, self.mirror.name, LEDGER_SECONDS).generation
        if generation is None:
            raise PlanRefused("the ledger has no shards yet", where=self._where, todo="run the mirror once")
        return generation.shards
