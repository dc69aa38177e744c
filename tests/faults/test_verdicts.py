"""What the ledger says becomes a history's verdicts, and what the checker makes of the words it uses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from causeway.core.ledger_record import Gap, Stopped
from faults.checker import check
from faults.events import Damage, Drained, LedgerPosition, Verdict
from faults.history import History
from faults.history_builder import ALL_STEPS, TO, TOPIC, HistoryBuilder, WorkloadStep, records_of, replaced
from faults.verdicts import verdict_of

HONEST = HistoryBuilder([WorkloadStep("plain", records=6)], partitions=1).history()


def found(history: History) -> set[str]:
    return {f"{a.invariant} {a.name} {a.where}" for a in check(history).anomalies}


def stopped(verdict: str, **more: Any) -> Stopped:
    return Stopped("c", TOPIC, 0, verdict=verdict, what="", todo="", at=1, topic_id="A", **more)


def gap(verdict: str, to_topic_id: str = "A") -> Gap:
    return Gap("c", TOPIC, 0, "A", 5, to_topic_id, 9, verdict, by="", why="", at=1)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (stopped("gap", expected=5, found=9, gone=4), Verdict(7, "gap", TOPIC, 0, 5, 9, "stop", "A")),
        (stopped("deleted", expected=5), Verdict(7, "deleted", TOPIC, 0, 5, -1, "stop", "A")),
        (stopped(""), Verdict(7, "resumed", TOPIC, 0, 0, 0, "continue", "A")),
        (gap("gap"), Verdict(7, "gap", TOPIC, 0, 5, 9, "continue", "A")),
        (gap("recreated", "B"), Verdict(7, "recreated", TOPIC, 0, 5, -1, "continue", "A")),
    ],
)
def test_a_ledger_record_becomes_a_verdict(record: Stopped | Gap, said: Verdict) -> None:
    assert verdict_of(record, 7) == said


def set_aside(
    *offsets: int, said: tuple[int, ...] | None = None, ledger_position: int | None = None
) -> History:
    """Some of six records were refused: the ledger counts them, the quarantine has them."""
    there = records_of(HONEST, "destination")
    changes: list[tuple[object, object | None]] = [(there[n], None) for n in offsets]
    count = len(offsets) if ledger_position is None else ledger_position
    for row in HONEST.of(LedgerPosition):
        if row.offset == 6:
            changes.append((row, replace(row, delivered=6 - len(offsets), quarantined=count, holes=0)))
        else:
            changes.append((row, None))
    damages = [Damage(100 + n, "poison", "source", TOPIC, 0, n) for n in offsets]
    verdicts = [
        Verdict(200 + n, "poison", TOPIC, 0, n, n + 1, "quarantine")
        for n in (offsets if said is None else said)
    ]
    return History([*replaced(HONEST, changes).events, *damages, *verdicts])


def without_map(history: History) -> set[str]:
    return {one for one in found(history) if not one.startswith("I7")}


def test_what_is_in_the_quarantine_is_not_lost() -> None:
    assert without_map(set_aside(1, 4)) == set()


def test_what_is_neither_here_nor_in_the_quarantine_is_named() -> None:
    assert without_map(set_aside(1, 4, said=(1,))) == {
        "I1 lost orders[0]@4", "I8 ledger-ahead orders[0]@4", "I8 quarantine-wrong orders[0]@6",
        "I10 silent-source-poison orders[0]", "I12 not-converged orders[0]@4",
    }  # fmt: skip


def test_what_is_twice_in_the_quarantine_is_named() -> None:
    assert without_map(set_aside(1, 4, said=(1, 4, 4))) == {"I8 quarantine-wrong orders[0]@6"}


def test_another_record_in_the_quarantine_is_named() -> None:
    assert {"I10 misnamed orders[0]@3", "I10 delivered-inside-gap orders[0]@3"} <= found(
        set_aside(1, 4, said=(1, 3))
    )


def test_books_that_do_not_count_what_was_set_aside_are_named() -> None:
    assert "I8 ledger-unbalanced orders[0]@6" in found(set_aside(1, 4, ledger_position=1))


def test_offsets_that_books_skip_without_a_declared_gap_are_named() -> None:
    rows = [row for row in HONEST.of(LedgerPosition) if row.offset == 6]
    history = replaced(
        HONEST,
        [(row, replace(row, delivered=4, gone=2)) for row in rows]
        + [(seen, None) for seen in records_of(HONEST, "destination")[2:4]],
    )
    assert "I8 skipped-unsaid orders[0]@6" in found(history)
    said = [Damage(90, "removed", "source", TOPIC, 0, 4), Verdict(91, "gap", TOPIC, 0, 2, 4, "continue")]
    assert not {one for one in found(History([*history.events, *said])) if one.startswith(("I1 ", "I8"))}


def test_a_partition_that_goes_on_again_is_held_to_everything() -> None:
    stop = Verdict(900, "poison", TOPIC, 0, 3)
    poison = Damage(899, "poison", "source", TOPIC, 0, 3)
    resumed = Verdict(901, "resumed", TOPIC, 0, 0, 0, "continue")
    assert "I10 delivered-after-stop orders[0]@3" in found(History([*HONEST.events, poison, stop]))
    assert found(History([*HONEST.events, poison, stop, resumed])) == set()
    missing = replaced(HONEST, [(records_of(HONEST, "destination")[4], None)])
    assert "I1 lost orders[0]@4" in found(History([*missing.events, poison, stop, resumed]))


def test_a_stop_at_the_destination_says_an_offset_of_the_destination() -> None:
    """orders[1] stopped after its last record, whatever is said about the destination's log."""
    honest = HistoryBuilder(ALL_STEPS, extras=False).history()
    damage = Damage(900, "truncated", "destination", TO, 1, 2)
    stop = Verdict(901, "destination-truncated", TOPIC, 1, 3, 2)
    assert found(History([*honest.events, damage])) == {"I10 silent-destination-truncated copy[1]"}
    assert found(History([*honest.events, damage, stop])) == set()


