"""What checks say about the nodes of a source pool, each partition by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.cluster import Cluster
from causeway.core.pool_health import NodeReport, NodeVerdict
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.core.topic import Spot
from causeway.rules.pool_health import READABLE, ends_to_reach, is_before, judge_nodes, up_to

P0, P1 = ("orders", 0), ("orders", 1)
NOW = 100.0


def pool(names: Iterable[str] = "abc", **settings: Any) -> SourcePool:
    nodes = tuple(PoolNode(Cluster(name, {"bootstrap.servers": f"{name}:9092"})) for name in names)
    return SourcePool("nodes", "", nodes, **settings)


def report(*ends: int, start: int = 0, **facts: Any) -> NodeReport:
    bounds = {("orders", partition): (start, end) for partition, end in enumerate(ends)}
    return NodeReport(bounds, **{"checked_at": NOW, **facts})


def failing(*ends: int, failures: int = 2, seconds: float = 3.0, **facts: Any) -> NodeReport:
    checked_at = NOW - seconds - 1
    since = {"failing_since": NOW - seconds, "error": "timed out", "checked_at": checked_at}
    return report(*ends, failures=failures, **{**since, **facts})


def judged(positions: dict[Spot, int] | None = None, **reports: NodeReport) -> dict[str, NodeVerdict]:
    return judge_nodes(pool(reports), reports, positions or {}, NOW)


def states(positions: dict[Spot, int] | None = None, **reports: NodeReport) -> str:
    return " ".join(verdict.state for verdict in judged(positions, **reports).values())


def test_nodes_with_equal_logs_are_fit() -> None:
    assert states({P0: 10, P1: 20}, a=report(10, 20), b=report(10, 20)) == "fit fit"
    assert states({}, a=report(10, 20), b=report(10, 20)) == "fit fit"


def test_a_node_that_was_not_checked_is_unknown() -> None:
    assert judged(a=report(1), b=NodeReport())["b"] == NodeVerdict("unknown", "not checked yet")
    never = judged(a=report(1), b=NodeReport(failures=1, failing_since=NOW, error="timed out"))["b"]
    assert never == NodeVerdict("unknown", "1 failed check in a row (timed out)")
    missing = judge_nodes(pool("ab"), {"a": report(1)}, {}, NOW)
    assert missing["b"].state == "unknown"


@pytest.mark.parametrize(
    ("checks", "state"),
    [
        (failing(10, failures=1, seconds=1), "fit"),
        (failing(10, failures=1, seconds=60), "fit"),  # one slow response is no death, whenever it came
        (failing(10, failures=2, seconds=2.9), "fit"),
        (failing(10, failures=2, seconds=3), "dead"),
        (failing(failures=5, seconds=9, checked_at=None), "dead"),
        (report(10, disconnected=True, failures=1, failing_since=NOW), "dead"),
    ],
)
def test_a_node_is_dead_after_two_failed_checks_or_a_refused_connection(
    checks: NodeReport, state: str
) -> None:
    assert states({P0: 10}, a=checks, b=report(10)) == f"{state} fit"


def test_a_verdict_says_why() -> None:
    verdicts = judged(
        {P0: 50, P1: 5},
        dead=failing(50, 10),
        gone=report(50, 10, disconnected=True, error="connection refused"),
        short=report(49, 10),
        trimmed=report(60, 10, start=6),
        lagging=report(50, 10),
        other=report(2_000, 10, rejected="orders[0], offset 49: another record"),
        fresh=report(1_051, 10),
    )
    assert {name: (verdict.state, verdict.why) for name, verdict in verdicts.items()} == {
        "dead": ("dead", "2 failed checks in a row (timed out), for 3.0 s"),
        "gone": ("dead", "connection refused"),
        "short": ("short", "orders[0]: the log end 49 is before the position 50"),
        "trimmed": ("trimmed", "orders[1]: the log start 6 is after the position 5"),
        "lagging": ("lagging", "orders[0]: its log end is 1,001 records before another node's"),
        "other": ("rejected", "orders[0], offset 49: another record"),
        "fresh": ("fit", ""),
    }
    assert verdicts["lagging"].lag == {P0: 1_001}
    assert verdicts["lagging"].worst_lag == 1_001


def test_a_node_lags_by_partition_and_not_in_sum() -> None:
    """The second node has more records in all, and lacks those of one partition."""
    assert states({}, a=report(3_000, 100), b=report(500, 9_000)) == "lagging lagging"
    assert states({}, a=report(1_000, 1_000), b=report(0, 0)) == "fit fit"  # 2,000 in sum, 1,000 in each
    assert states({}, a=report(1_001, 1_000), b=report(0, 0)) == "fit lagging"


@pytest.mark.parametrize(
    "ahead",
    [
        {"rejected": "another record"},
        {"disconnected": True},
        {"start": 20},  # trimmed
    ],
)
def test_only_nodes_that_can_be_read_from_make_others_lag(ahead: dict[str, Any]) -> None:
    assert states({P0: 10}, a=report(9_999, **ahead), b=report(10)).endswith(" fit")


def test_a_partition_that_a_node_lacks_is_short_where_records_of_it_were_replicated() -> None:
    found = judged({P0: 5, P1: 1}, a=report(5, 5), b=report(5))
    assert found["b"] == NodeVerdict(
        "short", "orders[1]: the node has no such partition, and the position is 1"
    )
    assert states({P0: 5, P1: 0}, a=report(5, 5), b=report(5)) == "fit fit"
    assert states({P0: 5}, a=report(5, 1_001), b=report(5)) == "fit lagging"  # a partition that is new at a
    assert states({P0: 5, P1: 7}, a=report(5), b=report(5)) == "fit fit"  # deleted at all of them


def test_a_partition_of_a_dead_node_still_counts_as_present() -> None:
    assert states({P0: 5, P1: 7}, a=failing(5, 7), b=report(5)) == "dead short"
    assert states({P0: 5, P1: 7}, a=report(5, 7, rejected="x"), b=report(5)) == "rejected fit"


def test_the_worst_state_counts() -> None:
    all_of_it = report(4, 9_999, start=0, rejected="another record", disconnected=True)
    assert states({P0: 5}, a=all_of_it) == "dead"
    assert states({P0: 5}, a=replace(all_of_it, disconnected=False)) == "rejected"
    assert states({P0: 5}, a=replace(all_of_it, disconnected=False, rejected="")) == "short"
    both = NodeReport({P0: (0, 4), P1: (9, 10)}, checked_at=NOW)
    assert states({P0: 5, P1: 8}, a=both) == "short"
    trimmed_and_lagging = report(9, start=6)
    assert states({P0: 5}, a=trimmed_and_lagging, b=report(5_000)) == "trimmed fit"


def test_after_a_failed_check_earlier_log_ends_prove_neither_short_nor_lagging() -> None:
    """The positions have moved on since the last check that succeeded."""
    slow = failing(10, failures=1, seconds=1)
    assert states({P0: 11}, a=slow, b=report(20)) == "unknown fit"
    assert states({P0: 10}, a=slow, b=report(5_000)) == "fit fit"


numbers = st.integers(0, 6)
bounds = st.dictionaries(
    st.sampled_from([P0, P1]),
    st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair))),
)


@st.composite
def reports(draw: st.DrawFn) -> NodeReport:
    checked = draw(st.booleans()) or draw(st.booleans())
    failures = draw(st.sampled_from([0, 0, 1, 2, 3]))
    return NodeReport(
        draw(bounds) if checked else {},
        NOW - 6 if checked else None,
        failures,
        NOW - draw(st.sampled_from([5, 1])) if failures else None,
        bool(failures) and draw(st.booleans()),
        "timed out" if failures else "",
        draw(st.sampled_from(["", "", "", "another record"])),
    )


three = st.fixed_dictionaries({name: reports() for name in "abc"})
positions_drawn = st.dictionaries(st.sampled_from([P0, P1]), numbers)


@given(three, positions_drawn, st.integers(0, 3))
def test_a_fit_or_lagging_node_has_every_position(
    drawn: dict[str, NodeReport], positions: dict[Spot, int], threshold: int
) -> None:
    for name, verdict in judge_nodes(pool(lag_threshold=threshold), drawn, positions, NOW).items():
        if verdict.state in ("fit", "lagging"):
            for spot, position in positions.items():
                if spot in drawn[name].bounds:
                    start, end = drawn[name].bounds[spot]
                    assert start <= position <= end
                elif position > 0:
                    others = [other for other in drawn.values() if not other.rejected]
                    assert not any(spot in other.bounds for other in others)
        if drawn[name].failures == 1 and not drawn[name].disconnected:
            assert verdict.state not in ("dead", "short", "lagging")


@given(three, positions_drawn, st.integers(0, 3))
def test_a_node_lags_exactly_if_one_partition_of_it_is_over_the_threshold(
    drawn: dict[str, NodeReport], positions: dict[Spot, int], threshold: int
) -> None:
    verdicts = judge_nodes(pool(lag_threshold=threshold), drawn, positions, NOW)
    readable = [name for name, verdict in verdicts.items() if verdict.state in READABLE]
    for name in readable:
        over = any(is_before(drawn[name], drawn[other], threshold) for other in readable)
        assert (verdicts[name].state == "lagging") == (over and not drawn[name].failures)
        assert (verdicts[name].worst_lag > threshold) == over


@given(st.tuples(numbers, numbers), st.tuples(numbers, numbers), st.integers(0, 3))
def test_a_sum_over_partitions_decides_nothing(
    a: tuple[int, int], b: tuple[int, int], threshold: int
) -> None:
    verdicts = judge_nodes(pool("ab", lag_threshold=threshold), {"a": report(*a), "b": report(*b)}, {}, NOW)
    assert (verdicts["a"].state == "lagging") == any(
        theirs - mine > threshold for mine, theirs in zip(a, b, strict=True)
    )


@given(three, positions_drawn)
def test_nothing_in_one_partition_makes_up_for_another(
    drawn: dict[str, NodeReport], positions: dict[Spot, int]
) -> None:
    def alone(spot: Spot) -> dict[str, NodeVerdict]:
        part = {
            name: replace(its, bounds={spot: its.bounds[spot]} if spot in its.bounds else {})
            for name, its in drawn.items()
        }
        position = {spot: positions[spot]} if spot in positions else {}
        return judge_nodes(pool(), part, position, NOW)

    first, second = alone(P0), alone(P1)
    for name, verdict in judge_nodes(pool(), drawn, positions, NOW).items():
        states_alone = {first[name].state, second[name].state}
        for state in ("short", "trimmed"):
            if state in states_alone:
                assert verdict.state == state
                break
        else:
            assert verdict.state not in ("short", "trimmed")


# Runs with an end


def ends(positions: dict[Spot, int] | None = None, threshold: int = 5, **reports: NodeReport) -> object:
    found = ends_to_reach(pool(reports, lag_threshold=threshold), reports, positions or {})
    return [found.get(P0), found.get(P1)]


def test_the_end_is_the_furthest_one_on_fit_nodes_for_each_partition() -> None:
    assert ends(a=report(10, 20), b=report(12, 19)) == [12, 20]
    assert ends(a=report(10, 20), b=NodeReport()) == [10, 20]


def test_what_a_short_trimmed_or_rejected_node_has_more_is_not_waited_for() -> None:
    positions = {P0: 10, P1: 20}
    assert ends(positions, a=report(10, 20), b=report(90, 19)) == [10, 20]
    assert ends(positions, a=report(10, 20), b=report(90, 90, start=11)) == [10, 20]
    assert ends(positions, a=report(10, 20), b=report(90, 90, rejected="another record")) == [10, 20]


def test_a_lagging_node_has_the_end_only_where_no_node_is_fit() -> None:
    assert ends(a=report(10, 20), b=report(12, 10)) == [10, 20]
    assert ends(a=report(10, 20), b=report(20, 10)) == [20, 20]
    assert ends({P0: 30}, a=report(10, 20)) == [None, None]


@given(three, positions_drawn, st.fixed_dictionaries({P0: numbers, P1: numbers}))
def test_up_to_an_end_a_node_lags_exactly_if_it_lacks_a_record_before_it(
    drawn: dict[str, NodeReport], positions: dict[Spot, int], wanted: dict[Spot, int]
) -> None:
    strict = pool(lag_threshold=0)
    verdicts = judge_nodes(strict, up_to(drawn, wanted, positions), positions, NOW)
    before = judge_nodes(strict, drawn, positions, NOW)
    readable = [name for name, verdict in verdicts.items() if verdict.state in READABLE]
    assert readable == [name for name, verdict in before.items() if verdict.state in READABLE]

    def end(name: str, spot: Spot) -> int:
        return drawn[name].bounds.get(spot, (0, 0))[1]

    for name in readable:
        lacks = any(
            end(name, spot) < min(end(other, spot), max(wanted[spot], positions.get(spot, 0)))
            for other in readable
            for spot in drawn[other].bounds
        )
        assert (verdicts[name].state == "lagging") == (lacks and not drawn[name].failures)
