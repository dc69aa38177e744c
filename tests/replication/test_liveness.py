from __future__ import annotations

import time

import pytest

from causeway.replication.liveness import EXCUSED_SECONDS, REASON_SECONDS, STARTING_SECONDS, Liveness


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_shard_without_heartbeats_is_detected(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.begin([1, 2])
    clock[0] += STARTING_SECONDS
    for _ in range(4):
        clock[0] += 10
        liveness.on_heartbeat(1, 5, 0.0)
    assert liveness.silent(15) == 2
    liveness.ended = 1
    assert liveness.silent(15) is None, "one has ended, so it sends none"


def test_a_slow_start_and_an_outage_are_no_missing_heartbeats(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.begin([1])
    clock[0] += STARTING_SECONDS + 10
    assert liveness.silent(15) is None
    clock[0] += 10
    assert liveness.silent(15) == 1
    liveness.excuse_all()
    assert liveness.silent(15) is None


def test_shards_end_in_the_order_in_which_they_began(clock: list[float]) -> None:
    liveness = Liveness()
    for shard, number in ((2, 1), (1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (1, 2)):
        if (shard, number) == (1, 2):
            liveness.begin([1, 2])  # heartbeats of the next slice come before it is watched
        clock[0] += 1
        liveness.on_heartbeat(shard, number, 0.0)
        if (shard, number) == (2, 1):
            assert sorted([1, 2], key=liveness.first_begun)[0] == 2
    assert sorted([3, 2, 1], key=liveness.first_begun) == [1, 2, 3]


def test_a_slice_has_begun_when_all_its_shards_have(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.on_heartbeat(1, 4, 0.0)
    assert liveness.begun_at(4, [1, 2]) is None
    clock[0] += 3
    liveness.on_heartbeat(2, 4, 0.0)
    clock[0] += 3
    liveness.on_heartbeat(1, 4, 0.0)
    assert liveness.begun_at(4, [1, 2]) == 103.0
    liveness.on_heartbeat(1, 5, 0.0)
    assert liveness.begun_at(5, [1, 2]) is None


def test_the_start_of_a_task_counts_and_not_its_first_heartbeat(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.on_heartbeat(1, 4, 0.2)
    clock[0] += 0.5
    liveness.on_heartbeat(2, 4, 1.5)
    assert sorted([1, 2], key=liveness.first_begun) == [2, 1]
    assert liveness.begun_at(4, [1, 2]) == pytest.approx(99.8)


def test_a_shard_that_reports_why_it_commits_nothing_is_not_missing(clock: list[float]) -> None:
    """It is alive, and a new slice would interrupt all others without need."""
    liveness = Liveness()
    liveness.begin([1, 2])
    clock[0] += STARTING_SECONDS
    for _ in range(20):
        clock[0] += 10
        liveness.on_heartbeat(2, 5, 0.0)
        if clock[0] % 60 == 5:
            liveness.on_warning(1, "no transaction can begin", why_silent=True)
    assert liveness.silent(15) is None
    clock[0] += REASON_SECONDS
    liveness.on_heartbeat(2, 5, 0.0)
    assert liveness.silent(15) == 1
    assert liveness.last_warning(1) == "no transaction can begin"
    assert liveness.last_warning(2) is None


@pytest.mark.parametrize("why_silent", [False, True])
def test_a_shard_that_has_committed_since_can_be_missing_again(clock: list[float], why_silent: bool) -> None:
    liveness = Liveness()
    liveness.begin([1])
    liveness.on_warning(1, "starting again", why_silent=why_silent)
    liveness.on_heartbeat(1, 5, 0.0)
    clock[0] += 20
    assert liveness.silent(15) == 1


def test_a_shard_with_another_reason_for_its_silence_is_not_missing(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.begin([1, 2])
    for shard in (1, 2):
        liveness.on_heartbeat(shard, 5, 0.0)
    assert not liveness.missed(5)
    clock[0] += 6
    assert liveness.missed(5)
    clock[0] += 14
    liveness.excuse([1])
    assert liveness.silent(15) == 2
    liveness.on_heartbeat(2, 5, 0.0)
    assert liveness.silent(15) is None
    assert liveness.missed(5), "the reason is still there"
    liveness.on_heartbeat(1, 5, 0.0)
    assert not liveness.missed(5)


def test_another_reason_does_not_hide_a_hang_for_ever(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.begin([1, 2])
    for shard in (1, 2):
        liveness.on_heartbeat(shard, 5, 0.0)
    while clock[0] < 100 + EXCUSED_SECONDS + REASON_SECONDS - 20:
        clock[0] += 10
        liveness.on_heartbeat(2, 5, 0.0)
        liveness.excuse([1])
        assert liveness.silent(15) is None
    assert liveness.long_silent
    clock[0] += 20
    liveness.on_heartbeat(2, 5, 0.0)
    liveness.excuse([1])
    assert liveness.silent(15) == 1


def test_another_reason_does_not_count_as_a_stuck_shard(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.begin([1])
    liveness.on_heartbeat(1, 5, 0.0)
    liveness.excuse([1])
    assert not liveness.missed(5)
