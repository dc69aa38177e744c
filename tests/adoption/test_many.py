"""A takeover of very many partitions is one transaction, of records that the brokers accept."""

from __future__ import annotations

import pytest

from causeway.adoption.adopt import Adoption, AdoptionRow
from causeway.adoption.destination_topic import SearchResult
from causeway.adoption.resume_hints import AdoptOptions, Hint
from causeway.config import load
from causeway.core.handoff import Handoff, Window
from causeway.core.position import Place, SourcePartition
from causeway.core.task_order import Lane
from causeway.kafka.range_reader import Ending
from causeway.verification import destination_bounds
from support.world import World

PARTITIONS = 25_000


def test_25_000_partitions_are_adopted_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = [f"{world.mirror}-{n}-{'x' * 200}" for n in range(5)]
    world.topic("any")
    settings = load(world.config(), [])
    adoption = Adoption(settings, settings.mirrors[0], AdoptOptions("group", unchecked=True))
    names = [(topic, n) for topic in topics for n in range(PARTITIONS // len(topics))]
    unchecked = SearchResult(Window([], 0, 0, 0, 10**9), (), Handoff("unmatched", None, None, ""))
    adoption.rows = [
        AdoptionRow(
            Lane(SourcePartition("c", topic, n), "id", Place(topic, "id", n), None),
            Hint(10**8 + n, "committed"),
            unchecked,
            10**8 + n,
        )
        for topic, n in names
    ]
    adoption._endings = {spot: Ending([], 0, 10**8 + spot[1]) for spot in names}
    adoption._partitions = PARTITIONS
    monkeypatch.setattr(adoption, "_refuse_growth", lambda: None)

    adoption.write()

    image = world.ledger()
    assert {(source.topic, source.partition): at.offset for source, at in image.positions.items()} == {
        (topic, n): 10**8 + n for topic, n in names
    }
    assert destination_bounds.adopted_ends(image, names) == {spot: 10**8 + spot[1] for spot in names}
    assert sum(len(record.unchecked) for record in image.adopted.values()) == PARTITIONS
