"""Decides which node of a source pool is read from.

A node that cannot be read from is left at once. One that lags is left when another fit node has had more
records for `hysteresis`. A fit one is never left, so equal nodes never alternate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from causeway.core.pool_health import (
    DecisionKind,
    NodeReport,
    NodeRest,
    NodeSwitch,
    NodeVerdict,
    PoolDecision,
    PoolMemory,
)
from causeway.core.source_pool import SourcePool
from causeway.core.topic import Spot
from causeway.rules.pool_health import READABLE, UNREADABLE, is_before, judge_nodes

KEPT_SWITCHES = 50
FORGOTTEN_AFTER = 10
"""A node that was not left for this many times `backoff_max` rests as shortly as after the first time."""


def decide(
    pool: SourcePool,
    active: str | None,
    reports: Mapping[str, NodeReport],
    positions: Mapping[Spot, int],
    memory: PoolMemory,
    now: float,
    *,
    preferred: str | None = None,
    chance: float = 0.5,
) -> PoolDecision:
    """The node to read from, by the newest checks.

    `active` is the node of the last decision, None while it waits. `positions` are those from before the
    checks began. `preferred` is tried first at the start. `chance` is a random number from 0 to 1: for the
    jitter, and for the first node if that is random.
    """
    view = _View(pool, reports, judge_nodes(pool, reports, positions, now), memory, now, chance)
    if active is None or active not in view.verdicts:
        return view.begin(preferred)
    verdict = view.verdicts[active]
    if verdict.state in UNREADABLE:
        return view.leave(active)
    memory = replace(memory, last=active, better_since=view.better_than(active))
    view = replace(view, memory=memory)
    if verdict.state == "lagging" and (better := view.proven_better(active)) and not view.at_limit():
        to = better[0]
        reason = f"{active} is lagging ({verdict.why}) while {to} is not"
        return view.switched(active, to, "lagging", reason, failovers=memory.failovers + 1)
    return PoolDecision(active, "stay", "", memory, view.verdicts)


def move(
    pool: SourcePool,
    active: str | None,
    to: str | None,
    reports: Mapping[str, NodeReport],
    positions: Mapping[Spot, int],
    memory: PoolMemory,
    now: float,
    *,
    force: bool = False,
) -> PoolDecision:
    """An operator's command to read from another node: from `to`, or from the next candidate.

    `force` allows a node that is lagging, dead or not checked yet. A node at which records would be lost or
    repeated is refused in any case.
    """
    view = _View(pool, reports, judge_nodes(pool, reports, positions, now), memory, now, 0.5)
    if to is None:
        others = [name for name in view.fit_nodes(active) if name != active]
        if not others:
            why = f"no other node is fit: {view.described(name for name in view.verdicts if name != active)}"
            return PoolDecision(active, "refused", why, memory, view.verdicts)
        to = others[0]
    if to not in view.verdicts:
        why = f"{to} is not a node of the pool: {', '.join(view.verdicts)}"
        return PoolDecision(active, "refused", why, memory, view.verdicts)
    state = view.verdicts[to].state
    if to == active:
        return PoolDecision(active, "stay", f"{to} is read from already", memory, view.verdicts)
    if state != "fit" and (not force or state in UNREADABLE - {"dead"}):
        return PoolDecision(active, "refused", view.described([to]), memory, view.verdicts)
    return view.switched(active, to, "manual", "by an operator's command", failovers=memory.failovers)


def progressed(memory: PoolMemory) -> PoolMemory:
    """To call when a record was delivered, or the log end reached: `max_failovers` counts from here."""
    return replace(memory, failovers=0) if memory.failovers else memory


def backoff(pool: SourcePool, times: int, chance: float) -> float:
    """Seconds to wait after the given number of failures in a row."""
    doubled = pool.backoff_min * 2.0 ** min(times - 1, 60)
    return min(pool.backoff_max, doubled) * (1 + pool.jitter * (2 * chance - 1))


@dataclass(frozen=True, slots=True)
class _View:
    """Everything that one decision depends on."""

    pool: SourcePool
    reports: Mapping[str, NodeReport]
    verdicts: Mapping[str, NodeVerdict]
    memory: PoolMemory
    now: float
    chance: float

    def begin(self, preferred: str | None) -> PoolDecision:
        """No node is read from: at the start, or because there was none."""
        first = self.memory.last is None
        if first and preferred is not None and self._state(preferred) in ("fit", "unknown"):
            return self.switched(None, preferred, "start", "it was read from last", failovers=0)
        names = self.candidates(self.memory.last)
        if not names:
            return PoolDecision(None, "wait", self._nothing(), self.memory, self.verdicts)
        if not first:
            reason = f"{names[0]} can be read from again"
            return self.switched(None, names[0], "resumed", reason, failovers=self.memory.failovers)
        rank = self._rank(names[0])
        equal = [name for name in names if self._rank(name) == rank]
        reason = f'initial = "{self.pool.initial}"'
        return self.switched(None, self._initial(equal), "start", reason, failovers=0)

    def leave(self, active: str) -> PoolDecision:
        """The active node cannot be read from."""
        verdict = self.verdicts[active]
        kind = cast(DecisionKind, verdict.state)
        memory = replace(self.memory, last=active, rests={**self.memory.rests, active: self._rest(active)})
        view = replace(self, memory=memory)
        reason = f"{active} is {verdict.state} ({verdict.why})"
        failovers = memory.failovers + 1
        if self.at_limit():
            reason = f"max_failovers = {self.pool.max_failovers} is reached without a record: {reason}"
            return view.switched(active, None, "exhausted", reason, failovers=failovers)
        names = view.candidates(active)
        if not names:
            reason = f"{reason}; {self._nothing()}"
            return replace(view.switched(active, None, kind, reason, failovers=failovers), kind="wait")
        return view.switched(active, names[0], kind, reason, failovers=failovers)

    def switched(
        self, left: str | None, to: str | None, kind: DecisionKind, reason: str, *, failovers: int
    ) -> PoolDecision:
        switch = NodeSwitch(self.now, left, to, kind, reason)
        memory = replace(
            self.memory,
            last=to or left,
            switches=(*self.memory.switches, switch)[-KEPT_SWITCHES:],
            failovers=failovers,
            better_since={},
        )
        return PoolDecision(to, kind, reason, memory, self.verdicts)

    def candidates(self, after: str | None) -> list[str]:
        """Nodes that can be read from, the best first; among equals round robin, beginning after this one."""
        names = [node.name for node in self.pool.nodes]
        begin = names.index(after) + 1 if after in names else 0
        readable = [name for name in names[begin:] + names[:begin] if self._state(name) in READABLE]
        return sorted(readable, key=self._rank)

    def fit_nodes(self, after: str | None) -> list[str]:
        return [name for name in self.candidates(after) if self._state(name) == "fit"]

    def better_than(self, active: str) -> dict[str, float]:
        """Since when each node has been fit and before the active one.

        A failed check shows nothing, so it changes nothing.
        """
        mine, since = self.reports.get(active, NodeReport()), {}
        for name, verdict in self.verdicts.items():
            if name == active or verdict.state != "fit":
                continue
            other, earlier = self.reports[name], self.memory.better_since.get(name)
            if mine.failures or other.failures:
                if earlier is not None:
                    since[name] = earlier
            elif is_before(mine, other, self.pool.lag_threshold):
                since[name] = self.now if earlier is None else earlier
        return since

    def proven_better(self, active: str) -> list[str]:
        """Nodes that have been better for `hysteresis`, by checks of both nodes at its beginning and end."""
        mine = self.reports[active]
        return [
            name
            for name in self.fit_nodes(active)
            if (since := self.memory.better_since.get(name)) is not None
            and not self._resting(name)
            and min(self.now, _checked(mine), _checked(self.reports[name])) - since >= self.pool.hysteresis
        ]

    def at_limit(self) -> bool:
        return self.pool.max_failovers is not None and self.memory.failovers >= self.pool.max_failovers

    def described(self, names: Iterable[str]) -> str:
        texts = [
            f"{name} is {self.verdicts[name].state}"
            + (f" ({why})" if (why := self.verdicts[name].why) else "")
            for name in names
        ]
        return ", ".join(texts)

    def _nothing(self) -> str:
        return f"no node of the pool {self.pool.name} can be read from: {self.described(self.verdicts)}"

    def _initial(self, names: list[str]) -> str:
        if self.pool.initial == "random":
            return names[min(int(self.chance * len(names)), len(names) - 1)]
        if self.pool.initial == "freshest":
            return min(names, key=lambda name: self.verdicts[name].worst_lag)
        return names[0]

    def _rank(self, name: str) -> tuple[int, float]:
        """The smaller, the better."""
        if self.verdicts[name].state == "lagging":
            return 2, self.verdicts[name].worst_lag
        if self.reports[name].failures:
            return 3, 0
        return (1, self.memory.rests[name].until) if self._resting(name) else (0, 0)

    def _state(self, name: str | None) -> str:
        return "" if name is None or name not in self.verdicts else self.verdicts[name].state

    def _resting(self, name: str) -> bool:
        rest = self.memory.rests.get(name)
        return rest is not None and self.now < rest.until

    def _rest(self, name: str) -> NodeRest:
        earlier = self.memory.rests.get(name)
        recent = earlier is not None and self.now - earlier.left_at < FORGOTTEN_AFTER * self.pool.backoff_max
        times = earlier.times + 1 if earlier is not None and recent else 1
        return NodeRest(times, self.now, self.now + backoff(self.pool, times, self.chance))


def _checked(report: NodeReport) -> float:
    return float("-inf") if report.checked_at is None else report.checked_at
