"""A pool is compared as a whole: what is lost, repeated, changed or out of order in it is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.pair import Pair
from causeway.core.plural import counted
from causeway.core.pool import Pool, PoolFindings, PoolPlace
from causeway.core.position import Place, SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.verify_report import DifferenceKind
from causeway.verification.rules.allowed_differences import OmittedKeys
from causeway.verification.rules.fingerprints import (
    REQUIRED,
    RowBuilder,
    Rows,
    key_words,
    latest,
    match,
    out_of_order,
)
from causeway.verification.rules.pool_compare import compare_rows

ALL = 1 << 60
Record = tuple[int, str]  # an offset, and a content; the part before ":" is the key


def digest(content: str) -> bytes:
    return blake2b(content.encode(), digest_size=16).digest()


def key(content: str) -> str:
    return content.partition(":")[0]


def rows(side: Sequence[Sequence[Record]], keyed: bool = False) -> Rows:
    builder = RowBuilder()
    for owner, records in enumerate(side):
        contents = [content for _, content in records]
        builder.add(
            owner,
            [offset for offset, _ in records],
            [digest(content) for content in contents],
            [digest(key(content)) for content in contents] if keyed else (),
            [content.endswith(":") for content in contents] if keyed else (),
        )
    return builder.build()


@dataclass
class Stage:
    """Source partitions and places, and the pool that connects them."""

    source: list[list[Record]]
    destination: list[list[Record]]
    pool: Pool

    def compare(self, omitted: OmittedKeys | None = None, **how: int) -> PoolFindings:
        keyed = self.pool.compacted
        return compare_rows(
            self.pool, rows(self.source, keyed), rows(self.destination, keyed), omitted=omitted, **how
        )

    def member(self, number: int, **changed: object) -> None:
        members = list(self.pool.members)
        members[number] = replace(members[number], **changed)  # type: ignore[arg-type]
        self.pool = replace(self.pool, members=tuple(members))

    def place(self, number: int, **changed: object) -> None:
        places = list(self.pool.places)
        places[number] = replace(places[number], **changed)  # type: ignore[arg-type]
        self.pool = replace(self.pool, places=tuple(places))


def member(number: int, place: int = BY_KEY) -> Pair:
    return Pair(
        source=SourcePartition("id", "orders", number),
        source_from=0,
        position=ALL,
        end=ALL,
        source_to=ALL,
        place=Place("all", "there", place),
        place_from=0,
        place_to=0,
        compacted=False,
        timestamps=True,
    )


def stage(source: list[list[Record]], destination: list[list[Record]], **how: bool) -> Stage:
    pool = Pool(
        "all",
        tuple(member(number) for number in range(len(source))),
        tuple(PoolPlace(number, 0, ALL) for number in range(len(destination))),
        **how,
    )
    return Stage(source, destination, pool)


def total(result: PoolFindings) -> dict[DifferenceKind, int]:
    counts: dict[DifferenceKind, int] = {}
    for findings in result.members:
        for kind, count in findings.counts.items():
            counts[kind] = counts.get(kind, 0) + count
    return counts


def seen(result: PoolFindings, kind: DifferenceKind) -> list[tuple[int, int | None, int | None, int | None]]:
    """Member, source offset, place and destination offset."""
    return [
        (number, at.source, at.partition, at.destination)
        for number, findings in enumerate(result.members)
        for at in findings.first.get(kind, ())
    ]


@st.composite
def pools(draw: st.DrawFn, repeating: bool = False) -> Stage:
    """Sources whose records a correct mirror spread by key, in any order."""
    count, places = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(0, 30), min_size=count, max_size=count))
    letters = st.sampled_from("abc" if repeating else "abcdefgh")
    source: list[list[Record]] = []
    for number, length in enumerate(lengths):
        tail = "" if repeating else f"{number}/"
        contents = [f"{draw(letters)}:{tail}{'x' if repeating else n}" for n in range(length)]
        source.append([(100 + 2 * n, content) for n, content in enumerate(contents)])
    destination: list[list[Record]] = [[] for _ in range(places)]
    left = [list(records) for records in source]
    for number in draw(st.permutations([n for n, length in enumerate(lengths) for _ in range(length)])):
        _, content = left[number].pop(0)
        home = destination[ord(content[0]) % places]
        home.append((10 + 3 * len(home), content))
    return stage(source, destination)


def some(data: st.DataObject, side: Sequence[Sequence[Record]]) -> tuple[int, int]:
    """A record, if there is one."""
    return data.draw(st.sampled_from([(n, at) for n, part in enumerate(side) for at in range(len(part))]))


holding = pools().filter(lambda made: any(made.source))


@given(st.booleans().flatmap(pools))
def test_the_records_of_a_correct_mirror_are_equal_in_any_order(made: Stage) -> None:
    result = made.compare()

    assert total(result) == {}
    assert [member.source_records for member in result.members] == [len(part) for part in made.source]
    assert sum(member.destination_records for member in result.members) == sum(map(len, made.source))


@given(holding, st.data())
def test_a_lost_record_is_missing_in_its_source_partition(made: Stage, data: st.DataObject) -> None:
    place, at = some(data, made.destination)
    _, content = made.destination[place].pop(at)

    result = made.compare()

    assert total(result) == {"missing": 1}
    [(number, offset, _, _)] = seen(result, "missing")
    assert (offset, content) in made.source[number]


@given(holding, st.data())
def test_a_repeated_record_names_its_original_and_the_place(made: Stage, data: st.DataObject) -> None:
    place, at = some(data, made.destination)
    to = data.draw(st.integers(0, len(made.destination) - 1))
    content = made.destination[place][at][1]
    made.destination[to].append((1_000, content))

    result = made.compare()

    assert total(result) == {"duplicated": 1}
    [(number, offset, where, copy)] = seen(result, "duplicated")
    assert (offset, content) in made.source[number]
    assert where is not None
    assert (copy, content) in made.destination[where]


@given(holding, st.data())
def test_a_changed_record_is_reported_at_both_places(made: Stage, data: st.DataObject) -> None:
    place, at = some(data, made.destination)
    offset, content = made.destination[place][at]
    made.destination[place][at] = (offset, "changed")

    result = made.compare()

    assert total(result) == {"changed": 1}
    [(number, original, where, there)] = seen(result, "changed")
    assert (original, content) in made.source[number]
    assert (where, there) == (place, offset)


@given(holding, st.data())
def test_swapped_records_of_one_source_are_out_of_order_those_of_two_are_not(
    made: Stage, data: st.DataObject
) -> None:
    place, at = some(data, made.destination)
    here = made.destination[place]
    other = data.draw(st.integers(0, len(here) - 1))
    (low, first), (high, second) = here[at], here[other]
    here[at], here[other] = (low, second), (high, first)

    result = made.compare()

    arrived = [content for _, content in here]
    orders = [[content for _, content in part if content in arrived] for part in made.source]
    kept = all([content for content in arrived if content in order] == order for order in orders)
    assert set(total(result)) == (set() if kept else {"out_of_order"})
    for number, offset, where, copy in seen(result, "out_of_order"):
        assert where is not None
        content = dict(made.source[number])[offset or 0]
        assert (copy, content) in made.destination[where]


@given(st.booleans().flatmap(pools), st.data())
def test_a_foreign_record_is_unexpected(made: Stage, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(made.destination) - 1))
    made.destination[place].append((5_000, "foreign"))

    result = made.compare()

    assert total(result) == {"unexpected": 1}
    assert seen(result, "unexpected") == [(0, None, place, 5_000)]


@given(st.booleans().flatmap(pools), st.data())
def test_every_record_is_counted_once(made: Stage, data: st.DataObject) -> None:
    """Records are lost and foreign ones appear: the counts balance, and only equal sides are equal."""
    kept = [[record for record in part if data.draw(st.booleans())] for part in made.destination]
    extra = data.draw(st.lists(st.tuples(st.integers(0, len(kept) - 1), st.sampled_from("abxyz"))))
    for place, content in extra:
        kept[place].append((10_000 + len(kept[place]), f"{content}:x"))
    made.destination = kept

    result = made.compare()

    counts = total(result)
    arrived = sum(member.destination_records for member in result.members)
    assert [member.source_records for member in result.members] == [len(part) for part in made.source]
    assert arrived == sum(map(len, kept))
    gone = sum(map(len, made.source)) - arrived
    surplus = counts.get("duplicated", 0) + counts.get("unexpected", 0)
    assert counts.get("missing", 0) - surplus == gone
    here = sorted(content for part in made.source for _, content in part)
    there = sorted(content for part in kept for _, content in part)
    assert bool(set(counts) - {"out_of_order"}) == (here != there)


@given(holding, st.data())
def test_records_after_the_position_are_lagging_or_replicated_meanwhile(
    made: Stage, data: st.DataObject
) -> None:
    number, at = some(data, made.source)
    position = made.source[number][at][0]
    made.member(number, position=position)
    late = [content for _, content in made.source[number][at:]]
    gone = data.draw(st.integers(0, len(late)))
    for part in made.destination:
        part[:] = [record for record in part if record[1] not in late[gone:]]

    result = made.compare()

    assert total(result) == ({"lagging": len(late) - gone} if gone < len(late) else {})
    made.member(number, end=position)  # nothing after the captured end is required
    assert total(made.compare()) == {}


def test_identical_records_that_are_required_come_before_those_that_are_lagging() -> None:
    made = stage([[(0, "x")], [(0, "x")]], [[(0, "x")]])
    made.member(0, position=0)

    result = made.compare()

    assert (result.members[0].counts, result.members[1].counts) == ({"lagging": 1}, {})


@given(holding, st.data())
def test_originals_that_retention_deleted_are_excused_and_no_others(made: Stage, data: st.DataObject) -> None:
    number, at = some(data, made.source)
    made.member(number, source_expired=made.source[number][at][0] + 1, delivered=len(made.source[number]))
    made.source[number] = made.source[number][at + 1 :]

    result = made.compare()

    assert total(result) == {}
    assert sum(member.expired_on_source for member in result.members) == at + 1
    made.destination[0].insert(0, (0, "foreign"))
    assert sum(total(made.compare()).values()) == 1


@given(holding, st.data())
def test_copies_that_retention_deleted_are_excused(made: Stage, data: st.DataObject) -> None:
    place, at = some(data, made.destination)
    start = made.destination[place][at][0] + 1
    made.place(place, start=start, expired=start)
    made.destination[place] = made.destination[place][at + 1 :]

    result = made.compare()

    assert total(result) == {}
    assert sum(member.expired_on_destination for member in result.members) == at + 1


def test_a_record_that_is_lost_after_the_log_start_is_missing() -> None:
    records = [(n, f"a:{n}") for n in range(6)]
    made = stage([records], [[records[2], records[3], records[5]]])
    made.place(0, start=2, expired=2)

    result = made.compare()

    assert seen(result, "missing") == [(0, 4, None, None)]
    assert result.members[0].expired_on_destination == 2


def test_of_identical_records_retention_deleted_the_first() -> None:
    made = stage([[(0, "x"), (1, "x"), (2, "y")]], [[(5, "x"), (6, "y")]])
    made.place(0, start=5, expired=5)

    result = made.compare()

    assert total(result) == {}
    assert result.members[0].expired_on_destination == 1


@pytest.mark.parametrize(("at", "there"), [(5, False), (15, True), (25, True), (35, False)])
def test_a_lost_record_counts_as_changed_only_between_its_neighbours(at: int, there: bool) -> None:
    records = [(10 * n, f"a:{n}") for n in range(5)]
    arrived = [record for record in records if record[0] != 20]
    made = stage([records], [sorted([*arrived, (at, "foreign")])])

    assert total(made.compare()) == ({"changed": 1} if there else {"missing": 1, "unexpected": 1})


def test_a_foreign_record_in_another_place_is_not_the_changed_copy_of_a_lost_one() -> None:
    made = stage([[(0, "a")], [(0, "b")]], [[], [(0, "b"), (1, "foreign")]])
    made.pool = replace(made.pool, members=(member(0, place=0), made.pool.members[1]))

    assert [member.counts for member in made.compare().members] == [{"missing": 1}, {"unexpected": 1}]


@given(pools(), st.data())
def test_records_from_before_the_mirror_are_a_note_others_are_not(made: Stage, data: st.DataObject) -> None:
    before = data.draw(st.lists(st.integers(0, len(made.destination) - 1), max_size=8))
    for n, place in enumerate(before):
        made.destination[place].insert(0, (-1 - n, f"old{n}"))
    made.pool = replace(made.pool, preexisting=True)

    result = made.compare()

    assert total(result) == {}
    assert len(result.notes) == bool(before)
    assert all(
        note.startswith(f"not compared: {counted(len(before), 'record')} before") for note in result.notes
    )
    made.pool = replace(made.pool, preexisting=False)
    assert total(made.compare()).get("unexpected", 0) == len(before)


def test_a_record_that_is_identical_to_an_older_one_is_not_mistaken_for_it() -> None:
    made = stage([[(7, "x"), (8, "y")]], [[(0, "x"), (1, "old"), (2, "x"), (3, "y")]], preexisting=True)

    result = made.compare()

    assert total(result) == {}
    assert result.notes[0].startswith("not compared: 2 records before the first record of this mirror")


def test_records_of_sources_that_are_not_compared_are_excused_up_to_their_number() -> None:
    made = stage([[(0, "a")]], [[(0, "other"), (1, "a"), (2, "other too"), (3, "foreign")]])
    made.pool = replace(made.pool, foreign_records=2)

    result = made.compare()

    assert total(result) == {"unexpected": 1}
    assert result.notes == ("not compared: up to 2 records from sources that are not compared",)


def test_a_record_in_a_place_that_its_source_does_not_go_to_is_out_of_order() -> None:
    made = stage([[(0, "a"), (1, "b")], [(0, "c")]], [[(0, "a"), (1, "c")], [(0, "b")]])
    assert total(made.compare()) == {}

    made.pool = replace(made.pool, members=(member(0, place=0), made.pool.members[1]))

    assert seen(made.compare(), "out_of_order") == [(0, 1, 1, 0)]


def test_identical_records_in_several_partitions_are_counted_and_noted() -> None:
    made = stage([[(0, "x"), (1, "a")], [(0, "x")]], [[(0, "x"), (1, "a"), (2, "x")]])

    result = made.compare()

    assert total(result) == {}
    assert result.notes[0].startswith("2 records are identical to others in other partitions")


def test_differences_beyond_the_limit_are_marked_as_approximate() -> None:
    made = stage([[(n, f"a:{n}") for n in range(9)]], [[(n, f"b:{n}") for n in range(9)]])

    result = made.compare(limit=4, keep=3)

    assert total(result) == {"changed": 4, "missing": 5, "unexpected": 5}
    assert [len(seen(result, kind)) for kind in ("changed", "missing", "unexpected")] == [3, 3, 3]
    assert result.members[0].approximate
    assert not made.compare().members[0].approximate


@st.composite
def compacted_pools(draw: st.DrawFn) -> Stage:
    """Both sides after compaction removed some replaced records, each side at its own time."""
    made = draw(pools())
    made.pool = replace(
        made.pool, members=tuple(replace(member, compacted=True) for member in made.pool.members)
    )
    for side in (made.source, made.destination):
        for part in side:
            newest = {key(content): offset for offset, content in part}
            part[:] = [
                record for record in part if record[0] == newest[key(record[1])] or draw(st.booleans())
            ]
    return made


@given(compacted_pools())
def test_records_that_compaction_removed_on_either_side_are_no_difference(made: Stage) -> None:
    assert total(made.compare()) == {}


@given(compacted_pools().filter(lambda made: any(made.destination)), st.data())
def test_the_latest_record_of_a_key_is_required_in_a_compacted_topic(
    made: Stage, data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from([key(content) for part in made.destination for _, content in part]))
    for part in made.destination:
        part[:] = [record for record in part if key(record[1]) != gone]

    result = made.compare()

    assert set(total(result)) == {"missing"}
    for number, offset, _, _ in seen(result, "missing"):
        assert key(dict(made.source[number])[offset or 0]) == gone


def test_a_tombstone_equals_a_deleted_key_and_a_stale_record_does_not() -> None:
    made = stage([[(0, "a:1"), (1, "a:")]], [[(0, "b:1")]])
    made.member(0, compacted=True)
    assert total(made.compare()) == {"unexpected": 1}  # b was never written

    omitted = OmittedKeys(source=key_words([digest("b")]))  # but b was written, and not replicated
    result = made.compare(omitted)
    assert total(result) == {}
    assert result.notes[0].startswith("not compared: 3 records on one side only")


@given(st.booleans().flatmap(pools), st.integers(1, 40), st.booleans(), st.booleans())
def test_rows_in_several_heaps_are_matched_in_the_same_way(
    made: Stage, at_once: int, newest_source: bool, newest_destination: bool
) -> None:
    source, destination = rows(made.source), rows([part[1:] for part in made.destination])
    states = np.full(len(source), REQUIRED, np.uint8)
    how = {"newest_source": newest_source, "newest_destination": newest_destination}

    whole = match(source, states, destination, **how)
    heaps = match(source, states, destination, at_once=at_once, **how)

    for name in ("partners", "originals", "matched", "certain"):
        assert getattr(whole, name).tolist() == getattr(heaps, name).tolist()


@given(st.lists(st.integers(0, 30), unique=True))
def test_as_few_records_as_possible_are_out_of_order(values: list[int]) -> None:
    flags = out_of_order(np.array(values, np.int64))

    longest: list[int] = []  # by the length of the longest sequence that ends there
    for n, value in enumerate(values):
        longest.append(1 + max((longest[m] for m in range(n) if values[m] < value), default=0))
    kept = [value for value, moved in zip(values, flags, strict=True) if not moved]
    assert kept == sorted(kept)
    assert len(kept) == max(longest, default=0)


def test_latest_rows_of_keys_are_found_by_partition() -> None:
    made = rows([[(0, "a:1"), (1, "b:1"), (2, "a:2")], [(0, "a:3")], []], keyed=True)

    assert latest(made).tolist() == [False, True, True, True]
    assert latest(rows([])).tolist() == []


@pytest.mark.parametrize("compacted", [False, True])
def test_an_empty_pool_is_equal(compacted: bool) -> None:
    made = stage([[], []], [[]])
    made.member(0, compacted=compacted)

    assert total(made.compare()) == {}


def test_a_pool_and_its_findings_survive_json() -> None:
    made = stage([[(0, "a:1"), (1, "a:2")]], [[(0, "a:3")]], preexisting=True)
    result = made.compare()

    assert total(result) == {"missing": 2}
    assert result.notes
    assert Pool.from_json(made.pool.to_json()) == made.pool
    assert PoolFindings.from_json(result.to_json()) == result
