"""The first line of the page, in every situation."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.core.plan import Unmatched
from causeway.core.snapshot import EventView, MirrorView, Snapshot
from causeway.core.times import span
from causeway.web.health_summary import (
    HealthFinding,
    all_findings,
    catch_up_seconds,
    catch_up_text,
    findings,
    rpo,
)
from web import made
from web.made import NOW, mirror, partition, shard, snapshot, stopped_partition

FAR = partition(0, lag_records=90_000, lag_seconds=45.0)


def first(view: Snapshot, now: int = NOW, **trends: float) -> HealthFinding:
    named = {name.replace("_", "-"): trend for name, trend in trends.items()}
    return all_findings(view, now, named)[0]


def said(view: MirrorView, trend: float | None = 0.0) -> HealthFinding:
    return findings(view, NOW, trend)[0]


def test_a_healthy_mirror() -> None:
    assert first(made.healthy()) == HealthFinding("ok", "Healthy: 1,234 records/s, lag 0.4 s.")
    two = snapshot(mirror(), mirror(name="back", records_per_second=1.0))
    assert first(two).what == "Healthy: 2 mirrors, 1,236 records/s, lag at most 0.4 s."


def test_an_idle_or_finished_mirror_is_healthy_too() -> None:
    idle = mirror([partition(lag_records=0, lag_seconds=0.0)], records_per_second=0.0)
    assert first(snapshot(idle)).what == "Healthy: caught up, no new records."
    assert said(mirror(state="done")).what == "Done: everything up to the end is replicated."
    assert first(snapshot(mirror(state="done"))).level == "ok"


def test_a_stopped_partition_comes_with_its_remedy() -> None:
    assert first(made.stopped()) == HealthFinding(
        "error",
        "orders[1] is stopped (gap): offsets 50 to 69 (20) were deleted before they were replicated",
        "causeway offsets skip mirror.toml --topic orders --partition 1 --to earliest",
        "paris-to-tokyo",
    )


def test_many_partitions_of_one_verdict_are_one_thing_to_do() -> None:
    many = mirror([stopped_partition(number) for number in range(40)], sources=("paris", "rome"))
    (one,) = findings(many, NOW, 0.0)
    assert one.what.startswith("paris:orders[0] and 39 others are stopped (gap): ")


def test_each_reason_of_a_refusal_is_a_finding() -> None:
    """Topics without a place differ in what helps them; of one topic all partitions are one thing to do."""
    refused = [
        stopped_partition(number, topic=topic, verdict="unroutable", what=what, todo=f"help {topic}")
        for topic, what in (("orders", "4 are needed"), ("events", "LogAppendTime"))
        for number in (2, 3)
    ]
    found = findings(mirror([partition(0), *refused]), NOW, 0.0)
    assert [(one.level, one.what, one.todo) for one in found] == [
        (
            "error",
            "orders[2] and 1 other are stopped (unroutable): 4 are needed",
            "help orders",
        ),
        ("error", "events[2] and 1 other are stopped (unroutable): LogAppendTime", "help events"),
    ]


def test_waiting_names_the_cluster() -> None:
    found = first(made.waiting())
    assert found.level == "error"
    assert found.what == "Waiting: paris has not responded for 3 min. The mirror resumes by itself."
    assert "brokers run" in found.todo


def test_waiting_for_a_pool_names_why_each_node_cannot_be_read_from() -> None:
    found = first(made.without_node())
    assert (found.level, found.what.startswith("Waiting for 3 min: no node of the pool paris")) == (
        "error",
        True,
    )
    assert "paris-a is dead (no response), paris-b is short (orders[0]:" in found.what
    assert "bring back a node" in found.todo


def test_a_node_that_could_not_take_over_is_a_notice_and_a_rejected_one_a_warning() -> None:
    found = first(made.pooled())
    assert found.level == "notice"
    assert found.what.startswith("Pool paris: paris-a is dead (every bootstrap server refuses")
    assert "paris-c is unknown (it has not responded yet)" in found.what
    rejected = made.pool(made.node(), made.node("paris-b", state="rejected", why="other data"))
    assert first(snapshot(mirror(pools=(rejected,)))).level == "warning"
    fit = made.pool(made.node(), made.node("paris-b"))
    assert first(snapshot(mirror(pools=(fit,)))).level == "ok"


@pytest.mark.parametrize("state", ["running", "waiting"])
def test_a_destination_that_rejects_records_is_named_with_its_reason_alone(state: Any) -> None:
    """Not that it does not respond, nor that more shards would help."""
    view = mirror([FAR], state=state, blocked="too few replicas", blocked_todo="start brokers")
    assert [(one.level, one.what, one.todo) for one in findings(view, NOW, 1_200.0)] == [
        ("error", "Waiting: too few replicas.", "start brokers")
    ]


def test_a_pause_says_by_whom_and_what_waits() -> None:
    found = first(made.paused())
    assert (found.level, found.what) == ("notice", "Paused by ann for 5 min: lag 6 records.")
    assert "retention" in found.todo


def test_a_lag_that_grows_is_a_warning_and_one_that_shrinks_is_not() -> None:
    grows, shrinks = said(mirror([FAR]), 1_200.0), said(mirror([FAR]), -1_000.0)
    assert (grows.level, grows.what) == (
        "warning",
        "Lagging, not catching up: 90,000 records, the oldest waiting for 45 s, growing by 1,200 records/s.",
    )
    assert "`shards`" in grows.todo
    assert (shrinks.level, shrinks.what) == (
        "notice",
        "Catching up, about 90 s left: 90,000 records, the oldest waiting for 45 s.",
    )
    assert said(mirror([FAR]), None).what == "Lagging: 90,000 records, the oldest waiting for 45 s."
    assert said(mirror([FAR]), -0.001).level == "warning"


def test_an_old_snapshot_is_never_healthy() -> None:
    found = first(made.healthy(), NOW + 34_000)
    assert found.level == "error"
    assert found.what == "No status from the driver for 34 s: all figures are old."
    assert found.todo == "check process 4711 on mirror-1, and its log"


def test_a_shard_without_heartbeats_is_named() -> None:
    silent = mirror(shards=(shard(1), shard(2, heartbeat_at=NOW - 200_000), shard(3, heartbeat_at=-1)))
    assert said(silent).what == "No heartbeat from shard 2 for 3 min."
    assert "process 4002 on worker-1" in said(silent).todo


def test_a_failure_tells_the_last_error() -> None:
    events = (
        EventView(NOW, "info", "ended"),
        EventView(NOW, "error", "the ledger is gone", "restore it"),
    )
    assert said(mirror(state="failed", events=events)) == HealthFinding(
        "error", "Failed: the ledger is gone", "restore it", "paris-to-tokyo"
    )
    assert said(mirror(state="failed", events=())).what == "Failed: see the log"


@pytest.mark.parametrize(
    ("state", "level", "begins"),
    [("starting", "notice", "Starting"), ("stopped", "warning", "Stopped"), ("failed", "error", "Failed")],
)
def test_a_mirror_that_does_not_replicate_says_so(state: Any, level: str, begins: str) -> None:
    found = said(mirror(state=state))
    assert found.level == level
    assert found.what.startswith(begins)


def test_a_mirror_is_not_healthy_before_every_shard_has_reported() -> None:
    """The first look at the log's end was 5 s ago, and one shard has said nothing."""
    shards = (shard(1), shard(2, heartbeat_at=-1), shard(3, heartbeat_at=-1, partitions=0))
    lagging = partition(0, lag_records=2_907, lag_seconds=5.0, lag_older=True)
    young = mirror([lagging], state="starting", shards=shards)
    assert said(young) == HealthFinding(
        "notice", "Starting: no heartbeat yet from 1 of 3 shards.", mirror="paris-to-tokyo"
    )
    assert catch_up_text(young, None) == "not known yet"


