"""The checker's own tests: one bad thing in an otherwise honest scenario is named, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from faults.checker import check
from faults.content import Content, fingerprint
from faults.events import (
    Applied,
    DeliveryReport,
    Drained,
    Exited,
    Fault,
    Lag,
    LedgerPosition,
    Mapped,
    Scanned,
    Seen,
    Sent,
    Topics,
    Translated,
    Usage,
    Verdict,
)
from faults.history import History
from faults.history_builder import ALL_STEPS, TO, TOPIC, HistoryBuilder, records_of, replaced

# orders[0]: visible at 0…4, 9…12 (5 a marker, 6 and 7 aborted, 8 their marker)
#   copy[0]:           0 1 2 4 5, 6 8 9 10

ALL = [f"I{n}" for n in range(1, 17)]
HONEST = HistoryBuilder(ALL_STEPS).history()


def there(history: History, offset: int, partition: int = 0) -> Seen:
    (found,) = [
        s for s in records_of(history, "destination") if (s.offset, s.partition) == (offset, partition)
    ]
    return found


def here(history: History, offset: int, partition: int = 0) -> Seen:
    (found,) = [s for s in records_of(history, "source") if (s.offset, s.partition) == (offset, partition)]
    return found


def content_changed(offset: int, change: Callable[[Content], Content], token: str | None = None) -> History:
    old = there(HONEST, offset)
    new = replace(old, content=change(old.content), token=old.token if token is None else token)
    return replaced(HONEST, [(old, new)])


def added(*events: object, history: History = HONEST) -> History:
    return History([*history.events, *events])


def last_positions(**changes: Any) -> LedgerPosition:
    return replace([row for row in HONEST.of(LedgerPosition) if row.partition == 0][-1], **changes)


def drained(side: str) -> Drained:
    return next(one for one in HONEST.of(Drained) if (one.side, one.partition) == (side, 0))


def with_ledger(rows_from_end: int = 2, **changes: Any) -> History:
    """Change the last ledger entries around the reading of the destination."""
    rows = [row for row in HONEST.of(LedgerPosition) if row.partition == 0][-rows_from_end:]
    return replaced(HONEST, [(row, replace(row, **changes)) for row in rows])


def aborted() -> Sent:
    return next(s for s in HONEST.of(Sent) if s.transaction == "tx2")


def found(history: History) -> set[str]:
    return {f"{a.invariant} {a.name} {a.where}" for a in check(history).anomalies}


def swapped(one: int, other: int) -> History:
    a, b = there(HONEST, one), there(HONEST, other)
    return replaced(
        HONEST,
        [
            (a, replace(a, token=b.token, content=b.content)),
            (b, replace(b, token=a.token, content=a.content)),
        ],
    )


def stranger(offset: int = 7) -> Seen:
    return Seen(900, "destination", TO, 0, offset, "", Content(None, "3:beef", (), 77, "create"))


ONE_BAD_THING: dict[str, tuple[History, set[str]]] = {
    "a record is dropped": (
        replaced(HONEST, [(there(HONEST, 4), None)]),
        {
            "I1 lost orders[0]@3",
            "I7 map-wrong orders[0]@3",
            "I8 ledger-ahead orders[0]@3",
            "I8 tally-wrong orders[0]@13",
            "I12 not-converged orders[0]@3",
        },
    ),
    "the last one is dropped": (
        replaced(HONEST, [(there(HONEST, 10), None)]),
        {
            "I1 unseen orders[0]@12",
            "I7 map-wrong orders[0]@12",
            "I8 ledger-ahead orders[0]@12",
            "I8 tally-wrong orders[0]@13",
            "I12 not-converged orders[0]@12",
        },
    ),
    "the source lost an acknowledged record": (
        replaced(HONEST, [(here(HONEST, 3), None), (there(HONEST, 4), None)]),
        {
            "I1 lost-in-source orders[0]@3",
            "I7 map-wrong orders[0]@3",
            "I8 ledger-ahead orders[0]@3",
            "I8 tally-wrong orders[0]@13",
        },
    ),
    "a record is repeated": (
        added(replace(there(HONEST, 2), offset=11)),
        {"I4 repeated orders[0]@2"},
    ),
    "a record comes from nowhere": (added(stranger()), {"I2 phantom copy[0]@7"}),
    "an aborted record is delivered": (
        added(replace(stranger(), token=aborted().token, content=aborted().content)),
        {"I2 aborted-delivered copy[0]@7"},
    ),
    "a record that was never written is delivered": (
        added(
            *(
                replace(stranger(), token=s.token, content=s.content)
                for s in HONEST.of(Sent)
                if s.token in {a.token for a in HONEST.of(DeliveryReport) if a.outcome == "failed"}
            )
        ),
        {"I2 phantom copy[0]@7"},
    ),
    "two readings differ": (
        added(replace(there(HONEST, 2), content=stranger().content)),
        {"I2 inconsistent-offsets copy[0]@2"},
    ),
    "two records change places": (
        swapped(1, 2),
        {"I3 out-of-order orders[0]@1", "I7 map-wrong orders[0]@1", "I7 map-wrong orders[0]@2"}
        | {"I7 translation-ahead group orders[0]@2"},
    ),
    "a record lands in another partition": (
        replaced(HONEST, [(there(HONEST, 4), replace(there(HONEST, 4), partition=1, offset=99))]),
        {"I5 misplaced orders[0]@3", "I7 map-wrong orders[0]@3"},
    ),
    "a record lands in another topic": (
        replaced(HONEST, [(there(HONEST, 4), replace(there(HONEST, 4), topic="elsewhere"))]),
        {"I5 misplaced orders[0]@3", "I7 map-wrong orders[0]@3"},
    ),
    "a byte of the value": (
        content_changed(2, lambda c: replace(c, value="3:beef")),
        {"I6 value-changed orders[0]@2"},
    ),
    "a byte of the key": (
        content_changed(4, lambda c: replace(c, key="3:beef")),
        {"I6 key-changed orders[0]@3"},
    ),
    "a byte of the token": (
        content_changed(4, lambda c: replace(c, key="3:beef"), token=""),
        {"I6 key-changed orders[0]@3"},
    ),
    "null became empty": (
        content_changed(4, lambda c: replace(c, value=fingerprint(b""))),
        {"I6 value-nullness-changed orders[0]@3"},
    ),
    "empty became null": (
        content_changed(4, lambda c: replace(c, key=None)),
        {"I6 key-nullness-changed orders[0]@3"},
    ),
    "a header came": (
        content_changed(4, lambda c: replace(c, headers=(*c.headers, ("x", None)))),
        {"I6 headers-changed orders[0]@3"},
    ),
    "a header with the token went": (
        content_changed(0, lambda c: replace(c, headers=c.headers[1:]), token=""),
        {"I6 headers-changed orders[0]@0"},
    ),
    "the timestamp moved": (
        content_changed(4, lambda c: replace(c, timestamp=c.timestamp + 1)),
        {"I6 timestamp-changed orders[0]@3"},
    ),
    "the broker's clock was taken": (
        content_changed(4, lambda c: replace(c, clock="append")),
        {"I6 timestamp-type-changed orders[0]@3"},
    ),
    "the map leads elsewhere": (
        replaced(HONEST, [(m := HONEST.of(Mapped)[3], replace(m, destination=5))]),
        {"I7 map-wrong orders[0]@3"},
    ),
    "the map leads nowhere": (
        replaced(HONEST, [(m := HONEST.of(Mapped)[3], replace(m, destination=3))]),
        {"I7 map-wrong orders[0]@3"},
    ),
    "the map knows a record that is not there": (
        replaced(HONEST, [(m := HONEST.of(Mapped)[4], replace(m, length=2))]),
        {"I7 map-wrong orders[0]@5"},
    ),
    "the map lacks a record": (
        replaced(HONEST, [(HONEST.of(Mapped)[3], None)]),
        {"I7 map-incomplete orders[0]@3"},
    ),
    "a group would skip": (
        replaced(HONEST, [(t := HONEST.of(Translated)[8], replace(t, to_offset=11))]),
        {"I7 translation-ahead group orders[0]@12"},
    ),
    "a group goes back": (
        replaced(HONEST, [(t := HONEST.of(Translated)[8], replace(t, to_offset=8))]),
        {"I7 translation-back group orders[0]@12"},
    ),
    "the ledger does not balance": (
        with_ledger(holes=5),
        {"I8 ledger-unbalanced orders[0]@13"},
    ),
    "the ledger omits an offset": (
        with_ledger(holes=3),
        {"I8 ledger-unbalanced orders[0]@13"},
    ),
    "a position goes back": (
        added(last_positions(at=990, offset=12, holes=3)),
        {"I8 position-back orders[0]@12", "I12 position-short orders[0]@12"},
    ),
    "the start moves": (
        with_ledger(start=1, holes=3),
        {"I8 start-moved orders[0]@13", "I8 tally-wrong orders[0]@13"},
    ),
    "the tally goes back": (
        added(last_positions(at=990, delivered=8, holes=5)),
        {"I8 tally-back orders[0]@13"},
    ),
    "the tally is wrong": (with_ledger(delivered=8, holes=5), {"I8 tally-wrong orders[0]@13"}),
    "the position is ahead of the source": (
        with_ledger(offset=14, holes=5),
        {"I8 ledger-ahead orders[0]@14"},
    ),
    "the position is ahead of the destination": (
        with_ledger(to_end=13),
        {"I8 ledger-ahead orders[0]@13"},
    ),
    "the position is behind what is visible": (
        with_ledger(1, offset=12, holes=3),
        {"I8 ledger-short orders[0]@12", "I8 position-back orders[0]@12", "I12 position-short orders[0]@12"},
    ),
    "the source holds a record that no producer wrote": (
        added(replace(here(HONEST, 3), offset=5, token="", content=stranger().content)),
        {"I9 source-written orders[0]@5", "I1 lost orders[0]@5", "I8 ledger-ahead orders[0]@5"}
        | {"I12 not-converged orders[0]@5"},
    ),
    "the source shows an aborted record": (
        added(replace(here(HONEST, 3), offset=6, token=aborted().token, content=aborted().content)),
        {"I9 source-inconsistent orders[0]@6", "I1 lost orders[0]@6", "I8 ledger-ahead orders[0]@6"}
        | {"I12 not-converged orders[0]@6"},
    ),
    "the source changed": (
        added(replace(here(HONEST, 3), content=stranger().content)),
        {"I9 source-inconsistent orders[0]@3"},
    ),
    "the source holds something else than was sent": (
        replaced(
            HONEST,
            [
                (here(HONEST, 3), replace(here(HONEST, 3), content=stranger().content)),
                (there(HONEST, 4), replace(there(HONEST, 4), content=stranger().content)),
            ],
        ),
        {"I9 source-inconsistent orders[0]@3"},
    ),
    "a topic appears on the source": (
        added(Topics(990, "source", (TOPIC, "mm2-offset-syncs.internal"))),
        {"I9 source-topics-changed mm2-offset-syncs.internal"},
    ),
    "it says a gap where none is": (
        added(Verdict(990, "gap", TOPIC, 0, 13, 20)),
        {"I10 false-alarm orders[0]"},
    ),
    "the lag never comes to zero": (
        replaced(HONEST, [(sample, replace(sample, lag=3)) for sample in HONEST.of(Lag)]),
        {"I11 no-recovery kill", "I12 lag-left all"},
    ),
    "it takes long": (
        replaced(HONEST, [(s, replace(s, at=s.at + 15_001)) for s in HONEST.of(Lag)]),
        {"I11 slow-recovery kill"},
    ),
    "another flow stalls": (
        added(
            Fault(1000, "cut", 1100, flow="a"),
            *(Lag(1000 + n, 5, flow="b") for n in range(3)),
            Lag(1200, 0, flow="a"),
            Lag(1200, 0, flow="b"),
        ),
        {"I11 bystander-stalled b"},
    ),
    "lag is left": (added(Lag(990, 4)), {"I12 lag-left all"}),
    "the position stays short of the end": (
        replaced(HONEST, [(d := drained("source"), replace(d, end=14))]),
        {"I12 position-short orders[0]@13"},
    ),
    "verify differs": (added(Exited(990, "verify", 9)), {"I12 verify-differs verify"}),
    "two write": (
        added(last_positions(at=990, writer="1")),
        {"I13 two-writers orders[0]@13"},
    ),
    "a secret is shown": (added(Scanned(990, "/metrics", ("sasl_password",))), {"I14 secret-shown /metrics"}),
    "memory grows": (
        replaced(
            HONEST,
            [(u, replace(u, memory=u.memory * (10 + n) // 10)) for n, u in enumerate(HONEST.of(Usage))],
        ),
        {"I15 memory-grow driver"},
    ),
    "files grow": (
        replaced(HONEST, [(u, replace(u, files=100 + 10 * n)) for n, u in enumerate(HONEST.of(Usage))]),
        {"I15 files-grow driver"},
    ),
    "threads grow": (
        replaced(HONEST, [(u, replace(u, threads=50 + 5 * n)) for n, u in enumerate(HONEST.of(Usage))]),
        {"I15 threads-grow driver"},
    ),
    "a plan changes something again": (added(Applied(990, "plan", 1)), {"I16 not-idempotent plan"}),
}


@pytest.mark.parametrize("name", ONE_BAD_THING)
def test_one_bad_thing_is_named_with_its_coordinates(name: str) -> None:
    history, wanted = ONE_BAD_THING[name]
    assert found(history) == wanted, str(check(history))
    for invariant in {text.split()[0] for text in wanted}:
        assert check(history).results[invariant].status == "broken"
