"""Which node of a source pool is read from: none is left without need, none chosen that cannot be read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from causeway.core.cluster import Cluster
from causeway.core.pool_health import NodeReport, PoolDecision, PoolMemory
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.core.topic import Spot
from causeway.rules.failover import backoff, decide, move, progressed

P0, P1 = ("orders", 0), ("orders", 1)
NODES = tuple(PoolNode(Cluster(name, {"bootstrap.servers": f"{name}:9092"})) for name in "abc")
POOL = SourcePool("nodes", "", NODES)


def report(*ends: int, at: float, start: int = 0, **facts: Any) -> NodeReport:
    bounds = {("orders", partition): (start, end) for partition, end in enumerate(ends)}
    return NodeReport(bounds, checked_at=at, **facts)


def gone(at: float, error: str = "connection refused") -> NodeReport:
    return NodeReport(failures=1, failing_since=at, disconnected=True, error=error)


class Reader:
    """What reads from the pool: it checks, and follows each decision."""

    def __init__(self, pool: SourcePool = POOL, positions: dict[Spot, int] | None = None) -> None:
        self.pool, self.positions = pool, positions or {}
        self.node: str | None = None
        self.memory = PoolMemory()

    def sees(self, at: float, preferred: str | None = None, **reports: Any) -> PoolDecision:
        """A node's report, or its log end; None: its connections are refused."""
        seen = {
            name: found
            if isinstance(found, NodeReport)
            else (gone(at) if found is None else report(found, at=at))
            for name, found in reports.items()
        }
        decision = decide(self.pool, self.node, seen, self.positions, self.memory, at, preferred=preferred)
        self.node, self.memory = decision.node, decision.memory
        return decision


def test_the_first_node_of_the_pool_that_is_fit() -> None:
    assert Reader().sees(0, a=10, b=10, c=10).node == "a"
    assert Reader().sees(0, a=None, b=10, c=10).node == "b"
    assert Reader().sees(0, a=10, b=5_000, c=10).node == "b"  # the others are lagging
    decision = Reader(positions={P0: 11}).sees(0, a=10, b=11, c=10)
    assert (decision.node, decision.kind, decision.reason) == ("b", "start", 'initial = "first"')


def test_the_freshest_node_has_the_smallest_lag_on_its_worst_partition() -> None:
    freshest = replace(POOL, initial="freshest")
    reports = {"a": report(10, 500, at=0), "b": report(480, 490, at=0), "c": report(500, 300, at=0)}
    assert decide(freshest, None, reports, {}, PoolMemory(), 0).node == "b"
    assert Reader(freshest).sees(0, a=10, b=10, c=10).node == "a"


def test_a_random_node_is_one_of_the_fit_ones() -> None:
    chosen = [
        decide(
            replace(POOL, initial="random"),
            None,
            {"a": report(5, at=0), "b": gone(0), "c": report(5, at=0)},
            {},
            PoolMemory(),
            0,
            chance=chance,
        ).node
        for chance in (0, 0.49, 0.51, 1)
    ]
    assert chosen == ["a", "a", "c", "c"]


def test_the_node_that_was_read_from_last_is_preferred_at_the_start() -> None:
    assert Reader().sees(0, preferred="c", a=10, b=10, c=10).node == "c"
    assert Reader().sees(0, preferred="c", a=10, b=10).node == "c"  # not checked yet
    assert Reader().sees(0, preferred="c", a=10, b=10, c=None).node == "a"
    assert Reader().sees(0, preferred="c", a=9_000, b=10, c=10).node == "a"
    assert Reader().sees(0, preferred="x", a=10, b=10, c=10).node == "a"


def test_before_the_first_check_there_is_nothing_to_choose() -> None:
    decision = Reader().sees(0)
    assert (decision.node, decision.kind) == (None, "wait")
    assert decision.reason == (
        "no node of the pool nodes can be read from: a is unknown (not checked yet),"
        " b is unknown (not checked yet), c is unknown (not checked yet)"
    )


@pytest.mark.parametrize(
    ("seen", "kind", "reason"),
    [
        (gone(1), "dead", "a is dead (connection refused)"),
        (report(9, at=1), "short", "a is short (orders[0]: the log end 9 is before the position 10)"),
        (
            report(20, at=1, start=11),
            "trimmed",
            "a is trimmed (orders[0]: the log start 11 is after the position 10)",
        ),
        (report(20, at=1, rejected="another record"), "rejected", "a is rejected (another record)"),
    ],
)
def test_a_node_that_cannot_be_read_from_is_left_at_once(seen: NodeReport, kind: str, reason: str) -> None:
    reader = Reader(positions={P0: 10})
    reader.sees(0, a=10, b=10, c=10)
    decision = reader.sees(1, a=seen, b=20, c=20)
    assert (decision.node, decision.kind, decision.reason) == ("b", kind, reason)
    last = decision.memory.switches[-1]
    assert (last.at, last.left, last.to, last.kind, last.reason) == (1, "a", "b", kind, reason)


