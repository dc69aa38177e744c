from __future__ import annotations

import time

import pytest

from causeway.replication.liveness import EXCUSED_SECONDS, REASON_SECONDS, STARTING_SECONDS, Liveness


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_shard_that_is_not_heard_any_more_is_noticed(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.begin([1, 2])
    clock[0] += STARTING_SECONDS
    for _ in range(4):
        clock[0] += 10
        liveness.on_heartbeat(1, 5, 0.0)
    assert liveness.silent(15) == 2
    liveness.ended = 1
    assert liveness.silent(15) is None, "one has ended, and is silent by right"


def test_a_start_may_take_its_time_and_an_outage_excuses_all(clock: list[float]) -> None:
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
            liveness.begin([1, 2])  # the next slice is heard before anybody watches it
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


def test_what_counts_is_when_a_task_began_and_not_when_it_was_first_heard(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.on_heartbeat(1, 4, 0.2)
    clock[0] += 0.5
    liveness.on_heartbeat(2, 4, 1.5)
    assert sorted([1, 2], key=liveness.first_begun) == [2, 1]
    assert liveness.begun_at(4, [1, 2]) == pytest.approx(99.8)


def test_a_shard_that_says_why_it_commits_nothing_is_not_missed(clock: list[float]) -> None:
    """It is alive, and to order its work again would interrupt all others for nothing."""
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
def test_a_shard_that_has_committed_since_is_missed_as_ever(clock: list[float], why_silent: bool) -> None:
    liveness = Liveness()
    liveness.begin([1])
    liveness.on_warning(1, "starting again", why_silent=why_silent)
    liveness.on_heartbeat(1, 5, 0.0)
    clock[0] += 20
    assert liveness.silent(15) == 1


def test_a_shard_whose_silence_is_explained_by_others_is_not_missed(clock: list[float]) -> None:
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


def test_a_reason_that_others_found_does_not_hide_a_hang_for_ever(clock: list[float]) -> None:
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


def test_a_reason_that_others_found_is_not_taken_for_a_shard_that_is_stuck(clock: list[float]) -> None:
    liveness = Liveness()
    liveness.begin([1])
    liveness.on_heartbeat(1, 5, 0.0)
    liveness.excuse([1])
    assert not liveness.missed(5)
