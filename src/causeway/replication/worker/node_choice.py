"""The choice among the nodes of one source pool, while a task runs."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from causeway.core.control_records import NodeRequest
from causeway.core.pool_health import (
    DecisionKind,
    NodeReport,
    NodeSwitch,
    NodeVerdict,
    PoolDecision,
    PoolMemory,
)
from causeway.core.position import Position, SourcePartition
from causeway.core.shard_records import NodeRequestOutcome
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.core.topic import Spot
from causeway.errors import PoolExhausted
from causeway.kafka.pool_watch import PoolWatch
from causeway.kafka.task_errors import Again, NodeLeft
from causeway.replication.worker.node_log import NodeLog
from causeway.rules.failover import decide, move, progressed
from causeway.rules.pool_health import READABLE, UNREADABLE, judge_nodes, up_to

DECIDE_SECONDS, QUIET_SECONDS = 0.1, 1.0
"""How often to decide: after new reports, and without any."""
MAY_RETURN = frozenset({"dead", "unknown", "short"})
"""States that may end: a node comes back, or gets the records that it lacks."""
SILENT_SECONDS = 0.5
AGAIN_SECONDS = 0.25
"""How soon all nodes are checked again while none can be read from."""
DOUBT_SECONDS = 5.0
"""How long an attempt waits at most until the checks tell whether its node is dead."""


class NodeChoice:
    def __init__(
        self,
        pool: SourcePool,
        preferred: str,
        handled: int,
        ends: Mapping[Spot, int | None],
        log: NodeLog,
    ) -> None:
        # A node that never responded, or that is another cluster now, is not read.
        self.pool = pool = replace(pool, nodes=tuple(node for node in pool.nodes if node.cluster_id))
        # A run with an end cannot finish on a node that lacks one record before it.
        self._ends = {spot: end for spot, end in ends.items() if end is not None}
        self._judged = replace(pool, lag_threshold=0) if self._ends else pool
        self.node = ""  # the one in use; none before the first attempt
        self._preferred = preferred if preferred in [node.name for node in pool.nodes] else None
        self._handled = handled  # time of the latest request that earlier tasks have executed
        self._log = log
        self._watch = PoolWatch(pool, ends)
        self._waits = False  # whether no node can be read from; the one in use is kept meanwhile
        self._memory = PoolMemory()
        self._records = 0  # committed at the last decision
        self._decided_at, self._decided_on = 0.0, -1  # time of the last decision, and version of the reports
        self._checked_again_at = 0.0
        self._heard_at = 0.0  # when records were last committed; 0 once their absence led to a check
        # Positions of one check ago and more: log ends that were fetched before a position was reached would
        # make a node look short.
        self._positions: Mapping[Spot, int] = {}
        self._noted: Mapping[Spot, int] = {}
        self._current: Mapping[Spot, int] = {}  # as of the last check
        self._noted_at = 0.0

    def current(self) -> PoolNode:
        """The node to read from. If none can be read from at the start, the pool's first one is tried."""
        if not self.node:
            if self._preferred is None:  # otherwise the first decision may come later
                self._watch.wait_checked(self.pool.request_timeout + DECIDE_SECONDS)
            decision = self._decide(None, {})
            self._memory, self._waits = decision.memory, decision.node is None
            if not self.pool.nodes:
                raise Again(f"no node of the pool {self.pool.name} is known yet")
            self.node = decision.node or self.pool.nodes[0].name
            self._note_start(decision)
            if self._waits:
                self._log.say("warning", decision.reason)
        elif self.is_gone():
            self._leave_dead_node()
        return self.pool.node(self.node)

    def _leave_dead_node(self) -> None:
        """Before an attempt: it would wait for the node's connection before it looks at the nodes itself.

        Waits until the checks tell whether the node is dead, or it responds again.
        """
        deadline = time.monotonic() + min(self.pool.healthcheck_interval, DOUBT_SECONDS)
        while True:
            version = self._watch.version
            fresh = self._decide_on_fresh_checks(None if self._waits else self.node, self._current)
            if fresh is not None:
                try:
                    self._follow(fresh)
                except NodeLeft as left:
                    return self._log.left(str(left))
            if self._waits or not self.is_gone() or time.monotonic() > deadline:
                return None
            self._watch.wait_changed(version, AGAIN_SECONDS)

    def check(
        self, positions: Mapping[SourcePartition, Position], records: int, request: NodeRequest | None
    ) -> None:
        """Decide again, if it is time to. Raises NodeLeft if another node is to be read from."""
        now, version = time.monotonic(), self._watch.version
        requested = request is not None and request.at > self._handled
        rests = DECIDE_SECONDS if version != self._decided_on else QUIET_SECONDS
        if now - self._decided_at < rests and not requested:
            return
        self._decided_at, self._decided_on = now, version
        current = self._current = self._offsets(positions)
        if now - self._noted_at > self.pool.healthcheck_interval:
            self._positions, self._noted, self._noted_at = self._noted, current, now
        self._listen(records > self._records, now)
        if records > self._records:
            self._memory, self._records = progressed(self._memory), records
        if request is not None and requested:
            self._execute(request, current)
            return
        active = None if self._waits else self.node
        decision = self._decide(active, self._positions or current)
        if decision.node != active or decision.kind in ("wait", "exhausted"):
            fresh = self._decide_on_fresh_checks(active, current)
            if fresh is None:
                return
            decision = fresh
        self._follow(decision)

    def _listen(self, heard: bool, now: float) -> None:
        """Check the node at once when its records cease: it may hang, and the client would wait for long."""
        if heard:
            self._heard_at = now
        elif self._heard_at and now - self._heard_at > SILENT_SECONDS:
            self._heard_at = 0.0
            self._watch.check_now(self.node)

    def check_node(self) -> None:
        """The client of the node in use reported an error."""
        self._watch.check_now(self.node)

    def is_gone(self) -> bool:
        """Whether the node does not respond any more. A request waits for it now, so it is checked soon."""
        report = self._watch.reports[self.node]
        if not report.failures and time.monotonic() - (report.checked_at or 0.0) > SILENT_SECONDS:
            self._watch.check_now(self.node)
        return report.disconnected or report.failures > 1

    @property
    def readable(self) -> bool:
        """Whether the node in use may be read. While none can be read from, it is kept, but not read.

        One whose log begins too late is read all the same if no node can come back that has the records: then
        its partitions get their verdict, as those of a single cluster do.
        """
        if not self._waits:
            return True
        verdicts = self._verdicts(self._current)
        states = {verdict.state for verdict in verdicts.values()}
        return verdicts[self.node].state == "trimmed" and not states & MAY_RETURN

    @property
    def may_return(self) -> bool:
        """Whether a node that cannot be read now may have what the one in use lacks."""
        verdicts = self._verdicts(self._current)
        return any(verdict.state in MAY_RETURN for name, verdict in verdicts.items() if name != self.node)

    def reject(self, why: str) -> NodeLeft:
        """The content of the node in use is not the pool's. Returns what to raise."""
        self._watch.reject(self.node, why)
        self._decided_at = self._checked_again_at = 0.0
        return NodeLeft(f"node {self.node} of the pool {self.pool.name} is not read from any more: {why}")

    def has_other(self, positions: Mapping[SourcePartition, Position]) -> bool:
        """Whether another node has what comes after these positions."""
        self._watch.check_all(self.pool.request_timeout, leaving=self.node)
        verdicts = self._verdicts(self._offsets(positions))
        return any(verdict.state in READABLE for name, verdict in verdicts.items() if name != self.node)

    def close(self) -> None:
        self._watch.close()

    def _decide_on_fresh_checks(
        self, active: str | None, positions: Mapping[Spot, int]
    ) -> PoolDecision | None:
        """Decide on the nodes as they are now: the last reports may end before what was read since.

        None if that was done a moment ago, or if only an earlier report makes the node in use look short.
        """
        now = time.monotonic()
        if now < self._checked_again_at:
            return None
        self._checked_again_at = now + AGAIN_SECONDS
        checked = self._watch.check_all(self.pool.request_timeout, leaving=self.node)
        decision = self._decide(active, positions)
        looks_short = active is not None and decision.verdicts[active].state == "short"
        return None if looks_short and active not in checked else decision

    def _execute(self, request: NodeRequest, positions: Mapping[Spot, int]) -> None:
        """An operator wants another node."""
        self._handled = request.at
        self._watch.check_all(self.pool.request_timeout)
        decision = move(
            self._judged, self.node, request.node or None, self._reports(positions), positions, self._memory,
            time.monotonic(), force=request.force,
        )  # fmt: skip
        if decision.kind == "refused":
            self._log.say("warning", f"pool {self.pool.name}: not moved to another node: {decision.reason}")
            self._log.executed(request, "refused", self.node, decision.reason)
        else:
            moved = decision.node is not None and decision.node != self.node
            outcome: NodeRequestOutcome = "moved" if moved else "unchanged"
            self._log.executed(request, outcome, decision.node or self.node, decision.reason)
        self._follow(decision)

    def _note_start(self, decision: PoolDecision) -> None:
        """The first node of this task is another one than the task before has read."""
        if self._preferred is None or self._preferred not in decision.verdicts:
            return
        left = decision.verdicts[self._preferred]
        if decision.node != self._preferred and (left.state in UNREADABLE or left.state == "lagging"):
            kind = cast(DecisionKind, left.state)
            reason = f"{self._preferred} is {left.state} ({left.why})"
            switch = NodeSwitch(time.monotonic(), self._preferred, decision.node, kind, reason)
            self._log.switched(self.pool.name, switch)

    def _follow(self, decision: PoolDecision) -> None:
        last = decision.memory.switches[-1:]
        if last and last != self._memory.switches[-1:]:
            self._log.switched(self.pool.name, last[0])
        self._memory = decision.memory
        if decision.kind == "exhausted":
            switches = [
                f"{switch.left} → {switch.to}: {switch.reason}" for switch in decision.memory.switches
            ]
            raise PoolExhausted(
                f"the nodes of the pool {self.pool.name} were left too often without a record in between",
                why="; ".join(switches[-10:]),
                todo="see why each node was left, and start again",
            )
        if decision.node is None:
            if not self._waits:
                self._waits = True
                self._log.say("warning", decision.reason)
            return
        self._waits = False
        if decision.node != self.node:
            left, self.node = self.node, decision.node
            raise NodeLeft(
                f"pool {self.pool.name}: reading from {self.node} instead of {left}: {decision.reason}"
            )

    def _decide(self, active: str | None, positions: Mapping[Spot, int]) -> PoolDecision:
        return decide(
            self._judged, active, self._reports(positions), positions, self._memory, time.monotonic(),
            preferred=self._preferred, chance=random.random(),
        )  # fmt: skip

    def _verdicts(self, positions: Mapping[Spot, int]) -> dict[str, NodeVerdict]:
        return judge_nodes(self._judged, self._reports(positions), positions, time.monotonic())

    def _reports(self, positions: Mapping[Spot, int]) -> dict[str, NodeReport]:
        reports = self._watch.reports
        return up_to(reports, self._ends, positions) if self._ends else reports

    def _offsets(self, positions: Mapping[SourcePartition, Position]) -> dict[Spot, int]:
        return {
            (source.topic, source.partition): position.offset
            for source, position in positions.items()
            if source.cluster == self.pool.id
        }
