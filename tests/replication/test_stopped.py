"""A stopped partition stays at its position: while the mirror runs, and in later slices."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.process import eventually
from support.records import Rec
from support.world import World, now_ms

BAD = b"bad"
RAISES = f"""\
class Filter:
    def __init__(self, config):
        pass

    def keep(self, record):
        assert record.value != {BAD!r}
        return True
"""


@pytest.mark.parametrize("why", ["filter", "timestamp"])
def test_a_stopped_partition_does_not_advance_to_the_end_after_its_record(
    world: World, tmp_path: Path, why: str
) -> None:
    """The client reports the end of a partition after its records, replicated or not."""
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(10, 2))
    (tmp_path / "raises.py").write_text(RAISES)
    filters = {"filters": [{"filter": "raises.py"}]} if why == "filter" else {}
    run = world.run(world.config([topic], slice="2s", heartbeat="500ms", **filters))
    eventually(lambda: world.carried() == 10, "the mirror has caught up", 90)

    stamp = now_ms() if why == "filter" else -1
    world.produce(topic, [(0, Rec(b"k", BAD, (), stamp)), *world.numbers(20, 2)])

    eventually(lambda: stopped_at(world), "the partition has stopped", 30)
    slice = world.ledger().heartbeats[0].slice
    eventually(lambda: world.ledger().heartbeats[0].slice >= slice + 3, "slices go by", 60)
    # A filter is called again in every slice: for a moment the partition does not count as stopped.
    eventually(lambda: stopped_at(world) == [(0, 5)], "it is still stopped", 30)
    (position,) = (position for source, position in world.ledger().positions.items() if source.partition == 0)
    assert (position.offset, position.tally.delivered, position.tally.holes) == (5, 5, 0)
    eventually(lambda: len(world.read(topic)[1]) == 15, "the other one continues", 30)
    assert len(world.read(topic)[0]) == 5
    assert run.stop() == 0, run.output


def stopped_at(world: World) -> list[tuple[int, int]]:
    return [(stopped.partition, stopped.expected) for stopped in world.ledger().stopped.values()]
