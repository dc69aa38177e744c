"""What is displayed of a source pool: its nodes as the driver's own checks show them, and who reads which.

The tasks check the nodes for themselves: nothing here decides which one is read.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

from causeway.core.clock import now_ms
from causeway.core.ledger_record import Heartbeat, NodeMoved
from causeway.core.pool_health import NodeReport
from causeway.core.pool_snapshot import SourcePoolView
from causeway.core.topic import Spot
from causeway.kafka.pool_view import PoolView
from causeway.kafka.pool_watch import PoolWatch
from causeway.replication.pool_membership import PoolMembership
from causeway.replication.pool_rows import move_view, no_node, node_views, request_view
from causeway.rules.ledger_state import LedgerState
from causeway.rules.pool_health import judge_nodes

MOVES_KEPT = 50


class PoolStatus:
    def __init__(self, view: PoolView) -> None:
        self.membership = PoolMembership(view)
        self.shown = SourcePoolView(view.pool.name, ())
        self._view = view
        self._watch: PoolWatch | None = None
        self._watched: object = None  # what the watch was made of
        self._moves: deque[NodeMoved] = deque(maxlen=MOVES_KEPT)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._rejected: dict[str, tuple[str, int]] = {}  # by tasks: why, and in which slice
        # Positions of one check ago and more: log ends that were fetched before a position was reached would
        # make a node look short.
        self._positions: Mapping[Spot, int] = {}
        self._noted: Mapping[Spot, int] = {}
        self._noted_at = 0.0

    @property
    def name(self) -> str:
        return self._view.pool.name

    @property
    def pool_id(self) -> str:
        return self._view.pool.id

    def apply(self, moved: NodeMoved, slice_number: int) -> None:
        """A shard wrote this to the ledger: a move, or once more the same one with its pause."""
        known = next((each for each in self._moves if _same(each, moved)), None)
        if known is not None:
            self._moves[self._moves.index(known)] = moved
            return
        self._moves.append(moved)
        self._counts[moved.reason, moved.left] += 1
        if moved.reason == "rejected":
            self._rejected[moved.left] = (moved.what, slice_number)
        self._rejected.pop(moved.to, None)

    def measure(
        self,
        image: LedgerState,
        spots: frozenset[Spot],
        shards: Iterable[int],
        beats: Mapping[int, Heartbeat],
    ) -> None:
        """Judge the nodes by their newest checks. `spots` and `shards`: planned partitions, their shards."""
        pool, now = self._view.pool, time.monotonic()
        watch = self._watch_of(spots)
        if now - self._noted_at > pool.healthcheck_interval:
            current = {
                (source.topic, source.partition): position.offset
                for source, position in image.positions.items()
                if source.cluster == pool.id and (source.topic, source.partition) in spots
            }
            self._positions, self._noted, self._noted_at = self._noted, current, now
        readers = {shard: beat.nodes.get(self.name, "") for shard, beat in beats.items()}
        self._forget_rejections(beats)
        reports = {**watch.reports}
        for node, why in self._rejections().items():
            reports[node] = replace(reports.get(node, NodeReport()), rejected=why)
        verdicts = judge_nodes(pool, reports, self._positions, now)
        nodes = node_views(pool, reports, verdicts, self.membership.rejected, readers, now, now_ms())
        moves = self._moves or [move for (_, name), move in image.node_moves.items() if name == self.name]
        self.shown = SourcePoolView(
            self.name,
            nodes,
            tuple(sorted(map(move_view, moves), key=lambda move: -move.at)),
            dict(self._counts),
            no_node(pool.name, nodes),
            request_view(image, pool.name, shards),
        )

    def close(self, seconds: float = 0.0) -> None:
        """End the checks; wait up to `seconds` until they have ended."""
        if self._watch is not None:
            self._watch.close(seconds)
            self._watch = self._watched = None

    def _watch_of(self, spots: frozenset[Spot]) -> PoolWatch:
        """The watch; a new one if the partitions or the nodes have changed."""
        made_of = self._view.pool, spots
        if self._watch is None or self._watched != made_of:
            self.close()
            self._watch, self._watched = PoolWatch(self._view.pool, spots), made_of
        return self._watch

    def _rejections(self) -> dict[str, str]:
        by_tasks = {node: why for node, (why, _) in self._rejected.items()}
        return by_tasks | dict(self.membership.rejected)

    def _forget_rejections(self, beats: Mapping[int, Heartbeat]) -> None:
        """A task forgets what it has rejected when its slice ends: a later slice may read the node again."""
        for beat in beats.values():
            node = beat.nodes.get(self.name, "")
            if node in self._rejected and beat.slice > self._rejected[node][1]:
                del self._rejected[node]


def _same(move: NodeMoved, other: NodeMoved) -> bool:
    return (move.shard, move.at, move.left, move.to) == (other.shard, other.at, other.left, other.to)
