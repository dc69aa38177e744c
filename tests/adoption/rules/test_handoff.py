"""The seam is where the old tool stopped, whatever its habits; where that cannot be known, none is found."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.adoption.rules.handoff import find_seam, neighbourhood, settle
from causeway.adoption.rules.hashing import murmur2, partition_of
from causeway.core.handoff import Accept, Handoff, SeenRecord, Tail, Window
from support.placing import java, sarama

WINDOW = 20


def content(value: object) -> bytes:
    return str(value).encode()


def window(
    prints: Sequence[bytes],
    hint: int,
    *,
    first: int = 0,
    size: int = WINDOW,
    places: int = 1,
    optional: Sequence[int] = (),
) -> Window:
    """What is read of a source partition whose log begins at `first`."""
    end = first + len(prints)
    begin, until = neighbourhood(hint, size, places, first, end)
    records = [SeenRecord(n, prints[n - first], n in optional) for n in range(begin, until)]
    return Window(records, begin, until, first, end)


def tail(prints: Sequence[bytes], size: int = WINDOW) -> Tail:
    """What is read of a destination partition that was never trimmed."""
    return Tail(prints[-size:], max(0, len(prints) - size), len(prints))


def numbered(count: int) -> list[bytes]:
    return [content(n) for n in range(count)]


def seam_of(
    prints: Sequence[bytes], copied: Sequence[bytes], hint: int, *, first: int = 0, size: int = WINDOW
) -> Handoff:
    """Of one source partition with a destination partition of its own."""
    return find_seam(window(prints, hint, first=first, size=size), [tail(copied, size)], hint, exclusive=True)


@dataclass
class Copy:
    """Source partitions, how much of each was copied, and the destination partitions in order."""

    sources: list[list[bytes]]
    copied: list[int]
    places: list[list[bytes]]
    hints: list[int]

    def seams(self, *, exclusive: bool = False) -> list[Handoff]:
        places = 1 if exclusive else len(self.places)
        windows = [
            window(prints, hint, places=places) for prints, hint in zip(self.sources, self.hints, strict=True)
        ]
        tails = [tail(place) for place in self.places]
        windows_with = Counter(print for one in windows for print in {seen.print for seen in one.records})
        complete = all(one.start == 0 for one in windows)
        if exclusive:
            return [
                find_seam(one, [place], hint, exclusive=True)
                for one, place, hint in zip(windows, tails, self.hints, strict=True)
            ]
        return [
            find_seam(one, tails, hint, complete=complete, windows_with=windows_with)
            for one, hint in zip(windows, self.hints, strict=True)
        ]


def copy_of(seed: int, contents: int | None, exclusive: bool) -> Copy:
    """A clean copy up to some offset of each source partition: order within a partition is kept.

    Every record is unlike all others, or drawn from so many contents.
    """
    draw = random.Random(seed)
    sources = []
    for number in range(draw.randint(1, 3)):
        count = draw.choice([0, 3, WINDOW, 3 * WINDOW, 6 * WINDOW])
        drawn = [draw.randrange(contents) if contents else (number, n) for n in range(count)]
        sources.append([content(one) for one in drawn])
    copied = [draw.randint(0, len(prints)) for prints in sources]
    hints = [max(0, at + draw.randint(-WINDOW, WINDOW)) for at in copied]
    places: list[list[bytes]] = [[] for _ in range(len(sources) if exclusive else draw.randint(1, 4))]
    pace = [draw.choice([1, 1, 10]) for _ in sources]  # a quiet partition's records are older
    upto = [0] * len(sources)
    while behind := [n for n, at in enumerate(upto) if at < copied[n]]:
        number = draw.choices(behind, [pace[n] for n in behind])[0]
        place = number if exclusive else draw.randrange(len(places))
        places[place].append(sources[number][upto[number]])
        upto[number] += 1
    return Copy(sources, copied, places, hints)


def holds(seam: Handoff, at: int) -> bool:
    """Nothing is claimed that is not so."""
    if seam.verdict in ("unmatched", "beyond"):
        return seam.repeat is seam.lose is None
    if seam.verdict == "ambiguous":
        assert seam.repeat is not None
        assert seam.lose is not None
        return seam.repeat <= at <= seam.lose
    return (seam.verdict, seam.repeat, seam.lose) == ("clean", at, at)


seeds = st.integers(0, 2**32)


def copies(contents: int | None = None, exclusive: bool = False) -> st.SearchStrategy[Copy]:
    """Drawn by a seed: what fails here is told by its numbers, not by being small."""
    return seeds.map(lambda seed: copy_of(seed, contents, exclusive))


often = settings(max_examples=1_000)


@often
@given(copies(exclusive=True))
def test_a_partition_of_its_own_is_taken_over_where_the_copy_ends(copy: Copy) -> None:
    """However wrong the hint is, within the window, to either side."""
    for at, seam in zip(copy.copied, copy.seams(exclusive=True), strict=True):
        if at:
            assert (seam.verdict, seam.repeat, seam.lose) == ("clean", at, at)


@often
@given(copies())
def test_in_any_placement_the_seam_is_where_the_copy_ends(copy: Copy) -> None:
    """Several partitions, mixed into several. Where a quiet one's records are too old to be seen, none is."""
    seen_whole = all(len(place) <= WINDOW for place in copy.places)
    for at, seam in zip(copy.copied, copy.seams(), strict=True):
        if at:
            assert seam.verdict == "clean" or not seen_whole
            assert holds(seam, at)