def test_nodes_are_taken_in_turn() -> None:
    reader = Reader()
    reader.sees(0, a=1, b=1, c=1)
    assert reader.sees(100, a=None, b=1, c=1).node == "b"
    assert reader.sees(200, a=1, b=None, c=1).node == "c"
    assert reader.sees(300, a=1, b=1, c=None).node == "a"


def test_a_node_that_returns_is_not_switched_back_to() -> None:
    reader = Reader()
    reader.sees(0, a=1, b=1, c=1)
    reader.sees(1, a=None, b=1, c=1)
    assert [reader.sees(at, a=5, b=5, c=5).kind for at in (2, 60, 900)] == ["stay"] * 3


def test_live_nodes_are_chosen_before_one_that_may_be_dying_and_lagging_ones_before_none() -> None:
    reader = Reader()
    reader.sees(0, a=1, b=1, c=1)
    slow = report(1, at=0, failures=1, failing_since=1)
    assert reader.sees(1, a=None, b=slow, c=1).node == "c"
    assert reader.sees(2, a=None, b=slow, c=None).node == "b"
    assert reader.sees(3, a=None, b=None, c=None).node is None
    lagging: dict[str, Any] = {
        "a": report(9_000, 0, at=4),
        "b": report(0, 9_000, at=4),
        "c": report(7_000, 500, at=4),
    }
    assert reader.sees(4, **lagging).node == "c"  # each is lagging: by 9,000, 9,000 and 8,500


def test_without_any_node_it_waits_and_says_why() -> None:
    reader = Reader(positions={P0: 50})
    reader.sees(0, a=50, b=50, c=50)
    decision = reader.sees(
        1, a=None, b=49, c=report(60, at=1, rejected="orders[0], offset 49: another record")
    )
    assert (decision.node, decision.kind) == (None, "wait")
    assert decision.reason == (
        "a is dead (connection refused); no node of the pool nodes can be read from: a is dead (connection"
        " refused), b is short (orders[0]: the log end 49 is before the position 50), c is rejected"
        " (orders[0], offset 49: another record)"
    )
    again = reader.sees(2, a=None, b=49, c=None)
    assert (again.kind, again.reason.split(":")[0]) == ("wait", "no node of the pool nodes can be read from")
    resumed = reader.sees(3, a=50, b=49, c=None)
    assert (resumed.node, resumed.kind, resumed.reason) == ("a", "resumed", "a can be read from again")
    assert [(switch.left, switch.to, switch.kind) for switch in resumed.memory.switches] == [
        (None, "a", "start"),
        ("a", None, "dead"),
        (None, "a", "resumed"),
    ]


def test_a_node_that_flaps_is_left_alone_for_a_growing_time() -> None:
    pool = replace(POOL, jitter=0.0)
    reader = Reader(pool)
    reader.sees(0, a=1, b=1, c=1)
    rests = []
    for at in (10, 20, 30, 40, 50, 60):
        reader.node = "a"
        decision = reader.sees(at, a=None, b=1, c=1)
        rests.append(decision.memory.rests["a"].until - at)
    assert rests == [1, 2, 4, 8, 10, 10]
    reader.node = "c"
    assert reader.sees(61, a=1, b=1, c=None).node == "b"  # a would be next, but rests
    reader.node = "b"
    assert reader.sees(65, a=1, b=None, c=None).node == "a"  # the only fit one, in spite of its rest
    assert reader.sees(900, a=None, b=1, c=1).memory.rests["a"].times == 1  # long ago


def test_the_jitter_of_a_backoff() -> None:
    pool = replace(POOL, backoff_min=1, backoff_max=6, jitter=0.5)
    assert [backoff(pool, times, 0.5) for times in (1, 2, 3, 4, 9_999)] == [1, 2, 4, 6, 6]
    assert [backoff(pool, 4, chance) for chance in (0, 1)] == [3, 9]


def test_a_lagging_node_is_left_when_another_one_was_ahead_for_long_enough() -> None:
    reader = Reader()
    reader.sees(0, a=100, b=100, c=100)
    for at in (3, 6, 9, 12):
        assert reader.sees(at, a=100, b=1_100 + at, c=100).kind == "stay"
    decision = reader.sees(15, a=100, b=1_200, c=100)
    assert (decision.node, decision.kind) == ("b", "lagging")
    assert decision.reason == (
        "a is lagging (orders[0]: its log end is 1,100 records before another node's) while b is not"
    )


def test_a_node_that_catches_up_in_between_is_not_left() -> None:
    reader = Reader()
    reader.sees(0, a=100, b=100, c=100)
    for at in range(3, 90, 3):
        own_end = 5_000 if at % 9 == 0 else 100
        assert reader.sees(at, a=own_end, b=5_000, c=100).kind == "stay"


def test_how_long_a_node_was_better_counts_from_the_last_switch() -> None:
    reader = Reader()
    reader.sees(0, a=100, b=100, c=100)
    decisions = [reader.sees(at, a=100, b=5_000, c=5_000) for at in (3, 6, 9, 12, 15)]
    assert (decisions[-1].node, decisions[-1].kind) == ("b", "lagging")
    kinds = [reader.sees(at, a=100, b=5_000, c=7_000).kind for at in (18, 21, 24, 27, 30)]
    assert kinds == ["stay"] * 4 + ["lagging"]


