"""Whatever the scenario was: an honest one is clean, and any single bad thing in it is found."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from faults.checker import RECORDS, check
from faults.content import Content, fingerprint
from faults.events import Drained, LedgerPosition, Mapped, Seen, Sent, Usage, Verdict
from faults.history import History
from faults.history_builder import TO, TOPIC, HistoryBuilder, WorkloadStep, records_of, replaced
from faults.trace import trace

pytestmark = pytest.mark.no_cover  # they run nothing of src/

few = settings(max_examples=40)
EVERY = [f"I{n}" for n in range(1, 17)]
ALWAYS_THERE = [
    WorkloadStep("plain", 0, 3, 2),
    WorkloadStep("aborted", 0, 2, 1),
    WorkloadStep("committed", 0, 2, 5),
]


@st.composite
def steps(draw: st.DrawFn) -> list[WorkloadStep]:
    """Something for every rule in partition 0, and anything around it."""
    kind = st.sampled_from(["plain", "committed", "aborted", "failed", "landed", "vanished"])
    any_step = st.builds(WorkloadStep, kind, st.integers(0, 2), st.integers(1, 4), st.integers(0, 8))
    before, after = draw(st.lists(any_step, max_size=6)), draw(st.lists(any_step, max_size=6))
    return [*before, *ALWAYS_THERE, *after]


@st.composite
def scenarios(draw: st.DrawFn) -> History:
    return HistoryBuilder(draw(steps()), 3, draw(st.integers(1, 5)), extras=draw(st.booleans())).history()


def full_scenarios() -> st.SearchStrategy[History]:
    return st.builds(lambda s, batch: HistoryBuilder(s, 3, batch).history(), steps(), st.integers(1, 5))


def names(history: History, *invariants: str) -> set[str]:
    return {
        f"{a.invariant} {a.name} {a.where}"
        for a in check(history).anomalies
        if not invariants or a.invariant in invariants
    }


def origin(history: History, arrival: Seen) -> str:
    (found,) = [s for s in records_of(history, "source") if s.token == arrival.token]
    return f"{found.topic}[{found.partition}]@{found.offset}"


def arrivals(history: History, partition: int | None = None) -> list[Seen]:
    return [s for s in records_of(history, "destination") if partition in (None, s.partition)]


@few
@given(scenarios())
def test_an_honest_scenario_is_clean(history: History) -> None:
    report = check(history)
    report.require(*RECORDS)
    if history.of(LedgerPosition):
        report.require(*[name for name in EVERY if name != "I10"])


def later(event: Any, by: int) -> Any:
    """The same event on a clock that began earlier."""
    times = [name for name in ("at", "began", "until") if getattr(event, name, -1) >= 0]
    return replace(event, **{name: getattr(event, name) + by for name in times})


@few
@given(scenarios(), st.randoms(use_true_random=False), st.integers(0, 10**9))
def test_what_does_not_matter_changes_nothing(history: History, random: Random, by: int) -> None:
    """Another clock, records noted in another order, a second reading, other people's topics, the disk."""
    before = {name: result.status for name, result in check(history).results.items()}
    others = [
        replace(seen, topic="unrelated", token="", content=Content(None, None, (), 1))
        for seen in arrivals(history)
    ]
    read_again = [] if history.of(LedgerPosition) else [later(drain, 900) for drain in history.of(Drained)]
    seen: list[object] = [*records_of(history, "source"), *arrivals(history), *arrivals(history), *others]
    random.shuffle(seen)
    changed = [event for event in history.events if not isinstance(event, Seen)] + seen + read_again
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "history.jsonl"
        History(later(event, by) for event in changed).write(path)
        after = check(History.read(path))

    assert not after.anomalies, str(after)
    assert {name: result.status for name, result in after.results.items()} == before


@few
@given(scenarios(), st.data())
def test_a_dropped_record_is_found(history: History, data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(arrivals(history)))
    after = [s for s in arrivals(history, gone.partition) if s.offset > gone.offset]
    name = "lost" if after else "unseen"
    bad = replaced(history, [(gone, None)])
    assert names(bad, *RECORDS) == {f"I1 {name} {origin(history, gone)}"}
    if history.of(LedgerPosition):
        assert f"I8 ledger-ahead {origin(history, gone)}" in names(bad)