@pytest.mark.parametrize("contents", [2, 6, 30, 100])
@often
@given(seed=seeds)
def test_contents_that_repeat_give_no_wrong_seam(contents: int, seed: int) -> None:
    copy = copy_of(seed, contents, exclusive=True)
    for at, seam in zip(copy.copied, copy.seams(exclusive=True), strict=True):
        assert not at or holds(seam, at)


@pytest.mark.parametrize("contents", [30, 100, 300])
@often
@given(seed=seeds)
def test_contents_that_repeat_give_no_wrong_seam_in_any_placement(contents: int, seed: int) -> None:
    """Others may have them too, and older copies may lie in the tails."""
    copy = copy_of(seed, contents, exclusive=False)
    for at, seam in zip(copy.copied, copy.seams(), strict=True):
        assert not at or holds(seam, at)


def test_most_contents_that_repeat_are_told_by_their_order() -> None:
    """Six contents in all: the row that they are in is found."""
    of_six = [copy_of(seed, 6, exclusive=True) for seed in range(200)]
    pairs = [pair for copy in of_six for pair in zip(copy.copied, copy.seams(exclusive=True), strict=True)]
    verdicts = Counter(seam.verdict for at, seam in pairs if at)
    assert verdicts["clean"] > 0.9 * verdicts.total()


@pytest.mark.parametrize("hint", range(40, 81, 5))
def test_a_hint_is_only_a_neighbourhood(hint: int) -> None:
    """Committed behind what was produced, or ahead of it: the records tell."""
    assert seam_of(numbered(200), numbered(60), hint).repeat == 60


def test_one_content_all_over_is_ambiguous_unless_the_hint_and_the_beginning_agree() -> None:
    same = [b"same"] * 60
    assert seam_of(same, same[:15], hint=15).repeat == 15
    ambiguous = seam_of(same, same[:15], hint=12)
    assert (ambiguous.verdict, ambiguous.repeat, ambiguous.lose) == ("ambiguous", 15, 52)
    assert seam_of(same, same[:40], hint=40).verdict == "ambiguous"


def test_records_sent_twice_are_not_taken_for_the_next_ones() -> None:
    """A batch was sent again, and in the second case not to its end."""
    source = numbered(40)
    for again in (range(5, 9), range(5, 7)):
        seam = seam_of(source, [*source[:9], *(source[n] for n in again)], hint=5)
        assert (seam.verdict, seam.repeat) == ("clean", 9)


def test_records_sent_twice_far_from_the_beginning_are_not_decided_against() -> None:
    """There an older record could look like one that is sent again."""
    source = numbered(200)
    whole = seam_of(source, [*source[:109], *source[105:112]], hint=105)
    assert (whole.verdict, whole.repeat) == ("clean", 112)
    broken = seam_of(source, [*source[:109], *source[102:107]], hint=105)
    assert holds(broken, 109)
    assert broken.verdict == "ambiguous"


def test_a_copy_more_of_a_content_is_not_the_next_one_where_records_were_sent_twice() -> None:
    source = [*numbered(5), b"x", content(6), b"x", *numbered(30)[8:]]
    alone = seam_of(source, [*source[:7], *source[5:7]], hint=5)
    assert (alone.verdict, alone.repeat, alone.lose) == ("ambiguous", 7, 8)
    places = [[*source[0:6:2], source[6], source[6]], [*source[1:5:2], b"x", b"x"]]
    mixed = find_seam(window(source, 5, places=2), [tail(place) for place in places], 5, complete=True)
    assert (mixed.verdict, mixed.repeat, mixed.lose) == ("ambiguous", 7, 8)


