"""What checks show about the nodes of a source pool, what they are judged to be, and which node is read from.

Times are seconds of any one clock. A log end is the offset after the last record, a position the next offset
to fetch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from causeway.core.topic import Spot

NodeState = Literal["fit", "dead", "short", "trimmed", "lagging", "rejected", "unknown"]

DecisionKind = Literal[
    "stay",  # the node does not change
    "wait",  # no node can be read from
    "exhausted",  # too many nodes were left without a record in between: end with the history
    "refused",  # the node that an operator wants cannot be read from
    "start",  # the first node
    "resumed",  # a node can be read from again, after none could
    "manual",  # an operator's command
    "dead",  # the state of the node that was left
    "short",
    "trimmed",
    "rejected",
    "lagging",
]

NO_CHANGE: frozenset[DecisionKind] = frozenset({"stay", "refused"})


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What the checks of one node have shown."""

    bounds: Mapping[Spot, tuple[int, int]] = field(default_factory=dict)  # log start and end, newest success
    checked_at: float | None = None  # when the newest successful check ended
    failures: int = 0  # failed checks in a row since then
    failing_since: float | None = None  # when the first of them began
    disconnected: bool = False  # in the newest one every broker refused or closed the connection: no doubt
    error: str = ""  # of the newest one
    rejected: str = ""  # its content is not the pool's: why, with topic, partition and offset


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    state: NodeState
    why: str = ""  # for an operator, with partition and numbers; empty for a fit node
    lag: Mapping[Spot, int] = field(
        default_factory=dict
    )  # records before the furthest log end; only above zero

    @property
    def worst_lag(self) -> int:
        return max(self.lag.values(), default=0)


@dataclass(frozen=True, slots=True)
class NodeSwitch:
    at: float
    left: str | None
    to: str | None  # None: no node could be read from
    kind: DecisionKind
    reason: str


@dataclass(frozen=True, slots=True)
class NodeRest:
    """A node that had to be left is not chosen before `until`, unless no other node is fit."""

    times: int
    left_at: float
    until: float


@dataclass(frozen=True, slots=True)
class PoolMemory:
    """What decisions depend on beside the newest checks. Each decision returns the next one."""

    last: str | None = None  # the node that was read from last
    switches: tuple[NodeSwitch, ...] = ()  # newest last; older ones are dropped
    failovers: int = 0  # nodes left because of their state, since a record was delivered
    rests: Mapping[str, NodeRest] = field(default_factory=dict)
    better_since: Mapping[str, float] = field(default_factory=dict)  # fit nodes before a lagging active one


@dataclass(frozen=True, slots=True)
class PoolDecision:
    node: str | None  # to read from now; None: wait, or end if `exhausted`
    kind: DecisionKind
    reason: str  # for an operator; empty if nothing changes
    memory: PoolMemory
    verdicts: Mapping[str, NodeVerdict]
