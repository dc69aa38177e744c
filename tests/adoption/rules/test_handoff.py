"""The handoff is where the old tool stopped, however it works; if that is uncertain, there is none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.adoption.rules.handoff import find_handoff, start_offset, window_around
from causeway.adoption.rules.hashing import murmur2, partition_of
from causeway.core.handoff import Accept, Handoff, SourceRecord, Tail, Window
from support.placing import java, sarama

WINDOW = 20


def content(value: object) -> bytes:
    return str(value).encode()


def window(
    digests: Sequence[bytes],
    hint: int,
    *,
    first: int = 0,
    size: int = WINDOW,
    places: int = 1,
    optional: Sequence[int] = (),
) -> Window:
    """The window of a source partition whose log begins at `first`."""
    end = first + len(digests)
    begin, until = window_around(hint, size, places, first, end)
    records = [SourceRecord(n, digests[n - first], n in optional) for n in range(begin, until)]
    return Window(records, begin, until, first, end)


def tail(digests: Sequence[bytes], size: int = WINDOW) -> Tail:
    """The tail of a destination partition from which no record was deleted."""
    return Tail(digests[-size:], max(0, len(digests) - size), len(digests))


def numbered(count: int) -> list[bytes]:
    return [content(n) for n in range(count)]


def handoff_of(
    digests: Sequence[bytes], copied: Sequence[bytes], hint: int, *, first: int = 0, size: int = WINDOW
) -> Handoff:
    """The handoff of one source partition with a destination partition of its own."""
    return find_handoff(
        window(digests, hint, first=first, size=size), [tail(copied, size)], hint, exclusive=True
    )


@dataclass
class Copy:
    """Source partitions, how much of each was copied, and the destination partitions in order."""

    sources: list[list[bytes]]
    copied: list[int]
    places: list[list[bytes]]
    hints: list[int]

    def handoffs(self, *, exclusive: bool = False) -> list[Handoff]:
        places = 1 if exclusive else len(self.places)
        windows = [
            window(digests, hint, places=places)
            for digests, hint in zip(self.sources, self.hints, strict=True)
        ]
        tails = [tail(place) for place in self.places]
        window_counts = Counter(
            digest for window in windows for digest in {seen.digest for seen in window.records}
        )
        complete = all(window.start == 0 for window in windows)
        if exclusive:
            return [
                find_handoff(window, [place], hint, exclusive=True)
                for window, place, hint in zip(windows, tails, self.hints, strict=True)
            ]
        return [
            find_handoff(window, tails, hint, complete=complete, window_counts=window_counts)
            for window, hint in zip(windows, self.hints, strict=True)
        ]


def copy_of(seed: int, contents: int | None, exclusive: bool) -> Copy:
    """A clean copy up to some offset of each source partition: order within a partition is kept.

    Every record is unique, or one of `contents` different contents.
    """
    draw = random.Random(seed)
    sources = []
    for number in range(draw.randint(1, 3)):
        count = draw.choice([0, 3, WINDOW, 3 * WINDOW, 6 * WINDOW])
        drawn = [draw.randrange(contents) if contents else (number, n) for n in range(count)]
        sources.append([content(number) for number in drawn])
    copied = [draw.randint(0, len(digests)) for digests in sources]
    hints = [max(0, at + draw.randint(-WINDOW, WINDOW)) for at in copied]
    places: list[list[bytes]] = [[] for _ in range(len(sources) if exclusive else draw.randint(1, 4))]
    pace = [draw.choice([1, 1, 10]) for _ in sources]  # a quiet partition's records are older
    upto = [0] * len(sources)
    while lagging := [n for n, at in enumerate(upto) if at < copied[n]]:
        number = draw.choices(lagging, [pace[n] for n in lagging])[0]
        place = number if exclusive else draw.randrange(len(places))
        places[place].append(sources[number][upto[number]])
        upto[number] += 1
    return Copy(sources, copied, places, hints)


def holds(handoff: Handoff, at: int) -> bool:
    """Whether the handoff's claims are correct."""
    if handoff.verdict in ("unmatched", "beyond_window"):
        return handoff.repeat_from is handoff.lose_from is None
    if handoff.verdict == "ambiguous":
        assert handoff.repeat_from is not None
        assert handoff.lose_from is not None
        return handoff.repeat_from <= at <= handoff.lose_from
    return (handoff.verdict, handoff.repeat_from, handoff.lose_from) == ("clean", at, at)


seeds = st.integers(0, 2**32)


