"""Too few in-sync replicas are named: the partition, the numbers, and what to do."""

from __future__ import annotations

import pytest

from causeway.core.topic import Replicas
from causeway.replication.rules.in_sync import shortage, suspects, too_few


@pytest.mark.parametrize(
    ("in_sync", "needed", "rejects"),
    [(3, {"t": 2}, False), (2, {"t": 2}, False), (1, {"t": 2}, True), (0, {"t": 1}, True), (0, {}, False)],
)
def test_a_partition_rejects_records_with_fewer_in_sync_than_it_needs(
    in_sync: int, needed: dict[str, int], rejects: bool
) -> None:
    assert bool(too_few({("t", 0): Replicas(3, in_sync)}, needed)) is rejects


def test_with_enough_in_sync_replicas_nothing_is_reported() -> None:
    assert shortage([], "dst", ["t"]) is None


def test_the_reason_names_a_partition_of_the_data_first_and_counts_the_others() -> None:
    replicas = {("a", 0): Replicas(3, 1), ("t", 1): Replicas(3, 1), ("t", 0): Replicas(3, 2)}

    reported = shortage(too_few(replicas, {"a": 2, "t": 3}), "dst", ["t"])

    assert reported is not None
    assert reported.what == (
        '"dst" rejects records (NOT_ENOUGH_REPLICAS): t[0] has 2 in-sync replicas of 3, min.insync.replicas'
        " is 3 (and 2 more partitions)"
    )
    assert "start the brokers" in reported.todo
    assert reported.topics == {"a", "t"}


def test_a_topic_with_fewer_replicas_than_min_insync_is_reported_with_another_fix() -> None:
    reported = shortage(too_few({("t", 0): Replicas(1, 1)}, {"t": 2}), "dst", ["t"])
    assert reported is not None
    assert "has 1 in-sync replica of 1" in reported.what
    assert reported.todo == "give t at least 2 replicas, or lower its min.insync.replicas"


def test_topics_that_miss_replicas_are_checked_first_then_those_with_few() -> None:
    replicas = {
        ("whole", 0): Replicas(3, 3),
        ("single", 0): Replicas(1, 1),
        ("missing", 0): Replicas(3, 3),
        ("missing", 1): Replicas(3, 2),
    }
    assert suspects(replicas, 2) == ["missing", "single"]
    assert suspects(replicas, 9) == ["missing", "single", "whole"]
