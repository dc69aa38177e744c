"""What the checker makes of other terms, of damage that was said or not, and of what it cannot know."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faults.checker import RECORDS, check
from faults.content import token
from faults.events import (
    Damage,
    DeliveryReport,
    Drained,
    Exited,
    LedgerPosition,
    Route,
    Seen,
    Sent,
    Verdict,
)
from faults.history import History
from faults.history_builder import (
    ALL_STEPS,
    TO,
    TOPIC,
    HistoryBuilder,
    WorkloadStep,
    raw,
    records_of,
    replaced,
)

EVERY = [f"I{n}" for n in range(1, 17)]
CERTAIN = [step for step in ALL_STEPS if step.kind not in ("landed", "vanished")]


def found(history: History) -> set[str]:
    return {f"{a.invariant} {a.name} {a.where}" for a in check(history).anomalies}


def without(history: History, *kinds: type, **matching: Any) -> History:
    def goes(event: object) -> bool:
        return isinstance(event, kinds) and all(getattr(event, k) == v for k, v in matching.items())

    return History(event for event in history.events if not goes(event))


# ── an honest scenario ────────────────────────────────────────────────────────────────────────────────


def test_an_honest_scenario_is_clean_in_every_invariant_that_it_can_show() -> None:
    check(HistoryBuilder(ALL_STEPS).history()).require(*[name for name in EVERY if name != "I10"])


@pytest.mark.parametrize("action", ["stop", "continue"])
def test_a_gap_that_was_said_is_no_loss(action: Any) -> None:
    check(HistoryBuilder(CERTAIN, removed=4, replicated=2, action=action).history()).require(*EVERY)


def test_records_are_judged_without_anything_of_the_mirrors_own() -> None:
    report = check(HistoryBuilder(ALL_STEPS, extras=False).history())
    report.require(*RECORDS)
    assert {name for name, result in report.results.items() if result.status == "unknown"} == {*EVERY[6:]}, (
        "what was not read is unknown"
    )


def test_a_report_that_is_not_all_known_does_not_pass_for_good() -> None:
    report = check(HistoryBuilder(ALL_STEPS, extras=False).history())
    with pytest.raises(AssertionError, match="not shown to hold: I8"):
        report.require("I1", "I8")
    broken = check(
        without(HistoryBuilder(ALL_STEPS).history(), Seen, side="destination", offset=4, partition=0)
    )
    with pytest.raises(AssertionError, match=r"I1 lost orders\[0\]@3: it is visible on the source"):
        broken.require()


# ── what is unknown ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("history", "unknown"),
    [
        (History([]), EVERY),
        (without(HistoryBuilder(ALL_STEPS).history(), Route), ["I1"]),
        (
            without(HistoryBuilder(ALL_STEPS).history(), Drained, side="destination"),
            ["I1", "I2", "I3", "I4", "I5", "I6"],
        ),
        (without(HistoryBuilder(ALL_STEPS).history(), Drained, side="destination"), ["I7", "I8", "I12"]),
        (
            without(HistoryBuilder(ALL_STEPS).history(), Drained, side="destination", partition=1),
            ["I1", "I8"],
        ),
        (without(HistoryBuilder(ALL_STEPS).history(), Drained, side="source"), ["I1", "I8", "I9"]),
        (
            HistoryBuilder([WorkloadStep("aborted")], partitions=1, extras=False).history(),
            ["I1", "I2", "I3", "I4", "I5", "I6"],
        ),
    ],
)
def test_what_was_not_looked_at_is_unknown(history: History, unknown: list[str]) -> None:
    if not history.of(Route):
        history = without(history, Seen)  # without routes nothing can be checked
    report = check(history)
    assert {name: report.results[name].status for name in unknown} == dict.fromkeys(unknown, "unknown")
    assert all(report.results[name].doubts for name in unknown)


def test_a_record_written_after_the_destination_was_read_is_neither_lost_nor_fine() -> None:
    honest = HistoryBuilder([WorkloadStep("plain", records=3)], partitions=1, extras=False).history()
    name, late = token("late", 1), raw(token("late", 1), 1, 5)
    history = History(
        [
            *honest.events,
            Sent(900, name, TOPIC, 0, late),
            DeliveryReport(901, name, "ok", 3),
            Seen(902, "source", TOPIC, 0, 3, name, late),
            Drained(903, 902, "source", TOPIC, 0, 0, 4),
        ]
    )
    result = check(history).results["I1"]
    assert result.status == "unknown"
    assert "1 records were acknowledged after the destination was read" in result.doubts[0]


def test_what_a_cut_source_does_not_show_any_more_is_not_called_a_phantom() -> None:
    """A record of unknown outcome arrived, and the source lost its beginning before it was read."""
    honest = HistoryBuilder(
        [WorkloadStep("landed"), WorkloadStep("plain", records=2)], partitions=1, extras=False
    ).history()
    drain = next(one for one in honest.of(Drained) if one.side == "source")
    seen = records_of(honest, "source")[0]
    history = replaced(honest, [(drain, replace(drain, start=1)), (seen, None)])
    report = check(history)
    assert not report.anomalies
    assert report.results["I1"].status == report.results["I2"].status == "unknown"


def test_what_the_destination_itself_has_deleted_is_not_called_lost() -> None:
    honest = HistoryBuilder(ALL_STEPS, extras=False).history()
    drain = next(one for one in honest.of(Drained) if (one.side, one.partition) == ("destination", 0))
    history = replaced(
        honest, [(drain, replace(drain, start=1)), (records_of(honest, "destination")[0], None)]
    )
    assert check(history).results["I1"].status == "unknown"


def test_acknowledgements_are_enough_where_every_outcome_is_known() -> None:
    """Nobody has read the source; whatever it may hold besides, this was promised, and it is there."""
    scenario = HistoryBuilder(
        [WorkloadStep("plain", records=3), WorkloadStep("failed"), WorkloadStep("committed")],
        partitions=1,
        extras=False,
    )
    history = without(without(scenario.history(), Drained, side="source"), Seen, side="source")
    check(history).require(*RECORDS)
    lost = without(history, Seen, side="destination", offset=1)
    assert found(lost) == {"I1 lost orders[0]@1"}


def test_an_acknowledged_record_without_an_offset_is_not_forgotten() -> None:
    """A broker that has seen a record's sequence number before responds without an offset."""
    honest = HistoryBuilder([WorkloadStep("plain", records=3)], partitions=1, extras=False).history()
    delivered = honest.of(DeliveryReport)[1]
    vague = replaced(honest, [(delivered, replace(delivered, offset=-1))])
    check(vague).require(*RECORDS)
    gone = without(without(vague, Seen, offset=1, side="source"), Seen, offset=1, side="destination")
    assert found(gone) == {f"I1 lost-in-source orders[0] {delivered.token}"}
    assert check(without(gone, Drained, side="source")).results["I1"].status == "unknown"