@few
@given(scenarios(), st.data())
def test_a_repeated_record_is_found(history: History, data: st.DataObject) -> None:
    twice = data.draw(st.sampled_from(arrivals(history)))
    bad = History([*history.events, replace(twice, offset=10_000)])
    assert names(bad) == {f"I4 repeated {origin(history, twice)}"}


@few
@given(scenarios(), st.data())
def test_records_that_changed_places_are_found(history: History, data: st.DataObject) -> None:
    row = arrivals(history, 0)
    at = data.draw(st.integers(0, len(row) - 2))
    one, two = row[at], row[at + 1]
    changes: list[tuple[object, object]] = [
        (one, replace(one, token=two.token, content=two.content)),
        (two, replace(two, token=one.token, content=one.content)),
    ]
    assert names(replaced(history, changes), *RECORDS) == {f"I3 out-of-order {origin(history, one)}"}


CHANGES: dict[str, Callable[[Content], Content]] = {
    "key": lambda c: replace(c, key=f"{c.key}x"),
    "value": lambda c: replace(c, value=f"{c.value}x"),
    "key-nullness": lambda c: replace(c, key=fingerprint(b"") if c.key is None else None),
    "value-nullness": lambda c: replace(c, value=fingerprint(b"") if c.value is None else None),
    "headers": lambda c: replace(c, headers=(*c.headers, ("added", None))),
    "timestamp": lambda c: replace(c, timestamp=c.timestamp + 1),
    "timestamp-type": lambda c: replace(c, clock="append"),
}


@pytest.mark.parametrize("field", CHANGES)
@few
@given(scenarios(), st.data())
def test_a_changed_record_is_found(field: str, history: History, data: st.DataObject) -> None:
    old = data.draw(st.sampled_from(arrivals(history)))
    if field in ("key", "value"):
        assume(getattr(old.content, field) is not None)
    # A change may hit the token as well, except where the timestamp is all that is left to know it by.
    token = "" if field not in ("timestamp", "timestamp-type") and data.draw(st.booleans()) else old.token
    bad = replaced(history, [(old, replace(old, content=CHANGES[field](old.content), token=token))])
    assert names(bad) == {f"I6 {field}-changed {origin(history, old)}"}


@few
@given(scenarios(), st.integers(0, 1), st.integers(0, 10_000))
def test_an_aborted_record_that_arrives_is_found(history: History, which: int, offset: int) -> None:
    assume(offset not in {s.offset for s in arrivals(history, 0)})
    committed = {s.token for s in records_of(history, "source")}
    aborted = [s for s in history.of(Sent) if s.transaction and s.partition == 0 and s.token not in committed]
    record = aborted[which]
    bad = History([*history.events, Seen(1, "destination", TO, 0, offset, record.token, record.content)])
    assert names(bad) == {f"I2 aborted-delivered {TO}[0]@{offset}"}


@few
@given(scenarios(), st.integers(0, 10_000), st.text(max_size=3))
def test_a_record_from_nowhere_is_found(history: History, offset: int, key: str) -> None:
    assume(offset not in {s.offset for s in arrivals(history, 0)})
    nowhere = Content(key, "2:no", (), 1)
    bad = History([*history.events, Seen(1, "destination", TO, 0, offset, "", nowhere)])
    assert names(bad) == {f"I2 phantom {TO}[0]@{offset}"}


@few
@given(scenarios(), st.data())
def test_a_misplaced_record_is_found(history: History, data: st.DataObject) -> None:
    old = data.draw(st.sampled_from(arrivals(history)))
    bad = replaced(history, [(old, replace(old, partition=(old.partition + 1) % 3, offset=10_000))])
    assert names(bad, *RECORDS) == {f"I5 misplaced {origin(history, old)}"}


@few
@given(
    full_scenarios(), st.data(), st.sampled_from(["delivered", "filtered", "quarantined", "holes", "gone"])
)
def test_books_that_do_not_balance_are_found(history: History, data: st.DataObject, column: str) -> None:
    row = data.draw(st.sampled_from(history.of(LedgerPosition)))
    wrong = getattr(row, column) + data.draw(st.integers(1, 5))
    bad = replaced(history, [(row, replace(row, **{column: wrong}))])
    assert f"I8 ledger-unbalanced {TOPIC}[{row.partition}]@{row.offset}" in names(bad)