def test_a_lost_record_is_not_replaced_by_one_like_it_behind_the_seam() -> None:
    source = [*numbered(6), b"x", content(7), content(8), b"x", *numbered(30)[10:]]
    seam = seam_of(source, [*source[:6], *source[7:10]], hint=10)
    assert (seam.verdict, seam.repeat, seam.lose) == ("ambiguous", 9, 10)


def test_missing_records_are_named_and_the_operator_chooses() -> None:
    source = numbered(60)
    seam = seam_of(source, [*source[:20], *source[23:30]], hint=30)
    assert (seam.verdict, seam.repeat, seam.lose) == ("torn", 20, 30)
    assert "3 records from offset 20 on are missing" in seam.what
    assert "7 behind them are there" in seam.what
    looked_at = window(source, 30)
    choices = {"": None, "repeat": 20, "lose": 30}
    for accept, offset in choices.items():
        assert settle(seam, looked_at, 30, accept=cast(Accept, accept), unchecked=True) == offset


def test_missing_records_are_named_in_any_placement() -> None:
    source = numbered(60)
    carried = [*source[:20], *source[23:30]]
    places = [carried[0::3], carried[1::3], carried[2::3]]
    seam = find_seam(window(source, 30, places=3), [tail(place) for place in places], 30)
    assert (seam.verdict, seam.repeat, seam.lose) == ("torn", 20, 30)


def test_records_that_may_be_left_out_are_not_missed() -> None:
    """Aborted ones, or those that a filter drops; the old tool may also have carried them."""
    source = numbered(60)
    dropped = [13, 17, 18, 29, 30, 31]
    looked_at = window(source, 30, optional=dropped)
    without = [source[n] for n in range(29) if n not in dropped]
    assert find_seam(looked_at, [tail(without)], 30, exclusive=True).repeat == 29
    assert find_seam(looked_at, [tail(source[:31])], 30, exclusive=True).repeat == 31
    # Behind one that was left out comes a content that was there before.
    source[31] = source[15]
    looked_at = window(source, 30, optional=[30])
    assert find_seam(looked_at, [tail([*source[:30], source[31]])], 30, exclusive=True).repeat == 32


def test_a_compacted_destination_misses_nothing() -> None:
    source = numbered(60)
    kept = [source[n] for n in range(30) if n % 3 == 2]
    assert find_seam(window(source, 30), [tail(kept)], 30, exclusive=True).verdict == "torn"
    assert find_seam(window(source, 30), [tail(kept)], 30, exclusive=True, lenient=True).repeat == 30


def test_strangers_behind_the_seam_are_named() -> None:
    source = numbered(200)
    for at in (30, 130):
        seam = seam_of(source, [*source[:at], b"stranger", b"another"], hint=at)
        assert (seam.verdict, seam.repeat, seam.lose) == ("strange", at, at)
        assert "the last 2 records of the destination" in seam.what
        assert settle(seam, window(source, at), at, accept="", unchecked=True) is None


def test_a_destination_that_goes_on_where_the_window_ends_is_not_cut_there() -> None:
    source = numbered(200)
    seam = seam_of(source, source[:50], hint=10)
    assert seam.verdict == "beyond"
    assert settle(seam, window(source, 10), 10, accept="lose", unchecked=False) is None
    assert seam_of(source, source[:50], hint=10, size=40).repeat == 50


@pytest.mark.parametrize("exclusive", [True, False])
def test_other_contents_are_not_confirmed(exclusive: bool) -> None:
    source, looked_at = numbered(60), window(numbered(60), 30)
    seam = find_seam(looked_at, [tail([b"other"] * 30)], 30, exclusive=exclusive)
    assert (seam.verdict, seam.repeat, seam.lose) == ("unmatched", None, None)
    assert settle(seam, looked_at, 30, accept="lose", unchecked=False) is None
    assert settle(seam, looked_at, 30, accept="", unchecked=True) == 30
    assert len(source) == looked_at.log_end


def test_retention_that_passed_the_hint_is_a_gap_unless_the_records_are_there() -> None:
    source = numbered(60)
    gap = seam_of(source, [content(-n) for n in range(1, 20)], hint=90, first=100)
    assert gap.verdict == "unmatched"
    assert "offsets 90…99 are gone from the source" in gap.what
    assert settle(gap, window(source, 90, first=100), 90, accept="", unchecked=True) is None
    assert seam_of(source, [content(-1), *source[:10]], hint=95, first=100).repeat == 110


