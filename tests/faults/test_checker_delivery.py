"""At least once, by key, compacted, from a later start: what else the record rules promise."""

from __future__ import annotations

from dataclasses import replace

from faults.checker import RECORDS, check
from faults.content import Content, token
from faults.events import (
    DeliveryReport,
    Drained,
    Fault,
    Route,
    Seen,
    Sent,
    Terms,
    TransactionEnded,
    Translated,
)
from faults.history import History
from faults.history_builder import TO, TOPIC


def contents(count: int, keys: int) -> list[Content]:
    return [Content(f"1:k{n % keys}", f"9:v{n}", (), 1000 + n) for n in range(count)]


def replicated(
    order: list[int],
    terms: Terms | None = None,
    route: Route | None = None,
    crashes: int = 0,
    partition_of: dict[int, int] | None = None,
    keys: int = 100,
) -> set[str]:
    """Ten records at 0…9 of orders[0]; those that arrived, in their order over there."""
    records = contents(10, keys)
    names = [token("t", n) for n in range(10)]
    events: list[object] = [terms or Terms(), route or Route(TOPIC, TO)]
    for n, record in enumerate(records):
        events += [Sent(1, names[n], TOPIC, 0, record), DeliveryReport(2, names[n], "ok", n)]
        events.append(Seen(3, "source", TOPIC, 0, n, names[n], record))
    events += [
        Drained(4, 3, "source", TOPIC, 0, 0, 10),
        *(Fault(5, "kill", crash=True) for _ in range(crashes)),
    ]
    for offset, n in enumerate(order):
        place = (partition_of or {}).get(n, 0)
        events.append(Seen(6, "destination", TO, place, offset, names[n], records[n]))
    events += [Drained(9, 5, "destination", TO, place, 0, len(order)) for place in (0, 1)]
    report = check(History(events))
    return {f"{a.name} {a.where}" for a in report.anomalies if a.invariant != "I12"}


AT_LEAST_ONCE = Terms("at-least-once", replay=3)
STRAIGHT = list(range(10))


def test_a_replay_after_a_crash_is_within_the_terms_of_at_least_once() -> None:
    replayed = [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 8, 9]
    assert replicated(replayed, AT_LEAST_ONCE, crashes=1) == set()
    assert replicated(replayed, crashes=1) == {f"repeated orders[0]@{n}" for n in (2, 3, 4)}
    assert replicated(replayed, Terms(replay=3), crashes=1) == {f"repeated orders[0]@{n}" for n in (2, 3, 4)}
    assert replicated(replayed, AT_LEAST_ONCE) == {f"repeated orders[0]@{n}" for n in (2, 3, 4)}
    assert replicated([0, 1, 2, 3, 0, *STRAIGHT[1:]], AT_LEAST_ONCE, crashes=1) == {"repeated orders[0]@3"}