def test_time_without_a_new_check_proves_no_lag() -> None:
    reader = Reader()
    reader.sees(0, a=100, b=100, c=100)
    reader.sees(3, a=100, b=5_000, c=100)
    slow = report(100, at=3, failures=1, failing_since=6)
    assert reader.sees(14, a=slow, b=5_000, c=100).kind == "stay"
    assert reader.sees(14, a=report(100, at=4), b=report(5_000, at=4), c=100).kind == "stay"
    assert reader.sees(15, a=100, b=5_000, c=100).kind == "lagging"  # the evidence from before still counts


def test_a_node_ahead_in_sum_and_short_or_lagging_in_one_partition_is_not_switched_to() -> None:
    for positions in ({P0: 600, P1: 600}, {}):
        reader = Reader(positions=positions)
        reader.node = "a"
        for at in range(0, 60, 3):
            a, b = report(2_500, 2_500, at=at), report(9_000, 500, at=at)
            assert reader.sees(at, a=a, b=b, c=None).node == "a"


def test_too_many_failovers_without_a_record_end_with_the_history() -> None:
    reader = Reader(replace(POOL, max_failovers=2))
    reader.sees(0, a=1, b=1, c=1)
    assert reader.sees(1, a=None, b=1, c=1).node == "b"
    assert reader.sees(2, a=1, b=None, c=1).node == "c"
    decision = reader.sees(3, a=1, b=1, c=None)
    assert (decision.node, decision.kind) == (None, "exhausted")
    assert decision.reason == (
        "max_failovers = 2 is reached without a record: c is dead (connection refused)"
    )
    assert [switch.left for switch in decision.memory.switches] == [None, "a", "b", "c"]


def test_a_record_in_between_makes_failovers_count_anew() -> None:
    reader = Reader(replace(POOL, max_failovers=1))
    reader.sees(0, a=1, b=1, c=1)
    for at in range(1, 20):
        ends: dict[str, Any] = {"a": 1, "b": 1, "c": 1}
        assert reader.node is not None
        ends[reader.node] = None
        assert reader.sees(at, **ends).node is not None
        reader.memory = progressed(reader.memory)


def test_waiting_for_nodes_is_no_failover_and_lag_never_ends_a_mirror() -> None:
    reader = Reader(replace(POOL, max_failovers=1))
    reader.sees(0, a=1, b=1, c=1)
    assert reader.sees(1, a=None, b=None, c=None).kind == "wait"
    assert {reader.sees(at, a=None, b=None, c=None).kind for at in range(2, 50)} == {"wait"}
    assert reader.sees(50, a=None, b=1, c=None).kind == "resumed"
    assert {reader.sees(at, a=9_000, b=1, c=9_000).kind for at in range(51, 90)} == {"stay"}
    assert reader.sees(90, a=1, b=None, c=1).kind == "exhausted"


def test_a_node_that_left_the_pool_is_not_read_from() -> None:
    reader = Reader()
    reader.node = "x"
    assert reader.sees(0, a=1, b=1, c=1).node == "a"


def by_hand(to: str | None, force: bool = False, **reports: Any) -> tuple[str | None, str, str]:
    decision = move(POOL, "a", to, reports, {P0: 10}, PoolMemory(last="a"), 5, force=force)
    return decision.node, decision.kind, decision.reason


def test_an_operator_moves_to_the_next_fit_node_or_to_a_named_one() -> None:
    a, b, c = (report(10, at=5) for _ in "abc")
    assert by_hand(None, a=a, b=b, c=c) == ("b", "manual", "by an operator's command")
    assert by_hand(None, a=a, b=gone(5), c=c)[0] == "c"
    assert by_hand("c", a=a, b=b, c=c)[:2] == ("c", "manual")
    assert by_hand("a", a=a, b=b, c=c)[:2] == ("a", "stay")
    assert by_hand("x", a=a, b=b, c=c) == ("a", "refused", "x is not a node of the pool: a, b, c")
    assert by_hand(None, a=a, b=gone(5)) == (
        "a",
        "refused",
        "no other node is fit: b is dead (connection refused), c is unknown (not checked yet)",
    )


def test_force_covers_what_loses_no_record() -> None:
    fit, ahead = report(10, at=5), report(5_000, at=5)
    lagging: dict[str, Any] = {"a": ahead, "b": fit, "c": fit}
    unknown: dict[str, Any] = {"a": fit}
    dead: dict[str, Any] = {"a": fit, "b": gone(5)}
    for reports in (lagging, unknown, dead):
        assert by_hand("b", **reports)[:2] == ("a", "refused")
        assert by_hand("b", force=True, **reports)[:2] == ("b", "manual")
    short, trimmed = report(9, at=5), report(20, at=5, start=11)
    for unfit in (short, trimmed, report(10, at=5, rejected="another record")):
        assert by_hand("b", force=True, a=fit, b=unfit)[:2] == ("a", "refused")