@few
@given(full_scenarios(), st.data())
def test_a_position_that_goes_back_is_found(history: History, data: st.DataObject) -> None:
    row = [row for row in history.of(LedgerPosition) if row.partition == 0][-1]
    back = data.draw(st.integers(1, row.offset))
    earlier = replace(row, at=10**6, offset=row.offset - back, holes=row.holes - back)
    assert f"I8 position-back {TOPIC}[0]@{row.offset - back}" in names(History([*history.events, earlier]))


@few
@given(full_scenarios(), st.data())
def test_a_position_ahead_of_what_is_visible_is_found(history: History, data: st.DataObject) -> None:
    """The record was not there yet when the ledger already counted it."""
    row = arrivals(history, 0)
    first = data.draw(st.integers(0, len(row) - 1))
    bad = replaced(history, [(seen, None) for seen in row[first:]])
    assert {f"I8 ledger-ahead {origin(history, seen)}" for seen in row[first:]} <= names(bad)


@few
@given(full_scenarios(), st.data())
def test_a_ledger_that_counts_less_than_is_visible_is_found(history: History, data: st.DataObject) -> None:
    """A record became visible without its position."""
    last = [row for row in history.of(LedgerPosition) if row.partition == 0][-1]
    visible = [s.offset for s in records_of(history, "source") if s.partition == 0]
    lower = data.draw(st.sampled_from(visible))
    bad = replaced(history, [(last, replace(last, offset=lower))])
    assert f"I8 ledger-short {TOPIC}[0]@{lower}" in names(bad)


@few
@given(full_scenarios(), st.data(), st.integers(-5, 5).filter(bool))
def test_a_wrong_offset_map_is_found(history: History, data: st.DataObject, by: int) -> None:
    run = data.draw(st.sampled_from(history.of(Mapped)))
    bad = replaced(history, [(run, replace(run, destination=run.destination + by))])
    assert names(bad) == {f"I7 map-wrong {TOPIC}[{run.partition}]@{run.source}"}
    bad = replaced(history, [(run, replace(run, source=run.source + by))])
    assert f"I7 map-wrong {TOPIC}[{run.partition}]@{run.source + by}" in names(bad)
    assert f"I7 map-incomplete {TOPIC}[{run.partition}]@{run.source}" in names(bad)


@few
@given(steps(), st.data(), st.booleans())
def test_gaps_are_clean_when_they_were_said_and_found_when_not(
    written: list[WorkloadStep], data: st.DataObject, extras: bool
) -> None:
    certain = [step for step in written if step.kind not in ("landed", "vanished")]
    visible = [
        s.offset for s in records_of(HistoryBuilder(certain, 3).history(), "source") if s.partition == 0
    ]
    replicated = data.draw(st.integers(1, len(visible) - 2))
    removed = data.draw(st.sampled_from(visible[replicated + 1 :]))
    actions: list[Literal["stop", "continue"]] = ["stop", "continue"]
    action = data.draw(st.sampled_from(actions))
    scenario = HistoryBuilder(
        certain, 3, extras=extras, removed=removed, replicated=replicated, action=action
    )
    history = scenario.history()
    check(history).require(*(EVERY if extras else [*RECORDS, "I10"]))

    unsaid = replaced(history, [(verdict, None) for verdict in history.of(Verdict)])
    assert f"I10 silent-gap {TOPIC}[0]@{visible[replicated]}" in names(unsaid)

    if action == "stop":
        seen = data.draw(st.sampled_from([s for s in records_of(history, "source") if s.partition == 0]))
        after = replace(seen, side="destination", topic=TO, offset=10_000)
        assert names(History([*history.events, after]), "I10") == {
            f"I10 delivered-after-stop {TOPIC}[0]@{seen.offset}"
        }


@few
@given(scenarios())
def test_originals_and_arrivals_are_one_to_one_on_an_honest_scenario(history: History) -> None:
    traced = trace(history)
    assert len(traced.first) == len(records_of(history, "source")) == len(arrivals(history))
    assert all(arrival.occurrence == 1 for row in traced.arrivals.values() for arrival in row)


def test_usage_is_known_only_with_enough_samples() -> None:
    few = History([Usage(n, "driver", 1, 1, 1) for n in range(5)])
    assert check(few).results["I15"].status == "unknown"