def test_a_record_from_after_the_last_reading_of_the_source_is_not_the_sources_loss() -> None:
    honest = HistoryBuilder([WorkloadStep("plain", records=3)], partitions=1, extras=False).history()
    name = token("late", 1)
    late = [Sent(900, name, TOPIC, 0, raw(name, 1, 5)), DeliveryReport(901, name, "ok", 3)]
    history = History([*honest.events, *late, Drained(990, 980, "destination", TO, 0, 0, 9)])
    assert found(history) == {"I1 unseen orders[0]@3"}


def test_one_writer_alone_shows_nothing() -> None:
    honest = HistoryBuilder(ALL_STEPS).history()
    alone = replaced(honest, [(row, replace(row, writer="1")) for row in honest.of(LedgerPosition)])
    assert check(alone).results["I13"].status == "unknown"


# ── damage ───────────────────────────────────────────────────────────────────────────────────────

STOPPED = HistoryBuilder(CERTAIN, removed=4, replicated=2, extras=False).history()
WENT_ON = HistoryBuilder(CERTAIN, removed=4, replicated=2, action="continue", extras=False).history()


def test_a_gap_that_was_not_said_is_named() -> None:
    assert found(without(WENT_ON, Verdict)) == {
        "I1 lost orders[0]@2", "I1 lost orders[0]@3", "I10 silent-gap orders[0]@2",
    }  # fmt: skip