def test_a_hint_behind_the_end_is_not_taken() -> None:
    looked_at = window(numbered(60), 80)
    seam = find_seam(looked_at, [tail([b"other"])], 80, exclusive=True)
    assert "the source ends at offset 60" in seam.what
    assert settle(seam, looked_at, 80, accept="", unchecked=True) is None


def test_a_destination_that_never_held_anything_begins_with_the_log() -> None:
    nothing = [Tail([], 0, 0)]
    assert find_seam(window(numbered(9), 0, first=3), nothing, 0).repeat == 3
    assert find_seam(window(numbered(9), 12, first=3), nothing, 12, hinted=False).repeat == 12
    committed = find_seam(window(numbered(9), 5, first=3), nothing, 5)
    assert (committed.verdict, committed.repeat) == ("clean", 3), "nothing is there, whatever was committed"


def test_a_destination_whose_records_expired_confirms_nothing() -> None:
    assert find_seam(window(numbered(9), 5), [Tail([], 7, 7)], 5, exclusive=True).verdict == "unmatched"


def test_a_source_that_holds_nothing_is_at_its_end() -> None:
    empty = window([], 40, first=40)
    assert find_seam(empty, [tail(numbered(30))], 40, exclusive=True).repeat == 40
    assert find_seam(empty, [tail(numbered(30))], 35, exclusive=True).verdict == "unmatched"


def test_a_quiet_partitions_record_may_lie_before_the_tail() -> None:
    """The last of it went where so many others followed that it is not seen: it is not carried again."""
    quiet, busy = [content(("q", n)) for n in range(8)], [content(("b", n)) for n in range(60)]
    places = [[*busy[:10], *quiet[:3], quiet[5], *busy[10:60]], [quiet[3], quiet[4]]]
    windows_with = dict.fromkeys([*quiet, *busy], 1)
    seam = find_seam(
        window(quiet, 6, places=2),
        [tail(place) for place in places],
        6,
        complete=True,
        windows_with=windows_with,
    )
    assert seam.verdict == "ambiguous"
    assert holds(seam, 6)


def test_keys_tell_where_a_record_would_be() -> None:
    """Other partitions need not say anything of it; unless records are not where their keys say."""
    mine, others = numbered(60), [content(("o", n)) for n in range(60)]
    begin, end = neighbourhood(30, WINDOW, 3, 0, 60)
    there, mixed = [mine[:30], [], others], [mine[0:30:2], mine[1:30:2], others]
    for place, places, verdict in ((0, there, "clean"), (None, there, "ambiguous"), (0, mixed, "ambiguous")):
        looked_at = Window(
            [SeenRecord(n, mine[n], place=place) for n in range(begin, end)], begin, end, 0, 60
        )
        tails = [tail(one) for one in places]
        every = dict.fromkeys([*mine, *others], 1)
        seam = find_seam(looked_at, tails, 30, complete=True, windows_with=every)
        assert (seam.verdict, seam.repeat) == (verdict, 30)


def test_an_older_record_that_looks_like_the_next_one_is_not_taken_for_it() -> None:
    """They lie in the tail of a place that gets little, from before the window, and are not seen there."""
    source = numbered(300)
    slow = [4, 12, 20, 28, 36, 44, 52, 60]
    for twin, older in enumerate((20, 28, 36, 52, 60)):
        source[150 + twin] = source[older]
    places = [[source[n] for n in slow], [source[n] for n in range(150) if n not in slow]]
    looked_at = window(source, 150, places=2)
    assert looked_at.start > max(slow)
    seam = find_seam(looked_at, [tail(place) for place in places], 150)
    assert (seam.verdict, seam.repeat, seam.lose) == ("ambiguous", 150, 155)


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_javas(key: bytes, hashed: int) -> None:
    """The values of Kafka's own test (UtilsTest.testMurmur2)."""
    assert murmur2(key) == hashed & 0xFFFFFFFF


@given(st.binary(max_size=40), st.integers(1, 50))
def test_keys_choose_as_producers_let_them(key: bytes, partitions: int) -> None:
    assert partition_of(key, partitions, "murmur2") == java(key, partitions)
    assert partition_of(key, partitions, "fnv1a") == sarama(key, partitions)
