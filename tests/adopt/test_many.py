"""A takeover of very many partitions is one transaction, of records that the brokers take."""

from __future__ import annotations

import pytest

from causeway.config import load
from causeway.kafka.tails import Ending
from causeway.mirror import grounds
from causeway.mirror.adopt import Adoption, Row
from causeway.mirror.cross_check import Found
from causeway.mirror.hints import Asked, Hint
from causeway.model.order import Lane
from causeway.model.position import Place, SourcePartition
from causeway.model.seam import Seam, Window
from support.world import World

PARTITIONS = 25_000


def test_25_000_partitions_are_adopted_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = [f"{world.mirror}-{n}-{'x' * 200}" for n in range(5)]
    world.topic("any")
    settings = load(world.config(), [])
    adoption = Adoption(settings, settings.mirrors[0], Asked("group", unchecked=True))
    names = [(topic, n) for topic in topics for n in range(PARTITIONS // len(topics))]
    unchecked = Found(Window([], 0, 0, 0, 10**9), (), Seam("unmatched", None, None, ""))
    adoption.rows = [
        Row(
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
    assert {(one.topic, one.partition): at.offset for one, at in image.positions.items()} == {
        (topic, n): 10**8 + n for topic, n in names
    }
    assert grounds.adopted(image, names) == {spot: 10**8 + spot[1] for spot in names}
    assert sum(len(record.unchecked) for record in image.adopted.values()) == PARTITIONS