def test_books_that_were_read_again_have_not_gone_back() -> None:
    rows = HONEST.of(LedgerPosition)
    again = [replace(row, at=row.at + 10_000) for row in rows]
    assert found(History([*HONEST.events, *again])) == set()
    back = replace(rows[-1], at=99_000, offset=rows[-1].offset - 1, holes=-1)
    assert "I8 position-back orders[0]@5" in found(History([*HONEST.events, back]))


def test_the_ledger_of_a_partition_that_was_not_read_leaves_a_doubt_unless_it_is_empty() -> None:
    row = LedgerPosition(99_000, TOPIC, 7, 0, 0, 0, topic_id="B")
    assert check(History([*HONEST.events, row])).results["I8"].status == "holds"
    replicated = replace(row, offset=3, delivered=3)
    assert check(History([*HONEST.events, replicated])).results["I8"].status == "unknown"


def test_a_position_in_a_topic_that_was_given_up_need_not_come_to_its_end() -> None:
    """After its last record the old topic had a marker, which no position will ever pass."""
    (last,) = [row for row in HONEST.of(LedgerPosition) if row.offset == 6][-1:]
    read = next(one for one in HONEST.of(Drained) if one.side == "source")
    longer = replaced(HONEST, [(read, replace(read, end=7))])
    history = History([*longer.events, replace(last, at=50_000)])
    assert found(history) == {"I12 position-short orders[0]@6"}
    data_faults = Damage(60_000, "recreated", "source", TOPIC, 0)
    said = Verdict(60_001, "recreated", TOPIC, 0, 6, -1, "continue")
    assert found(History([*history.events, data_faults, said])) == set()


def test_a_topic_that_the_harness_deleted_was_not_taken_by_the_mirror() -> None:
    history = HistoryBuilder(ALL_STEPS).history()
    last = max(event.at for event in history.of(Drained))
    gone = [Damage(last, "deleted", "source", TOPIC, n) for n in (0, 1)]
    listed = [one for one in history.events if type(one).__name__ == "Topics"]
    without = replaced(history, [(listed[-1], replace(listed[-1], names=("__consumer_offsets",)))])  # type: ignore[type-var]
    assert "I9 source-topics-changed orders" in found(without)
    assert "I9 source-topics-changed orders" not in found(History([*without.events, *gone]))
