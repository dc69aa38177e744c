"""Names and places of routes, and records that would come back."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.route import BY_KEY, ClusterTopic, Placement
from causeway.planning.rules.loops import way
from causeway.planning.rules.naming import alike, destination_name
from causeway.planning.rules.partitioning import has_place, needed, place_of, wished
from causeway.planning.rules.selection import select
from causeway.rules.provenance import HEADER, comes_from, marked

names = st.text("ab._-", min_size=1, max_size=8)
affixes = st.text("ab._-", max_size=4)
few = st.integers(1, 12)


@given(names, affixes, affixes, st.dictionaries(names, names, max_size=3))
def test_a_name_has_its_affixes_once_unless_it_is_mapped(
    topic: str, prefix: str, suffix: str, rename: dict[str, str]
) -> None:
    name = destination_name(topic, prefix, suffix, rename)
    if topic in rename:
        assert name == rename[topic]
        return
    assert name.startswith(prefix)
    assert name.endswith(suffix)
    assert topic in name
    # Replicating the result again changes nothing: no dc1_dc1_.
    assert destination_name(name, prefix, suffix, {}) == name
    assert len(name) <= len(prefix) + len(topic) + len(suffix)


def test_a_map_overrides_prefix_and_suffix() -> None:
    rename = {"orders": "bestellingen"}
    assert destination_name("orders", "eu.", ".v1", rename) == "bestellingen"
    assert destination_name("payments", "eu.", ".v1", rename) == "eu.payments.v1"


@given(st.sets(names, max_size=8), affixes, affixes)
def test_different_topics_without_the_affixes_get_different_names(
    topics: set[str], prefix: str, suffix: str
) -> None:
    plain = {name for name in topics if not name.startswith(prefix) or not prefix}
    plain = {name for name in plain if not (prefix + name).endswith(suffix) or not suffix}
    assert len({destination_name(name, prefix, suffix, {}) for name in plain}) == len(plain)


placements = st.one_of(
    st.just(Placement()),
    st.just(Placement(by_key=True)),
    st.integers(0, 9).map(lambda number: Placement(fixed=number)),
    st.permutations(range(12)).map(lambda dests: Placement(pairs=tuple(enumerate(dests)))),
)


@given(placements, few)
def test_every_partition_has_a_place_if_there_are_enough(placement: Placement, partitions: int) -> None:
    assert 1 <= needed(placement, partitions) <= wished(placement, partitions)
    there = needed(placement, partitions)
    places = [place_of(placement, number, there) for number in range(partitions)]
    assert all(place == BY_KEY or 0 <= place < there for place in places)
    # More partitions than needed move nothing.
    assert places == [place_of(placement, number, there + 5) for number in range(partitions)]
    if placement == Placement():
        assert places == list(range(partitions))
    if placement.pairs:
        assert len(set(places)) == partitions
        assert places == [dest for _, dest in placement.pairs[:partitions]]
    if placement.fixed is not None:
        assert set(places) == {placement.fixed}


@given(placements, few, few)
def test_partitions_that_do_not_exist_are_refused_or_folded_by_modulo(
    placement: Placement, partitions: int, there: int
) -> None:
    folding = Placement(placement.by_key, placement.fixed, placement.pairs, modulo=True)
    assert needed(folding, partitions) == 1
    for number in range(partitions):
        folded = place_of(folding, number, there)
        try:
            place = place_of(placement, number, there)
        except ValueError as error:
            wanted = re.fullmatch(r"partition (\d+) does not exist, there are (\d+)", str(error))
            assert wanted is not None
            assert int(wanted[1]) >= there
            assert folded == int(wanted[1]) % there
        else:
            assert folded == place == place_of(placement, number, 100)


def test_partitions_that_a_map_does_not_name_stay_where_they_are() -> None:
    placement = Placement(pairs=((0, 3), (2, 1)))
    assert [place_of(placement, number, 4) for number in range(4)] == [3, 1, 1, 3]


spots = st.builds(ClusterTopic, st.sampled_from("AB"), st.sampled_from("tuv"))


@given(st.lists(st.tuples(spots, spots), max_size=8), spots, spots)
def test_a_path_follows_the_edges(
    edges: list[tuple[ClusterTopic, ClusterTopic]], start: ClusterTopic, end: ClusterTopic
) -> None:
    path = way(edges, start, end)
    reachable, size = {start}, 0
    while len(reachable) != size:
        size = len(reachable)
        reachable |= {there for here, there in edges if here in reachable}
    assert bool(path) == (end in reachable)
    if path:
        assert (path[0], path[-1]) == (start, end)
        assert all(step in edges for step in pairwise(path))


headers = st.lists(
    st.tuples(st.sampled_from(["a", "b", HEADER]), st.none() | st.binary(max_size=3)), max_size=4
)


@given(st.none() | headers, st.binary(max_size=3), st.binary(max_size=3))
def test_a_provenance_mark_is_set_once_and_read_back(
    before: list[tuple[str, bytes | None]] | None, origin: bytes, other: bytes
) -> None:
    after = marked(before, origin)
    assert list(after)[: len(before or [])] == list(before or [])
    assert list(marked(after, other)) == list(after)
    if not any(name == HEADER for name, _ in before or []):
        assert comes_from(after, origin)
        assert comes_from(after, other) == (other == origin)
    assert not comes_from(None, origin)


@pytest.mark.parametrize(
    ("entries", "exclude", "chosen"),
    [
        ([".*"], [], ["a.b", "axb", "c"]),
        ([".*"], ["a.b"], ["axb", "c"]),  # a name is no pattern
        ([".*"], ["a\\.b|c"], ["axb"]),
        (["c", "__internal"], [], ["__internal", "c"]),
        (["c", "__internal"], ["__.*"], ["c"]),
    ],
)
def test_excluded_topics_are_not_chosen(entries: list[str], exclude: list[str], chosen: list[str]) -> None:
    assert select(["a.b", "axb", "c", "__internal"], entries, exclude) == chosen


@given(placements, st.booleans(), few, few)
def test_a_partition_has_a_place_or_none_is_given(
    placement: Placement, modulo: bool, partition: int, there: int
) -> None:
    placement = replace(placement, modulo=modulo)
    if has_place(placement, partition, there):
        assert place_of(placement, partition, there) in (BY_KEY, *range(there))
    else:
        with pytest.raises(ValueError, match="does not exist"):
            place_of(placement, partition, there)


@given(st.lists(names, unique=True, max_size=8))
def test_names_that_differ_only_in_dots_and_underscores_are_found(topics: list[str]) -> None:
    collisions = alike(topics)
    left = [name.replace(".", "_") for name in topics if name not in collisions]
    assert len(set(left)) == len(left)
    for name, other in collisions.items():
        assert topics.index(other) < topics.index(name)
        assert other.replace(".", "_") == name.replace(".", "_")
