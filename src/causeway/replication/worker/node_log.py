"""What a shard reports about the nodes of its source pools: events, and records for its next commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from causeway.core.clock import now_ms
from causeway.core.control_records import NodeRequest
from causeway.core.pool_health import NodeSwitch
from causeway.core.shard_records import NodeMoved, NodeRequestDone, NodeRequestOutcome
from causeway.replication.worker.task_state import TaskState

MOVES_WAITING = 20


@dataclass(slots=True)
class _Move:
    record: NodeMoved
    before: int  # time of the last commit with records before it; 0 if there was none
    written: bool = False


class NodeLog:
    def __init__(self, shard: int, task: TaskState) -> None:
        self._shard = shard
        self._task = task
        self._delivered_at = 0  # time of the last commit with records
        self._moves: list[_Move] = []  # the pause of which is not known yet
        self._done: list[NodeRequestDone] = []  # not in the ledger yet

    def say(self, level: str, what: str) -> None:
        self._task.add_event(level, what)

    def left(self, what: str) -> None:
        """What was found in the logs of the node that was left says nothing about the next one."""
        self._task.forget_logs()
        self.say("warning", what)

    def switched(self, pool: str, switch: NodeSwitch) -> None:
        """The pool is read from another node, from none any more, or from one again."""
        committed = (position.at for position in self._task.positions.values())
        record = NodeMoved(
            self._shard, pool, switch.left or "", switch.to or "", switch.kind, switch.reason, now_ms()
        )
        move = _Move(record, max((self._delivered_at, *committed)))
        self._moves = [*self._moves[1 - MOVES_WAITING :], move]

    def executed(self, request: NodeRequest, outcome: NodeRequestOutcome, node: str, what: str) -> None:
        """An operator's request for a node."""
        self._done.append(
            NodeRequestDone(self._shard, request.pool, request.at, outcome, node, what, now_ms())
        )

    @property
    def due(self) -> bool:
        """Whether something must be committed although no record was produced."""
        return bool(self._done) or not all(move.written for move in self._moves)

    def records(self, at: int, *, delivered: bool) -> Sequence[NodeMoved | NodeRequestDone]:
        """What this commit adds to the ledger. `delivered`: whether the commit has records."""
        moves = [
            replace(move.record, pause_ms=max(0, at - move.before))
            if delivered and move.before
            else move.record
            for move in self._moves
            if delivered or not move.written
        ]
        return [*self._done, *moves]

    def committed(self, at: int, *, delivered: bool) -> None:
        """`records` were committed."""
        self._done = []
        if delivered:
            self._delivered_at, self._moves = at, []
        for move in self._moves:
            move.written = True
