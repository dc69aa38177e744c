from __future__ import annotations

import math
import time

import pytest

from causeway.replication.liveness import EXCUSED_SECONDS, REASON_SECONDS, STARTING_SECONDS, Liveness


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_shard_that_is_not_heard_any_more_is_noticed(clock: list[float]) -> None:
    pulse = Liveness()
    pulse.begin([1, 2])
    clock[0] += STARTING_SECONDS
    for _ in range(4):
        clock[0] += 10
        pulse.heard(1, 5, 0.0)
    assert pulse.silent(15) == 2
    pulse.ended = 1
    assert pulse.silent(15) == 0, "one has ended, and is silent by right"


def test_a_start_may_take_its_time_and_an_outage_excuses_all(clock: list[float]) -> None:
    pulse = Liveness()
    pulse.begin([1])
    clock[0] += STARTING_SECONDS + 10
    assert pulse.silent(15) == 0
    clock[0] += 10
    assert pulse.silent(15) == 1
    pulse.excuse()
    assert pulse.silent(15) == 0


def test_shards_end_in_the_order_in_which_they_began(clock: list[float]) -> None:
    pulse = Liveness()
    for shard, number in ((2, 1), (1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (1, 2)):
        if (shard, number) == (1, 2):
            pulse.begin([1, 2])  # the next slice is heard before anybody watches it
        clock[0] += 1
        pulse.heard(shard, number, 0.0)
        if (shard, number) == (2, 1):
            assert sorted([1, 2], key=pulse.in_order)[0] == 2
    assert sorted([3, 2, 1], key=pulse.in_order) == [1, 2, 3]


def test_a_slice_has_begun_when_all_its_shards_have(clock: list[float]) -> None:
    pulse = Liveness()
    pulse.heard(1, 4, 0.0)
    assert pulse.begun(4, [1, 2]) == math.inf
    clock[0] += 3
    pulse.heard(2, 4, 0.0)
    clock[0] += 3
    pulse.heard(1, 4, 0.0)
    assert pulse.begun(4, [1, 2]) == 103.0
    pulse.heard(1, 5, 0.0)
    assert pulse.begun(5, [1, 2]) == math.inf


def test_what_counts_is_when_a_task_began_and_not_when_it_was_first_heard(clock: list[float]) -> None:
    pulse = Liveness()
    pulse.heard(1, 4, 0.2)
    clock[0] += 0.5
    pulse.heard(2, 4, 1.5)
    assert sorted([1, 2], key=pulse.in_order) == [2, 1]
    assert pulse.begun(4, [1, 2]) == pytest.approx(99.8)


def test_a_shard_that_says_why_it_commits_nothing_is_not_missed(clock: list[float]) -> None:
    """It is alive, and to order its work again would interrupt all others for nothing."""
    pulse = Liveness()
    pulse.begin([1, 2])
    clock[0] += STARTING_SECONDS
    for _ in range(20):
        clock[0] += 10
        pulse.heard(2, 5, 0.0)
        if clock[0] % 60 == 5:
            pulse.said(1, "no transaction can begin", why_silent=True)
    assert pulse.silent(15) == 0
    clock[0] += REASON_SECONDS
    pulse.heard(2, 5, 0.0)
    assert pulse.silent(15) == 1
    assert pulse.last(1) == " (it said: no transaction can begin)"
    assert pulse.last(2) == ""


@pytest.mark.parametrize("why_silent", [False, True])
def test_a_shard_that_has_committed_since_is_missed_as_ever(clock: list[float], why_silent: bool) -> None:
    pulse = Liveness()
    pulse.begin([1])
    pulse.said(1, "starting again", why_silent=why_silent)
    pulse.heard(1, 5, 0.0)
    clock[0] += 20
    assert pulse.silent(15) == 1


def test_a_shard_whose_silence_is_explained_by_others_is_not_missed(clock: list[float]) -> None:
    pulse = Liveness()
    pulse.begin([1, 2])
    for shard in (1, 2):
        pulse.heard(shard, 5, 0.0)
    assert not pulse.unheard(5)
    clock[0] += 6
    assert pulse.unheard(5)
    clock[0] += 14
    pulse.explain([1])
    assert pulse.silent(15) == 2
    pulse.heard(2, 5, 0.0)
    assert pulse.silent(15) == 0
    assert pulse.unheard(5), "the reason is still there"
    pulse.heard(1, 5, 0.0)
    assert not pulse.unheard(5)


def test_a_reason_that_others_found_does_not_hide_a_hang_for_ever(clock: list[float]) -> None:
    pulse = Liveness()
    pulse.begin([1, 2])
    for shard in (1, 2):
        pulse.heard(shard, 5, 0.0)
    while clock[0] < 100 + EXCUSED_SECONDS + REASON_SECONDS - 20:
        clock[0] += 10
        pulse.heard(2, 5, 0.0)
        pulse.explain([1])
        assert pulse.silent(15) == 0
    assert pulse.long_unheard
    clock[0] += 20
    pulse.heard(2, 5, 0.0)
    pulse.explain([1])
    assert pulse.silent(15) == 1


def test_a_reason_that_others_found_is_not_taken_for_a_shard_that_is_stuck(clock: list[float]) -> None:
    pulse = Liveness()
    pulse.begin([1])
    pulse.heard(1, 5, 0.0)
    pulse.explain([1])
    assert not pulse.unheard(5)