def copies(contents: int | None = None, exclusive: bool = False) -> st.SearchStrategy[Copy]:
    """Generated from a seed: failures are not minimized."""
    return seeds.map(lambda seed: copy_of(seed, contents, exclusive))


often = settings(max_examples=1_000)  # with `no_cover`, as coverage would double their time


@pytest.mark.no_cover
@often
@given(copies(exclusive=True))
def test_with_a_partition_of_its_own_the_handoff_is_where_the_copy_ends(copy: Copy) -> None:
    """However wrong the hint is within the window, in either direction."""
    for at, handoff in zip(copy.copied, copy.handoffs(exclusive=True), strict=True):
        if at:
            assert (handoff.verdict, handoff.repeat_from, handoff.lose_from) == ("clean", at, at)


@pytest.mark.no_cover
@often
@given(copies())
def test_in_any_placement_the_handoff_is_where_the_copy_ends(copy: Copy) -> None:
    """Several partitions, mixed into several. If a quiet one is before the window, there is none."""
    seen_whole = all(len(place) <= WINDOW for place in copy.places)
    for at, handoff in zip(copy.copied, copy.handoffs(), strict=True):
        if at:
            assert handoff.verdict == "clean" or not seen_whole
            assert holds(handoff, at)


@pytest.mark.no_cover
@pytest.mark.parametrize("contents", [2, 6, 30, 100])
@often
@given(seed=seeds)
def test_contents_that_repeat_give_no_wrong_handoff(contents: int, seed: int) -> None:
    copy = copy_of(seed, contents, exclusive=True)
    for at, handoff in zip(copy.copied, copy.handoffs(exclusive=True), strict=True):
        assert not at or holds(handoff, at)


@pytest.mark.no_cover
@pytest.mark.parametrize("contents", [30, 100, 300])
@often
@given(seed=seeds)
def test_contents_that_repeat_give_no_wrong_handoff_in_any_placement(contents: int, seed: int) -> None:
    """Other partitions may have them too, and older copies may be in the tails."""
    copy = copy_of(seed, contents, exclusive=False)
    for at, handoff in zip(copy.copied, copy.handoffs(), strict=True):
        assert not at or holds(handoff, at)


def test_most_repeating_contents_are_identified_by_their_order() -> None:
    """Six contents in all: their sequence is found."""
    of_six = [copy_of(seed, 6, exclusive=True) for seed in range(200)]
    pairs = [pair for copy in of_six for pair in zip(copy.copied, copy.handoffs(exclusive=True), strict=True)]
    verdicts = Counter(handoff.verdict for at, handoff in pairs if at)
    assert verdicts["clean"] > 0.9 * verdicts.total()


@pytest.mark.parametrize("hint", range(40, 81, 5))
def test_a_hint_is_only_a_neighbourhood(hint: int) -> None:
    """Committed before the last produced record, or after it: the records decide."""
    assert handoff_of(numbered(200), numbered(60), hint).repeat_from == 60


def test_identical_contents_are_ambiguous_unless_the_hint_and_the_beginning_agree() -> None:
    same = [b"same"] * 60
    assert handoff_of(same, same[:15], hint=15).repeat_from == 15
    ambiguous = handoff_of(same, same[:15], hint=12)
    assert (ambiguous.verdict, ambiguous.repeat_from, ambiguous.lose_from) == ("ambiguous", 15, 52)
    assert handoff_of(same, same[:40], hint=40).verdict == "ambiguous"


def test_duplicated_records_do_not_count_as_the_next_ones() -> None:
    """A batch was sent again, in the second case only in part."""
    source = numbered(40)
    for again in (range(5, 9), range(5, 7)):
        handoff = handoff_of(source, [*source[:9], *(source[n] for n in again)], hint=5)
        assert (handoff.verdict, handoff.repeat_from) == ("clean", 9)


def test_duplicates_far_from_the_beginning_are_not_excluded() -> None:
    """There an older record could look like a repeated one."""
    source = numbered(200)
    whole = handoff_of(source, [*source[:109], *source[105:112]], hint=105)
    assert (whole.verdict, whole.repeat_from) == ("clean", 112)
    broken = handoff_of(source, [*source[:109], *source[102:107]], hint=105)
    assert holds(broken, 109)
    assert broken.verdict == "ambiguous"