def test_a_gap_that_was_half_said_is_named() -> None:
    (verdict,) = WENT_ON.of(Verdict)
    later = replaced(WENT_ON, [(verdict, replace(verdict, expected=3))])
    assert found(later) == {
        "I1 lost orders[0]@2", "I10 silent-gap orders[0]@2", "I10 misnamed orders[0]@2",
    }  # fmt: skip
    short = replaced(WENT_ON, [(verdict, replace(verdict, found=3))])
    assert found(short) == {
        "I1 lost orders[0]@3", "I10 silent-gap orders[0]@3", "I10 misnamed orders[0]@2",
    }  # fmt: skip


def test_a_second_gap_does_not_cover_the_first() -> None:
    """What one of them took is no concern of the other; what neither was said to take is missed."""
    taken = next(one for one in records_of(WENT_ON, "source") if (one.partition, one.offset) == (0, 9))
    (there,) = (one for one in records_of(WENT_ON, "destination") if one.token == taken.token)
    damage, verdict = Damage(900, "removed", "source", TOPIC, 0, 10), replace(WENT_ON.of(Verdict)[0], at=901)
    twice = History([*replaced(WENT_ON, [(there, None)]).events, damage])

    def said(expected: int) -> set[str]:
        return found(History([*twice.events, replace(verdict, expected=expected, found=10)]))

    assert said(9) == set()
    assert "I10 misnamed orders[0]@9" in said(10)


def test_a_record_after_a_gap_that_stops_the_partition_is_named() -> None:
    after = records_of(STOPPED, "source")[0]
    assert after.offset == 4
    arrived = History([*STOPPED.events, replace(after, side="destination", topic=TO, offset=3)])
    assert found(arrived) == {"I10 delivered-after-stop orders[0]@4"}


def test_a_record_that_was_declared_gone_and_is_there_is_named() -> None:
    gone = next(sent for sent in WENT_ON.of(Sent) if sent.transaction == "tx1")
    inside = Seen(900, "destination", TO, 0, 2, gone.token, gone.content)
    moved = [(s, replace(s, offset=s.offset + 9)) for s in records_of(WENT_ON, "destination") if s.offset > 1]
    history = replaced(WENT_ON, [row for row in moved if row[0].partition == 0])
    assert found(History([*history.events, inside])) == {"I10 delivered-inside-gap orders[0]@2"}


def test_a_run_that_ends_well_beside_a_stopped_partition_is_named() -> None:
    (exited,) = STOPPED.of(Exited)
    assert found(replaced(STOPPED, [(exited, replace(exited, code=0))])) == {"I10 quiet-exit orders[0]"}
    resumed = [Verdict(900, "gap", TOPIC, 0, 2, 4, "continue"), Exited(901, "run --stop-at-end", 0)]
    assert not [name for name in found(History([*STOPPED.events, *resumed])) if "quiet" in name]


def test_an_aborted_record_is_never_excused_by_damage() -> None:
    aborted = next(sent for sent in WENT_ON.of(Sent) if sent.transaction == "tx2")
    arrived = Seen(900, "destination", TO, 0, 50, aborted.token, aborted.content)
    assert found(History([*WENT_ON.events, arrived])) == {"I2 aborted-delivered copy[0]@50"}


def test_a_stop_that_an_operator_lifted_forbids_nothing() -> None:
    (verdict,) = WENT_ON.of(Verdict)
    stopped_first = replaced(WENT_ON, [(verdict, replace(verdict, action="stop"))])
    assert "I10 delivered-after-stop orders[0]@4" in found(stopped_first)
    assert found(History([*stopped_first.events, verdict])) == set()


def test_a_verdict_before_its_damage_is_a_false_alarm() -> None:
    (damage,) = STOPPED.of(Damage)
    late = replaced(STOPPED, [(damage, replace(damage, at=damage.at + 1000))])
    assert "I10 false-alarm orders[0]" in found(late)