def test_a_backlog_from_before_the_start_is_not_caught_up_however_young_it_seems() -> None:
    lagging = mirror([partition(0, lag_records=2_907, lag_seconds=5.0, lag_older=True)])
    assert catch_up_text(lagging, None) == "not known yet"
    assert said(lagging, None).what == "Lagging: 2,907 records, the oldest waiting for at least 5.0 s."
    assert said(lagging, -1_000.0).what.startswith("Catching up, about 2.9 s left: ")


def test_topics_that_match_nothing_are_a_warning_that_names_the_nearest() -> None:
    typo = mirror([], unmatched=(Unmatched("oders", ("paris",), "orders"),), shards=())
    assert first(snapshot(typo)) == HealthFinding(
        "warning",
        'No topic matches "oders" of `topics` on paris; the nearest is orders.',
        "correct `topics`; a topic that is created later is found by itself",
        "paris-to-tokyo",
    )
    excluded = said(mirror([], unmatched=(Unmatched("a.*", ("paris",), excluded=True),)))
    assert excluded.what == 'Every topic that matches "a.*" of `topics` is excluded.'
    assert said(mirror([])) == HealthFinding(
        "warning",
        "No topic is selected: nothing is replicated.",
        "correct `topics` and `exclude`",
        "paris-to-tokyo",
    )