def test_an_extra_copy_of_a_content_is_not_the_next_record_if_records_were_duplicated() -> None:
    source = [*numbered(5), b"x", content(6), b"x", *numbered(30)[8:]]
    alone = handoff_of(source, [*source[:7], *source[5:7]], hint=5)
    assert (alone.verdict, alone.repeat_from, alone.lose_from) == ("ambiguous", 7, 8)
    places = [[*source[0:6:2], source[6], source[6]], [*source[1:5:2], b"x", b"x"]]
    mixed = find_handoff(window(source, 5, places=2), [tail(place) for place in places], 5, complete=True)
    assert (mixed.verdict, mixed.repeat_from, mixed.lose_from) == ("ambiguous", 7, 8)


def test_a_lost_record_is_not_replaced_by_an_identical_one_after_the_handoff() -> None:
    source = [*numbered(6), b"x", content(7), content(8), b"x", *numbered(30)[10:]]
    handoff = handoff_of(source, [*source[:6], *source[7:10]], hint=10)
    assert (handoff.verdict, handoff.repeat_from, handoff.lose_from) == ("ambiguous", 9, 10)


def test_missing_records_are_named_and_the_operator_chooses() -> None:
    source = numbered(60)
    handoff = handoff_of(source, [*source[:20], *source[23:30]], hint=30)
    assert (handoff.verdict, handoff.repeat_from, handoff.lose_from) == ("incomplete", 20, 30)
    assert "missing on the destination: 3 records from offset 20 on" in handoff.what
    assert "later ones that it has: 7" in handoff.what
    source_window = window(source, 30)
    choices = {"": None, "repeat": 20, "lose": 30}
    for accept, offset in choices.items():
        assert start_offset(handoff, source_window, 30, accept=cast(Accept, accept), unchecked=True) == offset


def test_missing_records_are_named_in_any_placement() -> None:
    source = numbered(60)
    copied_records = [*source[:20], *source[23:30]]
    places = [copied_records[0::3], copied_records[1::3], copied_records[2::3]]
    handoff = find_handoff(window(source, 30, places=3), [tail(place) for place in places], 30)
    assert (handoff.verdict, handoff.repeat_from, handoff.lose_from) == ("incomplete", 20, 30)


def test_records_that_may_be_dropped_do_not_count_as_missing() -> None:
    """Aborted records, or those that a filter drops; the old tool may also have copied them."""
    source = numbered(60)
    dropped = [13, 17, 18, 29, 30, 31]
    source_window = window(source, 30, optional=dropped)
    without = [source[n] for n in range(29) if n not in dropped]
    assert find_handoff(source_window, [tail(without)], 30, exclusive=True).repeat_from == 29
    assert find_handoff(source_window, [tail(source[:31])], 30, exclusive=True).repeat_from == 31
    # After a dropped record comes a content that was there before.
    source[31] = source[15]
    source_window = window(source, 30, optional=[30])
    assert (
        find_handoff(source_window, [tail([*source[:30], source[31]])], 30, exclusive=True).repeat_from == 32
    )


def test_on_a_compacted_destination_no_record_counts_as_missing() -> None:
    source = numbered(60)
    kept = [source[n] for n in range(30) if n % 3 == 2]
    assert find_handoff(window(source, 30), [tail(kept)], 30, exclusive=True).verdict == "incomplete"
    assert (
        find_handoff(window(source, 30), [tail(kept)], 30, exclusive=True, compacted=True).repeat_from == 30
    )


def test_unexpected_records_after_the_handoff_are_named() -> None:
    source = numbered(200)
    for at in (30, 130):
        handoff = handoff_of(source, [*source[:at], b"stranger", b"another"], hint=at)
        assert (handoff.verdict, handoff.repeat_from, handoff.lose_from) == ("unexpected", at, at)
        assert "the destination ends with 2 records" in handoff.what
        assert start_offset(handoff, window(source, at), at, accept="", unchecked=True) is None


def test_a_destination_that_continues_after_the_window_is_not_cut_there() -> None:
    source = numbered(200)
    handoff = handoff_of(source, source[:50], hint=10)
    assert handoff.verdict == "beyond_window"
    assert start_offset(handoff, window(source, 10), 10, accept="lose", unchecked=False) is None
    assert handoff_of(source, source[:50], hint=10, size=40).repeat_from == 50


@pytest.mark.parametrize("exclusive", [True, False])
def test_other_contents_are_not_confirmed(exclusive: bool) -> None:
    source, source_window = numbered(60), window(numbered(60), 30)
    handoff = find_handoff(source_window, [tail([b"other"] * 30)], 30, exclusive=exclusive)
    assert (handoff.verdict, handoff.repeat_from, handoff.lose_from) == ("unmatched", None, None)
    assert start_offset(handoff, source_window, 30, accept="lose", unchecked=False) is None
    assert start_offset(handoff, source_window, 30, accept="", unchecked=True) == 30
    assert len(source) == source_window.log_end


