"""Arbitrary reports: what no decision about a source pool may do."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from causeway.core.cluster import Cluster
from causeway.core.pool_health import NO_CHANGE, NodeReport, PoolDecision, PoolMemory
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.core.topic import Spot
from causeway.rules.failover import decide
from causeway.rules.pool_health import READABLE

P0, P1 = ("orders", 0), ("orders", 1)
NODES = tuple(PoolNode(Cluster(name, {"bootstrap.servers": f"{name}:9092"})) for name in "abc")
POOL = SourcePool("nodes", "", NODES)

ends = st.integers(0, 8)


@st.composite
def checks(draw: st.DrawFn) -> list[tuple[float, dict[str, NodeReport]]]:
    """Arbitrary reports of three nodes at growing times."""
    at, steps = 0.0, []
    for _ in range(draw(st.integers(1, 15))):
        at += draw(st.sampled_from([0.2, 1.0, 3.0, 7.0]))
        reports = {}
        for name in "abc":
            what = draw(st.sampled_from(["fit", "fit", "fit", "fit", "dead", "slow", "rejected", "unknown"]))
            first, second, start = draw(ends), draw(ends), draw(st.sampled_from([0, 0, 0, 3]))
            its = NodeReport({P0: (min(start, first), first), P1: (min(start, second), second)}, at)
            if what == "dead":
                its = replace(its, failures=2, failing_since=at - 3, checked_at=at - 4)
            elif what == "slow":
                its = replace(its, failures=1, failing_since=at - 1, checked_at=at - 3)
            elif what == "rejected":
                its = replace(its, rejected="another record")
            elif what == "unknown":
                its = NodeReport()
            reports[name] = its
        steps.append((at, reports))
    return steps


positions_drawn = st.fixed_dictionaries({P0: st.integers(0, 3), P1: st.integers(0, 3)})
pools = st.builds(
    lambda threshold, hysteresis, initial: replace(
        POOL, lag_threshold=threshold, hysteresis=hysteresis, initial=initial
    ),
    st.integers(0, 3),
    st.sampled_from([1.0, 4.0, 10.0]),
    st.sampled_from(["first", "random", "freshest"]),
)


def followed(
    pool: SourcePool, steps: list[tuple[float, dict[str, NodeReport]]], positions: dict[Spot, int]
) -> list[tuple[str | None, PoolDecision, dict[str, NodeReport]]]:
    """Each decision with the node from before it and what it was based on."""
    node: str | None = None
    memory, decisions = PoolMemory(), []
    for at, reports in steps:
        decision = decide(pool, node, reports, positions, memory, at)
        assert decision == decide(pool, node, reports, positions, memory, at)
        decisions.append((node, decision, reports))
        node, memory = decision.node, decision.memory
    return decisions


@given(pools, checks(), positions_drawn)
def test_only_readable_nodes_are_chosen_and_live_fit_ones_first(
    pool: SourcePool, steps: list[tuple[float, dict[str, NodeReport]]], positions: dict[Spot, int]
) -> None:
    for before, decision, reports in followed(pool, steps, positions):
        states = {name: verdict.state for name, verdict in decision.verdicts.items()}
        readable = {name for name, state in states.items() if state in READABLE}
        responding = {name for name, state in states.items() if state == "fit" and not reports[name].failures}
        if decision.kind in NO_CHANGE:
            assert before is not None
            assert states[before] in READABLE | {"unknown"}
        elif decision.node is None:
            assert not readable
        else:
            assert decision.node in readable
            assert decision.node in responding or not responding


@given(pools, checks(), positions_drawn)
def test_a_node_is_left_for_its_state_alone_and_for_lag_once_per_hysteresis(
    pool: SourcePool, steps: list[tuple[float, dict[str, NodeReport]]], positions: dict[Spot, int]
) -> None:
    decisions = followed(pool, steps, positions)
    for before, decision, reports in decisions:
        if before is not None and decision.node != before:
            assert decision.verdicts[before].state not in ("fit", "unknown")
            if reports[before].failures == 1:  # that is no reason; an earlier check may have shown one
                assert decision.verdicts[before].state in ("rejected", "trimmed")
            if decision.kind == "lagging":
                assert decision.node is not None
                assert decision.verdicts[decision.node].state == "fit"
    switches = decisions[-1][1].memory.switches
    for earlier, later in pairwise(switches):
        if later.kind == "lagging":
            assert later.at - earlier.at >= pool.hysteresis


@given(
    st.lists(st.tuples(*[st.integers(0, 1_000)] * 3), min_size=2, max_size=40),
    st.sampled_from(["a", "b", "c"]),
)
def test_equal_nodes_and_nodes_within_the_threshold_never_switch(
    seen: list[tuple[int, ...]], active: str
) -> None:
    memory = PoolMemory()
    for number, its_ends in enumerate(seen):
        at = 3.0 * number
        reports = {name: NodeReport({P0: (0, end)}, at) for name, end in zip("abc", its_ends, strict=True)}
        decision = decide(POOL, active, reports, {}, memory, at)
        assert (decision.node, decision.kind) == (active, "stay")
        memory = decision.memory
    assert memory.switches == ()