def test_records_in_quarantine_are_a_notice() -> None:
    found = said(mirror([partition(0, quarantined=2), partition(1, "events", quarantined=1), partition(2)]))
    assert (found.level, found.what) == (
        "notice",
        "3 records of events, orders are in quarantine, not in the destination topic.",
    )
    assert "offsets show" in found.todo


def test_no_mirrors_at_all() -> None:
    assert first(snapshot()).what == "No mirrors yet."
    assert rpo(()) == "How many records would be lost with the source is not known yet."


def test_the_worst_comes_first_whichever_mirror_has_it() -> None:
    view = snapshot(
        mirror(name="a", state="paused"),
        mirror([FAR], name="b"),
        mirror([stopped_partition()], name="c"),
        mirror(name="d"),
    )
    found = all_findings(view, NOW, {"b": 10.0})
    assert [(one.mirror, one.level) for one in found] == [("c", "error"), ("b", "warning"), ("a", "notice")]


def test_what_would_be_lost() -> None:
    lagging = mirror([partition(0, lag_records=1_200, lag_seconds=2.1), partition(1, lag_records=34)])
    assert rpo([lagging]) == "If the source were lost now, 1,234 records (2.1 s) would be lost."
    none = mirror([partition(lag_records=0, lag_seconds=0.0)])
    assert rpo([none]) == "If the source were lost now, no records would be lost."
    both = [lagging, mirror([partition(lag_records=1)], sources=("rome",))]
    assert rpo(both) == "If the sources were lost now, 1,235 records (2.1 s) would be lost."
    unseen = rpo(made.waiting().mirrors)
    assert unseen.startswith("As of the last response of paris: if the source were lost now, 6 records")
    assert "not known yet" in rpo(made.starting().mirrors)
    assert "not known yet" in rpo([lagging, mirror([])])


def test_the_time_to_catch_up() -> None:
    far = mirror([FAR])
    assert catch_up_seconds(far, -1_000.0) == 90.0
    assert catch_up_seconds(far, 5.0) is None
    assert [catch_up_text(far, trend) for trend in (-1_000.0, 5.0, -0.0001, None)] == [
        "in about 90 s",
        "not at this rate",
        "not at this rate",
        "not known yet",
    ]
    assert catch_up_text(mirror(), None) == "caught up"
    assert catch_up_text(mirror([]), 0.0) == "not known yet"
    assert catch_up_text(mirror(state="done"), None) == "caught up"
    for state in ("paused", "waiting", "stopped", "failed"):
        assert catch_up_text(mirror(state=state), 0.0) == "when it runs again"
        assert catch_up_seconds(mirror(state=state), 0.0) is None


def test_a_stopped_partition_does_not_count_as_backlog() -> None:
    assert catch_up_text(mirror([partition(), stopped_partition()]), 100.0) == "caught up"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (59.6, "60 s"),
        (150, "2 min"),
        (5_400, "90 min"),
        (7_200, "2 h"),
        (7_500, "2 h 5 min"),
        (200_000, "2 d 7 h"),
    ],
)
def test_durations_have_at_most_two_units(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_partitions_that_wait_for_schemas_are_named_with_the_reason() -> None:
    why = 'schema id 7 of orders (value): the schema registry "tokyo" cannot be used'
    waiting = mirror([partition(0), partition(1, waits_for=why), partition(2, waits_for=why)])
    finding = said(waiting)
    assert finding.level == "warning"
    assert finding.what == f"orders[1] and 1 other wait for schemas: {why}. The rest continues."
    assert "causeway check" in finding.todo
    assert said(mirror([partition(0, waits_for=why)], state="stopped")).what == "Stopped: not replicating."