def test_a_cut_that_took_what_was_replicated_must_be_said() -> None:
    """The source ends at 2 again; the third record is only on the destination."""
    honest = HistoryBuilder([WorkloadStep("plain", records=3)], partitions=1, extras=False).history()
    drain = next(one for one in honest.of(Drained) if one.side == "source")
    cut = replaced(honest, [(drain, replace(drain, end=2)), (records_of(honest, "source")[2], None)])
    history = History([*cut.events, Damage(900, "truncated", "source", TOPIC, 0, 2)])
    assert found(history) == {"I10 silent-truncation orders[0]@2"}
    said = History([*history.events, Verdict(901, "truncated", TOPIC, 0, 3, 2)])
    assert found(said) == set()
    not_replicated = without(history, Seen, side="destination", offset=2)
    assert found(not_replicated) == set(), "the source lost it before it was read"
    wrong = History([*history.events, Verdict(901, "truncated", TOPIC, 0, 3, 1)])
    assert found(wrong) == {"I10 misnamed orders[0]@3"}


def recreated(*more: object) -> History:
    """orders[0] had three records, all replicated; it was created again with two more."""
    old = HistoryBuilder([WorkloadStep("plain", records=3)], partitions=1, extras=False).history()
    fresh = [raw(token("new", n), 1, 100 + n) for n in range(2)]
    events: list[object] = [*old.events, Damage(800, "recreated", "source", TOPIC, 0)]
    for n, record in enumerate(fresh):
        name = token("new", n)
        events += [Sent(801, name, TOPIC, 0, record, topic_id="B"), DeliveryReport(802, name, "ok", n)]
        events.append(Seen(803, "source", TOPIC, 0, n, name, record, "B"))
    events.append(Drained(805, 803, "source", TOPIC, 0, 0, 2, "B"))
    return History([*events, *more, Drained(999, 998, "destination", TO, 0, 0, 9)])


def test_a_recreated_topic_is_another_one() -> None:
    stop = Verdict(900, "recreated", TOPIC, 0, 3)
    assert found(recreated(stop)) == set()
    second = raw(token("new", 1), 1, 101)
    sneaked = Seen(950, "destination", TO, 0, 4, token("new", 1), second)
    assert found(recreated(stop, sneaked)) == {"I10 delivered-after-stop orders[0]@1"}
    assert found(recreated(sneaked)) == {
        "I1 lost orders[0]@0", "I10 silent-source-recreated orders[0]", "I12 not-converged orders[0]@0",
    }  # fmt: skip
    first = Seen(950, "destination", TO, 0, 3, token("new", 0), raw(token("new", 0), 1, 100))
    assert found(recreated(replace(stop, action="continue"), first, sneaked)) == set()


def test_going_on_with_a_recreated_topic_gives_up_the_rest_of_the_old_one() -> None:
    both = [
        Seen(950, "destination", TO, 0, 4 + n, token("new", n), raw(token("new", n), 1, 100 + n))
        for n in (0, 1)
    ]
    short = without(recreated(*both), Seen, side="destination", offset=2)
    said = Verdict(900, "recreated", TOPIC, 0, 2, action="continue")
    assert found(History([*short.events, said])) == set()
    assert "I1 unseen orders[0]@2" in found(short)


def test_the_last_word_about_a_replaced_topic_is_where_it_was_left() -> None:
    """Compaction took its last positions; one of a shard that had it once is still there."""
    both = [
        Seen(950, "destination", TO, 0, 3 + n, token("new", n), raw(token("new", n), 1, 100 + n))
        for n in (0, 1)
    ]
    left = Verdict(900, "recreated", TOPIC, 0, 3, action="continue")
    leftover = LedgerPosition(1_000, TOPIC, 0, 0, 1, 1)
    assert "I8 ledger-short orders[0]@1" in found(recreated(*both, leftover))
    assert found(recreated(*both, left, leftover)) == set()
    too_early = replace(left, expected=2)
    assert "I8 ledger-short orders[0]@2" in found(recreated(*both, too_early, leftover))


def test_a_destination_that_was_recreated_under_the_mirror_must_be_said() -> None:
    honest = HistoryBuilder(ALL_STEPS, extras=False).history()
    damage = Damage(900, "recreated", "destination", TO, 1)
    assert found(History([*honest.events, damage])) == {"I10 silent-destination-recreated copy[1]"}
    stop = Verdict(901, "destination-recreated", TOPIC, 1)
    assert found(History([*honest.events, damage, stop])) == set()
