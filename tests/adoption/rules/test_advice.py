"""Advice names its cost, and a window that is large enough."""

from __future__ import annotations

import pytest

from causeway.adoption.rules.advice import LARGEST_WINDOW, advice, larger_window, reads_all
from causeway.adoption.rules.placement import Uncovered, not_found
from causeway.core.handoff import CountRange, Handoff, SourceRecord, Tail, Window


def window(start: int, end: int, log_end: int, name: str = "") -> Window:
    return Window([SourceRecord(n, f"{name}{n}".encode()) for n in range(start, end)], start, end, 0, log_end)


def wider(
    handoff: Handoff, source_window: Window, tails: list[Tail], hint: int, last: int | None = None
) -> int:
    whole = reads_all([(source_window, hint, 1)], tails)
    return larger_window(
        handoff,
        source_window,
        Uncovered.of(tails),
        hint,
        places=1,
        size=1_000,
        whole=whole,
        comparable=True,
        last=last,
    )


def test_unchecked_is_never_offered_without_its_losses() -> None:
    unmatched = Handoff("unmatched", None, None, "")
    text = advice(unmatched, window(18_000, 20_500, 20_500), 20_000)
    assert "--unchecked starts at offset 20000: it loses 0 to 20,000 records before that offset" in text
    assert "duplicates 0 to 500 records after it" in text
    assert "--unchecked" not in advice(unmatched, window(0, 10, 10), 20), (
        "the source does not begin that early"
    )


def test_each_choice_has_its_count() -> None:
    torn = Handoff("incomplete", 150, 160, "", twice=CountRange(7, 7), lost=CountRange(3, 3))
    assert advice(torn, window(0, 300, 300), 160) == (
        "--accept repeat starts at offset 150 and duplicates 7 records;"
        " --accept lose starts at offset 160 and loses 3 records"
    )
    absent = Handoff("not_found", 0, None, "", twice=CountRange(0, 1_000))
    assert (
        advice(absent, window(0, 300, 300), 0)
        == "--accept repeat starts at offset 0 and duplicates 0 to 1,000 records"
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [(CountRange(1, 1), "1 record"), (CountRange(0, 1), "0 to 1 record"), (CountRange(2, 2), "2 records")],
)
def test_records_agree_with_their_count(count: CountRange, text: str) -> None:
    assert count.records == text


def test_the_window_reaches_the_last_existing_record() -> None:
    """A busy tool was killed long after its last commit, or had committed offsets before it wrote them."""
    tails = [Tail([b"x"] * 1_000, 49_000, 50_000)]
    beyond = Handoff("beyond_window", None, None, "")
    assert wider(beyond, window(8_000, 12_000, 90_000), tails, 10_000, last=49_999) == 20_500
    unmatched = Handoff("unmatched", None, None, "")
    assert wider(unmatched, window(78_000, 82_000, 82_000), tails, 80_000, last=50_000) == 15_500
    assert wider(unmatched, window(8_000, 12_000, 90_000), tails, 10_000) == 40_000, "not searched: all of it"
    huge = window(8_000, 12_000, 10**9)
    assert wider(unmatched, huge, tails, 10_000) == LARGEST_WINDOW


def test_absence_is_only_reported_after_a_complete_comparison() -> None:
    mine, tail = window(0, 20, 20, "a"), Tail([b"b1", b"b2"], 0, 2)

    def verdict(
        source_window: Window, tails: list[Tail], before_tails: int | None, comparable: bool = True
    ) -> Handoff:
        return not_found(
            source_window,
            Uncovered.of(tails),
            15,
            hinted=True,
            comparable=comparable,
            before_tails=before_tails,
            in_tails={},
            unknown_records=2,
        )

    new = verdict(mine, [tail], None)
    assert (new.verdict, new.repeat_from) == ("clean", 0), "committed up to 15, and no record exists"
    for handoff in (
        verdict(mine, [Tail([b"b1"], 1, 2)], None),  # one record was not compared
        verdict(mine, [Tail([b"b1"], 1, 2)], 1),  # and it is one of these
        verdict(mine, [Tail([b"b1"], 1, 2, log_start=1)], 0),  # or it was deleted
        verdict(window(5, 20, 20, "a"), [tail], None),
        verdict(mine, [tail], None, comparable=False),
    ):
        assert (handoff.verdict, handoff.repeat_from, handoff.lose_from) == ("not_found", 0, 15)
        assert handoff.lost == CountRange(0, 15)
    assert verdict(mine, [Tail([b"b1"], 1, 2)], 1).twice == CountRange(1, 3)
