"""What a scrape returns."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from causeway.core.pool_snapshot import SourcePoolView
from causeway.core.position import LATENCY_BOUNDS_MS, NO_LATENCY
from causeway.core.snapshot import UNROUTABLE, Snapshot
from causeway.reporting.families import FAMILIES, STATES, STOPS
from causeway.reporting.metrics import Metrics
from causeway.rules.integrity import Verdict
from support.viewing import NOW, gap, mirror, node, partition, shard, snapshot

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def metrics(shown: Snapshot, partitions: int = 1000) -> Metrics:
    return Metrics(lambda: shown, partitions=partitions, clock=lambda: NOW / 1000 + 2.5)


def parsed(text: bytes) -> Series:
    """Every series, by name and labels; none may be there twice."""
    samples = [one for family in text_string_to_metric_families(text.decode()) for one in family.samples]
    series = {(one.name, frozenset(one.labels.items())): one.value for one in samples}
    assert len(series) == len(samples)
    return series


def scraped(shown: Snapshot, partitions: int = 1000) -> Series:
    return parsed(metrics(shown, partitions).exposition())


def value(series: Series, name: str, **labels: str) -> float:
    return series[f"causeway_{name}", frozenset(labels.items())]


def names(series: Series) -> set[str]:
    return {name for name, _ in series}


def test_a_topics_partitions_are_added_up_whichever_source_they_are_of() -> None:
    series = scraped(
        snapshot(
            mirror(
                partition(
                    0,
                    delivered=100,
                    filtered=20,
                    quarantined=3,
                    bytes=5_000,
                    skipped=-7,
                    filtered_bytes=900,
                    quarantined_bytes=70,
                ),
                partition(1, delivered=10, bytes=500),
                partition(0, cluster="lyon", delivered=1, skipped=2),
                partition(0, topic="payments", delivered=4),
            )
        )
    )

    orders = {"mirror": "m", "topic": "orders"}
    assert value(series, "records_delivered_total", **orders) == 111
    assert value(series, "records_filtered_total", **orders) == 20
    assert value(series, "records_quarantined_total", **orders) == 3
    assert value(series, "records_consumed_total", **orders) == 134
    assert value(series, "bytes_delivered_total", **orders) == 5_500
    assert value(series, "bytes_filtered_total", **orders) == 900
    assert value(series, "bytes_quarantined_total", **orders) == 70
    assert value(series, "bytes_consumed_total", **orders) == 6_470
    assert value(series, "offsets_skipped", **orders) == -5
    assert value(series, "records_delivered_total", mirror="m", topic="payments") == 4


def test_each_partition_has_its_lag_and_its_offsets() -> None:
    lag = {"lag_records": 18, "lag_bytes": 1_800, "lag_seconds": 0.25}
    one = partition(3, position=50, log_end=70, committed_at=NOW, **lag)
    series = scraped(snapshot(mirror(one, partition(4, position=-1, log_end=9))))

    labels = {"mirror": "m", "cluster": "paris", "topic": "orders", "partition": "3"}
    assert value(series, "lag_records", **labels) == 18
    assert value(series, "lag_bytes", **labels) == 1_800
    assert value(series, "lag_seconds", **labels) == 0.25
    assert value(series, "position_offset", **labels) == 50
    assert value(series, "log_end_offset", **labels) == 70
    assert value(series, "partition_series_aggregated", mirror="m") == 0
    assert value(series, "last_commit_timestamp_seconds", mirror="m") == NOW / 1000
    # No position yet: not even a zero.
    labels["partition"] = "4"
    assert value(series, "log_end_offset", **labels) == 9
    assert ("causeway_position_offset", frozenset(labels.items())) not in series


def test_shards_count_for_themselves() -> None:
    busy = shard(
        2,
        carrier="object (filters look at each record)",
        transactions=40,
        transaction_seconds=1.5,
        transaction_records=900,
        retries=3,
        fences=1,
    )
    series = scraped(snapshot(mirror(shards=(shard(1, heartbeat_at=-1, carrier=""), busy))))

    labels = {"mirror": "m", "shard": "2"}
    assert value(series, "transactions_total", **labels) == 40
    assert value(series, "transaction_seconds_total", **labels) == 1.5
    assert value(series, "transaction_records_total", **labels) == 900
    assert value(series, "retries_total", **labels) == 3
    assert value(series, "fences_total", **labels) == 1
    assert value(series, "shard_heartbeat_timestamp_seconds", **labels) == NOW / 1000
    assert value(series, "carrier_info", **labels, carrier="object") == 1
    assert value(series, "shard_heartbeat_timestamp_seconds", mirror="m", shard="1") == 0
    assert value(series, "transactions_total", mirror="m", shard="1") == 0


def test_the_process_and_the_state_of_each_mirror() -> None:
    waiting = mirror(name="n", state="waiting", slices=9, failed_slices=2, group_commits=7)
    series = scraped(snapshot(mirror(), waiting))

    assert value(series, "build_info", version="0.1.0") == 1
    assert value(series, "start_time_seconds") == NOW / 1000 - 60
    assert value(series, "snapshot_age_seconds") == 2.5
    for name, state in (("m", "running"), ("n", "waiting")):
        shown = {one: value(series, "mirror_state", mirror=name, state=one) for one in STATES}
        assert shown == {one: float(one == state) for one in STATES}
    assert value(series, "slices_total", mirror="n") == 9
    assert value(series, "slices_failed_total", mirror="n") == 2
    assert value(series, "group_commits_total", mirror="n") == 7


def test_verdicts_are_counted_also_unknown_ones() -> None:
    stopped = [partition(n, verdict=verdict) for n, verdict in enumerate(("gap", "gap", "poison", "new"))]
    series = scraped(snapshot(mirror(*stopped, gaps=(gap("gap"), gap("skip"), gap("skip"), gap("new")))))

    stopped_by = {
        verdict: value(series, "partitions_stopped", mirror="m", verdict=verdict) for verdict in STOPS
    }
    assert {verdict: count for verdict, count in stopped_by.items() if count} == {"gap": 2, "poison": 1}
    assert value(series, "partitions_stopped", mirror="m", verdict="new") == 1
    assert value(series, "gaps_total", mirror="m", verdict="gap") == 1
    assert value(series, "gaps_total", mirror="m", verdict="skip") == 2
    assert value(series, "gaps_total", mirror="m", verdict="new") == 1
    assert value(series, "gaps_total", mirror="m", verdict="truncated") == 0


POOL_SERIES = {family.name for family in FAMILIES if family.name.startswith("causeway_source_")}
STOPPED_SERIES = {
    "causeway_partition_stopped_expected_offset",
    "causeway_partition_stopped_found_offset",
    "causeway_partition_stopped_gone_offsets",
}


def stopped_at(series: Series, **labels: str) -> tuple[float | None, ...]:
    """Expected, found, gone; None where there is no such series."""
    return tuple(
        series.get((f"causeway_partition_stopped_{name}", frozenset(labels.items())))
        for name in ("expected_offset", "found_offset", "gone_offsets")
    )


@pytest.mark.parametrize("limit", [1, 1000])
def test_a_stopped_partition_is_named_with_its_offsets_whatever_the_limit(limit: int) -> None:
    shown = snapshot(
        mirror(
            partition(0, verdict="gap", expected=0, found=70, gone=70),
            partition(0, cluster="lyon", verdict="deleted"),
            partition(1),
            partition(2, verdict="poison", expected=9),
        )
    )
    series = scraped(shown, partitions=limit)

    orders = {"mirror": "m", "cluster": "paris", "topic": "orders"}
    assert stopped_at(series, **orders, partition="0", verdict="gap") == (0, 70, 70)
    assert stopped_at(series, **orders, partition="2", verdict="poison") == (9, None, 0)
    lyon = {**orders, "cluster": "lyon", "partition": "0"}
    assert stopped_at(series, **lyon, verdict="deleted") == (None, None, 0)
    assert Counter(name for name, _ in series if name in STOPPED_SERIES) == {
        "causeway_partition_stopped_expected_offset": 2,
        "causeway_partition_stopped_found_offset": 1,
        "causeway_partition_stopped_gone_offsets": 3,
    }


def test_of_thousands_of_stopped_partitions_the_first_are_named_and_all_are_counted() -> None:
    shown = snapshot(mirror(*(partition(number, verdict="deleted") for number in range(1_500))))

    def named(limit: int) -> int:
        series = scraped(shown, partitions=limit)
        assert value(series, "partitions_stopped", mirror="m", verdict="deleted") == 1_500
        return sum(name in STOPPED_SERIES for name, _ in series)

    assert [named(limit) for limit in (1, 1_200, sys.maxsize)] == [1_000, 1_200, 1_500]


def test_the_verdicts_are_those_of_the_policy_and_the_one_of_the_plan() -> None:
    assert set(STOPS) == {*get_args(Verdict), UNROUTABLE}


def test_every_series_exists_before_anything_happens() -> None:
    series = scraped(snapshot(mirror(partition(), shards=(shard(),))))
    beyond_zero = {name for (name, _), shown in series.items() if shown}
    parts = {
        name
        for family in FAMILIES
        for name in (
            [family.name + suffix for suffix in ("_bucket", "_count", "_sum")]
            if family.kind == "histogram"
            else [family.name]
        )
    }
    assert names(series) == parts - STOPPED_SERIES - POOL_SERIES, (
        "those of stopped partitions exist while there are any, those of pools if there are pools"
    )
    assert beyond_zero == {
        "causeway_build_info",
        "causeway_start_time_seconds",
        "causeway_starts_total",
        "causeway_snapshot_age_seconds",
        "causeway_carrier_info",
        "causeway_mirror_state",
        "causeway_shard_heartbeat_timestamp_seconds",
    }


def test_each_node_of_a_pool_has_its_state_its_lag_and_its_shards() -> None:
    nodes = (
        node("a", state="dead", why="no response", responds=False, lag={("t", 0): 7, ("t", 1): 2}),
        node("b", lag={("t", 0): 0, ("t", 1): 0}, shards=(1, 2)),
        node("c", state="unknown", responds=False, log_ends=-1),
    )
    shown = snapshot(mirror(partition(), pools=(SourcePoolView("p", nodes, counts={("dead", "a"): 2}),)))
    series = scraped(shown)
    of = {"mirror": "m", "pool": "p"}
    assert [value(series, "source_node_up", **of, node=name) for name in "abc"] == [0, 1, 0]
    assert [value(series, "source_node_shards", **of, node=name) for name in "abc"] == [0, 2, 0]
    assert value(series, "source_node_state", **of, node="a", state="dead") == 1
    assert value(series, "source_node_state", **of, node="a", state="fit") == 0
    assert value(series, "source_node_lag_records", **of, node="a", topic="t", partition="0") == 7
    assert not any("c" in dict(labels).values() for name, labels in series if name.endswith("_lag_records"))
    assert value(series, "source_switches_total", **of, reason="dead") == 2
    assert value(series, "source_switches_total", **of, reason="lagging") == 0
    aggregated = scraped(shown, partitions=0)
    assert value(aggregated, "source_node_lag_records", **of, node="a", topic="t") == 9


def test_what_the_ledger_counts_is_not_shown_as_zero_before_it_is_read() -> None:
    series = scraped(snapshot(mirror(state="starting", lease=0)))

    assert value(series, "mirror_state", mirror="m", state="starting") == 1
    assert value(series, "slices_total", mirror="m") == 0
    assert names(series).isdisjoint({"causeway_gaps_total", "causeway_replication_latency_seconds_bucket"})


@given(st.lists(st.integers(0, 100_000), max_size=60))
def test_buckets_are_cumulative_and_agree_with_count_and_sum(waits: list[int]) -> None:
    counted = Counter(bisect_left(LATENCY_BOUNDS_MS, wait) for wait in waits)
    latency = tuple(counted[bucket] for bucket in range(len(NO_LATENCY)))
    series = scraped(snapshot(mirror(latency=latency, latency_seconds=sum(waits) / 1000, carrying=latency)))

    for name in ("replication_latency_seconds", "fetch_to_commit_seconds"):
        below = {
            float(dict(labels)["le"]): shown
            for (full, labels), shown in series.items()
            if full == f"causeway_{name}_bucket"
        }
        bounds = sorted(below)
        assert bounds == [bound / 1000 for bound in LATENCY_BOUNDS_MS] + [float("inf")]
        assert [below[bound] for bound in bounds] == sorted(below.values())
        for bound in bounds:
            assert below[bound] == sum(wait <= bound * 1000 for wait in waits)
        assert below[float("inf")] == value(series, f"{name}_count", mirror="m") == len(waits)
    assert value(series, "replication_latency_seconds_sum", mirror="m") == sum(waits) / 1000


def test_above_the_limit_partitions_are_aggregated_by_topic() -> None:
    shown = snapshot(
        mirror(
            partition(0, position=10, log_end=15, lag_records=5, lag_bytes=50, lag_seconds=7.0),
            partition(1, position=-1, log_end=30, lag_records=30, lag_bytes=300, lag_seconds=2.0),
            partition(0, cluster="lyon", lag_records=1, lag_seconds=1.0),
        ),
        mirror(partition(0), name="small"),
    )
    series = scraped(shown, partitions=2)

    orders = {"mirror": "m", "cluster": "paris", "topic": "orders"}
    assert value(series, "partition_series_aggregated", mirror="m") == 1
    assert value(series, "lag_records", **orders) == 35
    assert value(series, "lag_bytes", **orders) == 350
    assert value(series, "lag_seconds", **orders) == 7.0
    assert value(series, "position_offset", **orders) == 10
    assert value(series, "log_end_offset", **orders) == 45
    assert value(series, "lag_records", mirror="m", cluster="lyon", topic="orders") == 1
    assert value(series, "partition_series_aggregated", mirror="small") == 0
    assert value(series, "lag_records", mirror="small", cluster="paris", topic="orders", partition="0") == 0
    assert "causeway_partition_series_aggregated" not in names(scraped(snapshot()))


@pytest.mark.parametrize("limit", [0, 1000])
def test_what_is_not_known_has_no_series(limit: int) -> None:
    """0 would be an offset, and a lag of 0 a mirror that has caught up."""
    unknown = partition(0, topic="away", position=-1, log_end=-1)
    known = partition(0, position=3, log_end=5, lag_records=2)
    shown = mirror(unknown, known, partition(1, position=-1, log_end=-1))
    series = scraped(snapshot(shown), partitions=limit)

    by_partition = ("lag_records", "lag_bytes", "lag_seconds", "position_offset", "log_end_offset")
    for name in by_partition:
        labels = [dict(labels) for full, labels in series if full == f"causeway_{name}"]
        assert [(one["topic"], one.get("partition", "0")) for one in labels] == [("orders", "0")], name
    orders = {"mirror": "m", "cluster": "paris", "topic": "orders"} | ({"partition": "0"} if limit else {})
    assert value(series, "position_offset", **orders) == 3, "the sum of the known ones"
    assert value(series, "log_end_offset", **orders) == 5
    assert value(series, "records_delivered_total", mirror="m", topic="away") == 0, "counts begin at 0"


def test_registries_are_separate_and_know_their_names() -> None:
    first, second = metrics(snapshot(mirror())), metrics(snapshot())
    some = first.registry.restricted_registry(["causeway_slices_total"])

    assert [family.name for family in some.collect()] == ["causeway_slices"]
    assert second.registry.get_sample_value("causeway_slices_total", {"mirror": "m"}) is None


def test_partitions_that_wait_for_schemas_are_counted() -> None:
    series = scraped(snapshot(mirror(partition(0), partition(1, waits_for="a schema"))))
    assert value(series, "partitions_waiting_for_schemas", mirror="m") == 1