def test_retention_after_the_hint_is_a_gap_unless_the_records_exist() -> None:
    source = numbered(60)
    gap = handoff_of(source, [content(-n) for n in range(1, 20)], hint=90, first=100)
    assert gap.verdict == "unmatched"
    assert "offsets 90…99 expired on the source" in gap.what
    assert start_offset(gap, window(source, 90, first=100), 90, accept="", unchecked=True) is None
    assert handoff_of(source, [content(-1), *source[:10]], hint=95, first=100).repeat_from == 110


def test_a_hint_after_the_log_end_is_not_used() -> None:
    source_window = window(numbered(60), 80)
    handoff = find_handoff(source_window, [tail([b"other"])], 80, exclusive=True)
    assert "the source ends at offset 60" in handoff.what
    assert start_offset(handoff, source_window, 80, accept="", unchecked=True) is None


def test_an_empty_destination_begins_with_the_log() -> None:
    nothing = [Tail([], 0, 0)]
    assert find_handoff(window(numbered(9), 0, first=3), nothing, 0).repeat_from == 3
    assert find_handoff(window(numbered(9), 12, first=3), nothing, 12, hinted=False).repeat_from == 12
    committed = find_handoff(window(numbered(9), 5, first=3), nothing, 5)
    assert (committed.verdict, committed.repeat_from) == ("clean", 3), (
        "no record exists, whatever was committed"
    )


def test_a_destination_whose_records_expired_confirms_nothing() -> None:
    assert find_handoff(window(numbered(9), 5), [Tail([], 7, 7)], 5, exclusive=True).verdict == "unmatched"


def test_an_empty_source_is_at_its_end() -> None:
    empty = window([], 40, first=40)
    assert find_handoff(empty, [tail(numbered(30))], 40, exclusive=True).repeat_from == 40
    assert find_handoff(empty, [tail(numbered(30))], 35, exclusive=True).verdict == "unmatched"


def test_a_quiet_partitions_record_may_be_before_the_tail() -> None:
    """Its last record is before the tail of its destination partition: it is not replicated again."""
    quiet, busy = [content(("q", n)) for n in range(8)], [content(("b", n)) for n in range(60)]
    places = [[*busy[:10], *quiet[:3], quiet[5], *busy[10:60]], [quiet[3], quiet[4]]]
    window_counts = dict.fromkeys([*quiet, *busy], 1)
    handoff = find_handoff(
        window(quiet, 6, places=2),
        [tail(place) for place in places],
        6,
        complete=True,
        window_counts=window_counts,
    )
    assert handoff.verdict == "ambiguous"
    assert holds(handoff, 6)


def test_keys_show_where_a_record_would_be() -> None:
    """Other partitions need not be compared; unless records are not in their keys' partitions."""
    mine, others = numbered(60), [content(("o", n)) for n in range(60)]
    begin, end = window_around(30, WINDOW, 3, 0, 60)
    there, mixed = [mine[:30], [], others], [mine[0:30:2], mine[1:30:2], others]
    for place, places, verdict in ((0, there, "clean"), (None, there, "ambiguous"), (0, mixed, "ambiguous")):
        source_window = Window(
            [SourceRecord(n, mine[n], place=place) for n in range(begin, end)], begin, end, 0, 60
        )
        tails = [tail(digests) for digests in places]
        every = dict.fromkeys([*mine, *others], 1)
        handoff = find_handoff(source_window, tails, 30, complete=True, window_counts=every)
        assert (handoff.verdict, handoff.repeat_from) == (verdict, 30)


def test_an_older_record_identical_to_the_next_one_does_not_count_as_it() -> None:
    """They are in the tail of a place with few records, from before the window."""
    source = numbered(300)
    slow = [4, 12, 20, 28, 36, 44, 52, 60]
    for twin, older in enumerate((20, 28, 36, 52, 60)):
        source[150 + twin] = source[older]
    places = [[source[n] for n in slow], [source[n] for n in range(150) if n not in slow]]
    source_window = window(source, 150, places=2)
    assert source_window.start > max(slow)
    handoff = find_handoff(source_window, [tail(place) for place in places], 150)
    assert (handoff.verdict, handoff.repeat_from, handoff.lose_from) == ("ambiguous", 150, 155)


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
def test_keys_choose_the_same_partition_as_in_producers(key: bytes, partitions: int) -> None:
    assert partition_of(key, partitions, "murmur2") == java(key, partitions)
    assert partition_of(key, partitions, "fnv1a") == sarama(key, partitions)