def test_each_crash_may_replay_once() -> None:
    twice = [0, 1, 2, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9]
    assert replicated(twice, AT_LEAST_ONCE, crashes=2) == set()
    assert replicated(twice, AT_LEAST_ONCE, crashes=1) == {f"repeated orders[0]@{n}" for n in (4, 5)}
    inside = [0, 1, 2, 3, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert replicated(inside, AT_LEAST_ONCE, crashes=2) == set()
    assert replicated(inside, AT_LEAST_ONCE, crashes=1) == {f"repeated orders[0]@{n}" for n in (1, 2, 3)}


def test_a_replay_that_leaves_out_records_is_none() -> None:
    assert replicated([0, 1, 2, 3, 1, 3, *STRAIGHT[4:]], AT_LEAST_ONCE, crashes=1) == {
        "broken-replay orders[0]@3"
    }
    assert replicated([0, 1, 2, 3, 1, *STRAIGHT[4:]], AT_LEAST_ONCE, crashes=1) == {
        "broken-replay orders[0]@4"
    }
    assert replicated([0, 1, 3, 2, *STRAIGHT[4:]], AT_LEAST_ONCE, crashes=1) == {"out-of-order orders[0]@2"}
    assert replicated([0, 1, 2, 1, 2, 4, 3, *STRAIGHT[5:]], AT_LEAST_ONCE, crashes=1) == {
        "out-of-order orders[0]@3"
    }


def test_records_before_the_start_need_not_arrive_but_all_others_must() -> None:
    later = Route(TOPIC, TO, starts=((0, 4),))
    assert replicated(STRAIGHT[4:], route=later) == set()
    assert replicated(STRAIGHT[5:], route=later) == {"lost orders[0]@4"}


def test_by_key_a_key_has_one_partition_and_its_order() -> None:
    by_key = Route(TOPIC, TO, placement="key")
    homes = {n: n % 2 for n in range(10)}
    assert replicated(STRAIGHT, route=by_key, keys=4, partition_of=homes) == set()
    assert replicated(STRAIGHT, route=by_key, keys=4, partition_of={**homes, 4: 1}) == {
        "key-split orders[0]@4"
    }
    assert replicated([2, 1, 0, *STRAIGHT[3:]], route=by_key, keys=4, partition_of=homes) == {
        "out-of-order orders[0]@0"
    }
    assert replicated(STRAIGHT, keys=4, partition_of={3: 1}) == {"misplaced orders[0]@3"}


def test_compaction_may_take_what_a_later_record_replaces() -> None:
    compacted = Route(TOPIC, TO, compacted=True)
    assert replicated(STRAIGHT[5:], route=compacted, keys=5) == set()
    assert replicated([0, 1, 2, 3, 5, 6, 7, 8], route=compacted, keys=5) == {"unseen orders[0]@9"}
    assert replicated(STRAIGHT[5:], keys=5) == {f"lost orders[0]@{n}" for n in range(5)}


def test_records_without_a_token_are_known_by_their_content() -> None:
    """A stranger's records on the source, two of them alike: both must arrive, neither three times."""
    alike = Content(None, "3:same", (), 7)
    other = replace(alike, timestamp=8)
    shown = [alike, other, alike]

    def judged(arrived: list[Content]) -> set[str]:
        events: list[object] = [Terms(), Route(TOPIC, TO)]
        events += [Seen(1, "source", TOPIC, 0, n, "", record) for n, record in enumerate(shown)]
        events += [Seen(2, "destination", TO, 0, n, "", record) for n, record in enumerate(arrived)]
        events += [Drained(4, 3, "source", TOPIC, 0, 0, 3), Drained(4, 3, "destination", TO, 0, 0, 9)]
        return {str(a).split(":")[0] for a in check(History(events)).anomalies if a.invariant in ("I1", "I4")}

    assert judged(shown) == set()
    assert judged([alike, other]) == {"I1 unseen orders[0]@2"}
    assert judged([*shown, alike]) == {"I4 repeated orders[0]@0"}


def without_tokens(there: list[Content], *sent: object, token_there: str = "") -> set[str]:
    """Three records at 0, 1, 2, and what is on the other side."""
    events: list[object] = [Terms(), Route(TOPIC, TO), *sent]
    events += [Seen(1, "source", TOPIC, 0, n, "", record) for n, record in enumerate(contents(3, 3))]
    for n, record in enumerate(there):
        events.append(
            Seen(2, "destination", TO, 0, n, "" if record in contents(3, 3) else token_there, record)
        )
    events += [Drained(4, 3, "source", TOPIC, 0, 0, 3), Drained(4, 3, "destination", TO, 0, 0, 3)]
    report = check(History(events))
    return {f"{a.name} {a.where}" for a in report.anomalies if a.invariant in RECORDS}


def test_what_lost_its_identity_is_known_by_its_place_and_by_what_is_left_of_it() -> None:
    first, second, third = contents(3, 3)
    damaged = replace(second, value="1:damaged")
    assert without_tokens([first, damaged, third]) == {"value-changed orders[0]@1"}
    stranger = Content(None, "3:else", (), 5)
    assert without_tokens([first, stranger, third]) == {"phantom copy[0]@1", "lost orders[0]@1"}
    assert without_tokens([damaged, first, third]) == {"phantom copy[0]@0", "lost orders[0]@1"}
    assert without_tokens([first, third, damaged]) == {"phantom copy[0]@2", "lost orders[0]@1"}


def test_an_aborted_record_in_the_place_of_another_is_not_taken_for_it() -> None:
    first, second, third = contents(3, 3)
    aborted = replace(second, value="1:other")
    sent = [Sent(0, "~a~", TOPIC, 0, aborted, "tx"), TransactionEnded(0, "tx", "aborted")]
    assert without_tokens([first, aborted, third], *sent, token_there="~a~") == {
        "aborted-delivered copy[0]@1", "lost orders[0]@1",
    }  # fmt: skip


def test_a_group_that_would_skip_is_found_however_far_before_its_position() -> None:
    records = contents(3, 3)
    events: list[object] = [Terms(), Route(TOPIC, TO)]
    events += [Seen(1, "source", TOPIC, 0, n, "", record) for n, record in enumerate(records)]
    events += [Seen(2, "destination", TO, 0, offset, "", records[n]) for offset, n in enumerate((2, 0, 1))]
    events += [Drained(4, 3, "source", TOPIC, 0, 0, 3), Drained(4, 3, "destination", TO, 0, 0, 3)]
    events.append(Translated(5, "group", TOPIC, 0, 2, TO, 0, 3))
    named = {f"{a.name} {a.where}" for a in check(History(events)).anomalies if a.invariant == "I7"}
    assert named == {"translation-ahead group orders[0]@2"}
