"""A record that fails in the same way at every attempt gets a verdict; another restarts the count."""

from __future__ import annotations

from causeway.core.position import SourcePartition
from causeway.replication.worker.task_state import TaskState
from causeway.rules.repeats import ATTEMPTS, RecordFailure, Repeated, raised, rejected, too_large_for_queue

SOURCE = SourcePartition("c", "t", 0)
OTHER = SourcePartition("c", "t", 1)


def refused(offset: int, code: int = 99, source: SourcePartition = SOURCE) -> RecordFailure:
    return rejected(source, offset, "to", code, "because")


def times(memory: TaskState, *failures: RecordFailure) -> list[bool]:
    return [memory.count_failure(failure) for failure in failures]


def test_the_same_failure_at_one_offset_becomes_a_verdict() -> None:
    memory = TaskState()
    assert times(memory, *[refused(7)] * ATTEMPTS) == [False] * (ATTEMPTS - 1) + [True]
    assert memory.poison[SOURCE][7].verdict == "refused"
    assert "t[0] offset 7" in memory.poison[SOURCE][7].what


def test_another_failure_or_another_offset_starts_anew() -> None:
    memory = TaskState()
    almost = [refused(7)] * (ATTEMPTS - 1)
    assert not any(times(memory, *almost, refused(8), *almost, refused(7, code=98), *almost))
    assert not memory.poison


def test_partitions_are_counted_separately() -> None:
    memory = TaskState()
    assert not any(times(memory, *[refused(7), refused(7, source=OTHER)] * (ATTEMPTS - 1)))
    assert memory.count_failure(refused(7))
    assert OTHER not in memory.poison


def test_a_failure_that_no_retry_can_help_gets_a_verdict_at_once() -> None:
    memory = TaskState()
    assert memory.count_failure(too_large_for_queue(SOURCE, 3, 2_000, 1_000))
    assert memory.poison[SOURCE][3].verdict == "poison"
    assert SOURCE not in memory.no_quarantine


def test_a_record_that_the_quarantine_rejects_stops_its_partition() -> None:
    memory = TaskState()
    failure = too_large_for_queue(SOURCE, 3, 2_000, 1_000)
    times(memory, failure, failure)
    assert SOURCE in memory.no_quarantine


def test_a_failure_that_may_have_another_cause_quarantines_no_record() -> None:
    memory = TaskState()
    times(memory, *[refused(7)] * ATTEMPTS)
    assert SOURCE in memory.no_quarantine


def test_a_verdict_of_an_earlier_slice_needs_only_one_more_failure() -> None:
    memory = TaskState(repeated={SOURCE: Repeated(7, "", ATTEMPTS - 1)})
    assert memory.count_failure(refused(7))


def test_an_error_that_names_no_record_is_traced_one_record_at_a_time() -> None:
    memory = TaskState()
    for _ in range(ATTEMPTS - 1):
        memory.count_unexplained_failure("ValueError")
    memory.count_unexplained_failure("KeyError")
    assert not memory.one_at_a_time
    for _ in range(ATTEMPTS - 1):
        memory.count_unexplained_failure("KeyError")
    assert memory.one_at_a_time
    assert any(times(memory, *[raised(SOURCE, 5, KeyError("k"))] * ATTEMPTS))
    assert not memory.one_at_a_time
