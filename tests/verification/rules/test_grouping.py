"""Which source partitions are compared with a place of their own, and which as a pool."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from causeway.core.pair import Pair
from causeway.core.pool import Pool
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.route import BY_KEY
from causeway.verification.rules.grouping import PlaceBounds, group_pairs
from causeway.verification.rules.pairing import Bounds, pair_of

BOUNDS = {(topic, number): PlaceBounds(0, 100) for topic in ("all", "other") for number in range(4)}


def position(number: int, place: int, topic: str = "all", **changed: object) -> Position:
    made = Position(
        source=SourcePartition("id", "orders", number),
        topic_id="here",
        start=0,
        offset=50,
        epoch=-1,
        place=Place(topic, "there", place),
        place_start=0,
        place_end=60 if place != BY_KEY else -1,
        generation=1,
        at=0,
        tally=Tally(delivered=50),
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def pair(at: Position, **bounds: object) -> Pair:
    seen = replace(Bounds("here", 0, 50, at.place.topic_id, 0, 100, 50), **bounds)  # type: ignore[arg-type]
    return pair_of(at.source, at, seen, compacted=False, timestamps=True)


def shape(pool: Pool) -> tuple[list[int], list[int]]:
    return [member.source.partition for member in pool.members], [place.partition for place in pool.places]


def test_places_of_their_own_are_pairs_whatever_their_numbers() -> None:
    pairs = [pair(position(0, 3)), pair(position(1, 0)), pair(position(2, 0, "other"))]

    assert group_pairs(pairs, [], BOUNDS) == (pairs, [])


def test_partitions_that_share_a_place_are_a_pool_and_no_others() -> None:
    pairs = [pair(position(number, number % 2)) for number in range(3)]

    alone, pools = group_pairs(pairs, [], BOUNDS)

    assert alone == [pairs[1]]
    assert list(map(shape, pools)) == [([0, 2], [0])]


def test_placement_by_key_connects_all_partitions_of_the_topic() -> None:
    pairs = [pair(position(0, 2)), pair(position(1, BY_KEY)), pair(position(2, 2, "other"))]

    alone, pools = group_pairs(pairs, [], BOUNDS)

    assert alone == [pairs[2]]
    assert list(map(shape, pools)) == [([0, 1], [0, 1, 2, 3])]


def test_a_place_with_fewer_records_than_were_delivered_was_not_the_only_one() -> None:
    moved = pair(position(0, 1, place_start=90, place_end=100))

    alone, [pool] = group_pairs([moved], [], BOUNDS)

    assert alone == []
    assert shape(pool) == ([0], [0, 1, 2, 3])
    assert moved.place == Place("all", "there", BY_KEY)
    assert "another partition" in moved.notes[0]
    just_moved = pair(position(0, 1, place_start=90, place_end=-1))
    assert just_moved.place == moved.place


def test_sources_that_are_not_compared_make_a_pool_of_the_place_they_share() -> None:
    mine = pair(position(0, 1))
    others = [position(7, 1), position(8, 2), position(9, 1, tally=Tally(delivered=4))]

    alone, [pool] = group_pairs([mine], others, BOUNDS)

    assert alone == []
    assert (shape(pool), pool.foreign_records) == (([0], [1]), 54)


def test_without_a_place_there_is_nothing_to_share() -> None:
    never = [
        pair_of(SourcePartition("id", "orders", n), None, Bounds("x", 0, 5, None, 0, 0, 5), compacted=False,
                timestamps=True)
        for n in range(2)
    ]  # fmt: skip

    assert group_pairs(never, [position(7, BY_KEY)], BOUNDS) == (never, [])


def test_a_pool_begins_where_its_first_member_began() -> None:
    bounds = {**BOUNDS, ("all", 1): PlaceBounds(30, 100)}
    first = pair(position(0, 1, place_start=40, place_end=100), place_log_start=30)
    two = pair(position(1, 1, place_start=10, place_end=100), place_log_start=30)
    late = position(2, 1, place_start=5, place_end=100)

    _, [pool] = group_pairs([first, two], [], bounds)
    _, [with_others] = group_pairs([first, two], [late], bounds)
    _, [by_key] = group_pairs([first, pair(position(3, BY_KEY))], [], bounds)

    assert [(place.start, place.end, place.expired) for place in pool.places] == [(30, 100, 20)]
    assert with_others.places[0].expired == 25
    assert [(place.start, place.expired) for place in by_key.places] == [(0, 0), (30, 30), (0, 0), (0, 0)]


def test_a_pool_begins_where_another_tool_stopped() -> None:
    spread = pair(position(0, BY_KEY))
    bounds = {**BOUNDS, ("all", 2): PlaceBounds(30, 100)}

    _, [pool] = group_pairs([spread], [], bounds, adopted_ends={("all", 1): 12, ("all", 2): 20})

    assert [(place.start, place.expired) for place in pool.places] == [(0, 0), (12, 0), (30, 10), (0, 0)]


def test_earlier_records_matter_if_the_ledger_does_not_have_the_beginning() -> None:
    shared = [pair(position(0, 1)), pair(position(1, 1))]
    spread = [pair(position(0, BY_KEY)), pair(position(1, BY_KEY))]

    (_, [known]), (_, [unknown]) = (
        group_pairs(pairs, [], BOUNDS, preexisting={"all"}) for pairs in (shared, spread)
    )

    assert (known.preexisting, unknown.preexisting) == (False, True)


def test_a_compacted_topic_of_which_not_all_is_replicated_is_a_pool_by_itself() -> None:
    plain = pair(position(0, 1))
    compacted = replace(plain, compacted=True)

    assert group_pairs([compacted], [], BOUNDS)[1] == []
    assert group_pairs([plain], [], BOUNDS, omits_records=True)[1] == []
    assert len(group_pairs([compacted], [], BOUNDS, omits_records=True)[1]) == 1


@given(st.lists(st.tuples(st.sampled_from(["all", "other"]), st.integers(-1, 3)), max_size=8))
def test_every_source_partition_is_compared_once_and_no_place_twice(homes: list[tuple[str, int]]) -> None:
    pairs = [pair(position(number, place, topic)) for number, (topic, place) in enumerate(homes)]

    alone, pools = group_pairs(pairs, [], BOUNDS)

    members = [pair.source.partition for pair in alone]
    spots = [pair.place and (pair.place.topic, pair.place.partition) for pair in alone]
    for pool in pools:
        members += shape(pool)[0]
        spots += [(pool.topic, place.partition) for place in pool.places]
        assert all(any(pool.feeds(member, place) for member in pool.members) for place in pool.places)
    assert sorted(members) == list(range(len(homes)))
    assert len(spots) == len(set(spots))
