"""A source partition has one shard, always the same, and a topic's partitions spread evenly."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.position import SourcePartition
from causeway.rules.sharding import VERSION, default_shards, shard_of

names = st.text(min_size=1, max_size=40)
counts = st.integers(1, 200)


@given(names, names, st.integers(0, 100_000), counts)
def test_every_partition_has_a_shard_between_one_and_the_count(
    cluster: str, topic: str, partition: int, shards: int
) -> None:
    assert 1 <= shard_of(SourcePartition(cluster, topic, partition), shards) <= shards


@given(names, names, st.integers(1, 300), counts)
def test_the_partitions_of_a_topic_spread_evenly(
    cluster: str, topic: str, partitions: int, shards: int
) -> None:
    load = Counter(shard_of(SourcePartition(cluster, topic, p), shards) for p in range(partitions))
    sizes = [load[shard] for shard in range(1, shards + 1)]
    assert max(sizes) - min(sizes) <= 1


def test_topics_do_not_all_begin_with_the_same_shard() -> None:
    """Otherwise one shard would serve all of a hundred topics with one partition."""
    load = Counter(shard_of(SourcePartition("cluster", f"topic-{i}", 0), 4) for i in range(400))
    assert min(load[shard] for shard in (1, 2, 3, 4)) > 50


@given(names.filter(lambda name: "\0" not in name), names.filter(lambda name: "\0" not in name))
def test_cluster_and_topic_names_do_not_collide(cluster: str, topic: str) -> None:
    """The same letters, split elsewhere, are another topic: two pairs of names must not collide."""
    whole = cluster + topic
    cuts = range(len(whole) + 1)
    homes = {shard_of(SourcePartition(whole[:cut], whole[cut:], 0), 1 << 60) for cut in cuts}
    assert len(homes) == len(cuts)


PINNED = [
    ("Mk3OEYBSD34fcwNTJENDM2", "orders", 0, 1, 1),
    ("Mk3OEYBSD34fcwNTJENDM2", "orders", 0, 4, 2),
    ("Mk3OEYBSD34fcwNTJENDM2", "orders", 1, 4, 3),
    ("Mk3OEYBSD34fcwNTJENDM2", "orders", 7, 16, 1),
    ("Mk3OEYBSD34fcwNTJENDM2", "payments.eu", 0, 16, 15),
    ("paris", "orders", 0, 16, 6),
    ("paris", "größen", 12, 1000, 230),
]
"""The shards of partitions in existing ledgers. A function that returns others needs a new VERSION,
and a new generation of every ledger, which moves its positions: change these values only with both."""


@pytest.mark.parametrize(("cluster", "topic", "partition", "shards", "home"), PINNED)
def test_shards_that_existing_ledgers_rely_on(
    cluster: str, topic: str, partition: int, shards: int, home: int
) -> None:
    assert VERSION == 1
    assert shard_of(SourcePartition(cluster, topic, partition), shards) == home


@given(st.integers(-5, 500), st.integers(0, 10_000))
def test_as_many_shards_as_cores_but_never_more_than_partitions(cores: int, partitions: int) -> None:
    shards = default_shards(cores, partitions)
    assert shards >= 1
    assert shards <= max(1, cores)
    assert shards <= max(1, partitions)
    if cores >= 1 and partitions >= 1:
        assert shards in (cores, partitions)
