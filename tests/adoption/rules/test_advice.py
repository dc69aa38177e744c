"""Advice names what it costs, and the window that would do."""

from __future__ import annotations

from causeway.adoption.rules.advice import LARGEST_WINDOW, advice, larger_window, reads_all
from causeway.adoption.rules.placement import Rest, not_found
from causeway.core.handoff import CountRange, Handoff, SeenRecord, Tail, Window


def window(start: int, end: int, log_end: int, name: str = "") -> Window:
    return Window([SeenRecord(n, f"{name}{n}".encode()) for n in range(start, end)], start, end, 0, log_end)


def wider(seam: Handoff, looked_at: Window, tails: list[Tail], hint: int, last: int | None = None) -> int:
    whole = reads_all([(looked_at, hint, 1)], tails)
    return larger_window(
        seam, looked_at, Rest.of(tails), hint, places=1, size=1_000, whole=whole, comparable=True, last=last
    )


def test_unchecked_is_never_offered_without_its_losses() -> None:
    unmatched = Handoff("unmatched", None, None, "")
    said = advice(unmatched, window(18_000, 20_500, 20_500), 20_000)
    assert "--unchecked begins at 20000: 0 to 20,000 records before it are lost" in said
    assert "0 to 500 from it on come twice" in said
    assert "--unchecked" not in advice(unmatched, window(0, 10, 10), 20), "the source does not reach so far"


def test_each_choice_has_its_number() -> None:
    torn = Handoff("torn", 150, 160, "", twice=CountRange(7, 7), lost=CountRange(3, 3))
    assert advice(torn, window(0, 300, 300), 160) == (
        "--accept repeat begins at 150: 7 come twice; --accept lose begins at 160: 3 stay lost"
    )
    absent = Handoff("absent", 0, None, "", twice=CountRange(0, 1_000))
    assert advice(absent, window(0, 300, 300), 0) == "--accept repeat begins at 0: 0 to 1,000 come twice"


def test_the_window_reaches_the_last_record_that_is_there() -> None:
    """A busy tool was killed long after its last commit, or had committed what it had not written."""
    tails = [Tail([b"x"] * 1_000, 49_000, 50_000)]
    beyond = Handoff("beyond", None, None, "")
    assert wider(beyond, window(8_000, 12_000, 90_000), tails, 10_000, last=49_999) == 20_500
    unmatched = Handoff("unmatched", None, None, "")
    assert wider(unmatched, window(78_000, 82_000, 82_000), tails, 80_000, last=50_000) == 15_500
    assert wider(unmatched, window(8_000, 12_000, 90_000), tails, 10_000) == 40_000, "not searched: all of it"
    huge = window(8_000, 12_000, 10**9)
    assert wider(unmatched, huge, tails, 10_000) == LARGEST_WINDOW


def test_nothing_there_is_only_said_of_what_was_compared_whole() -> None:
    mine, tail = window(0, 20, 20, "a"), Tail([b"b1", b"b2"], 0, 2)

    def verdict(looked_at: Window, tails: list[Tail], buried: int | None, comparable: bool = True) -> Handoff:
        return not_found(
            looked_at,
            Rest.of(tails),
            15,
            hinted=True,
            comparable=comparable,
            buried=buried,
            held={},
            strangers=2,
        )

    new = verdict(mine, [tail], None)
    assert (new.verdict, new.repeat) == ("clean", 0), "committed up to 15, and nothing is there"
    for seam in (
        verdict(mine, [Tail([b"b1"], 1, 2)], None),  # one record was not compared
        verdict(mine, [Tail([b"b1"], 1, 2)], 1),  # and it is one of these
        verdict(mine, [Tail([b"b1"], 1, 2, log_start=1)], 0),  # or it is gone
        verdict(window(5, 20, 20, "a"), [tail], None),
        verdict(mine, [tail], None, comparable=False),
    ):
        assert (seam.verdict, seam.repeat, seam.lose) == ("absent", 0, 15)
        assert seam.lost == CountRange(0, 15)
    assert verdict(mine, [Tail([b"b1"], 1, 2)], 1).twice == CountRange(1, 3)
