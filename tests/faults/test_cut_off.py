"""A source log that was cut off before the position and has grown beyond it again.

The last record seen tells: at its offset there may be a marker now, or an aborted record, which no consumer
ever gets. So it is not enough that no other record comes in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from faults.logs import cut_before, take_out
from support.records import end_offsets
from support.world import World

COUNT, CUT = 100, 50
COMPACTED = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(2**62)}  # the test takes out by itself


@pytest.fixture
def world(destination: EmbeddedCluster, tmp_path: Path) -> Iterator[World]:
    with EmbeddedCluster.start("cut", directory=tmp_path / "cut") as cluster:
        world = World(cluster, destination, tmp_path)
        yield world
        world.close()


@pytest.mark.parametrize("carrier", ["native", pytest.param("object", marks=pytest.mark.deep)])
def test_a_log_is_cut_off_where_the_last_record_seen_does_not_come(world: World, carrier: str) -> None:
    marker, aborted, at_end = (world.topic(name) for name in ("marker", "aborted", "at-end"))
    cut_compacted, compacted = (
        world.topic(name, config=COMPACTED) for name in ("cut-compacted", "compacted")
    )
    everything = (marker, aborted, at_end, cut_compacted, compacted)
    config = world.config(carrier=carrier)
    for topic in everything:
        for first, count in ((0, CUT), (CUT, COUNT - CUT - 1), (COUNT - 1, 1)):
            world.produce(topic, world.numbers(count, 1, first))
    world.carry_all(config)
    before = {topic: world.read(topic)[0] for topic in everything}

    world.produce(compacted, world.numbers(1, 1, COUNT - 1))  # with the key of the last record seen

    (broker,) = world.source.brokers
    broker.stop()
    for topic in everything:
        partition = broker.directory / "data" / f"{topic}-0"
        if topic == compacted:
            take_out(partition, COUNT - 1, COUNT - 1)
        else:
            cut_before(partition, CUT)
    broker.start()
    for topic in (marker, at_end, cut_compacted):
        world.produce(topic, world.numbers(COUNT - CUT - 1, 1, 1_000), transaction="commit")
    world.produce(aborted, world.numbers(COUNT, 1, 1_000), transaction="abort")
    for topic in (marker, aborted, cut_compacted, compacted):
        world.produce(topic, world.numbers(20, 1, 2_000))
    ends = {topic: end_offsets(world.servers["source"], topic, 1)[0] for topic in everything}
    assert (ends[at_end], ends[marker]) == (COUNT, COUNT + 20), "its marker is where the last record was"

    for _ in range(2):
        run = world.run(config, "--stop-at-end")
        assert run.wait() == 6, run.output
        stopped = {one.topic: one for one in world.ledger().stopped.values() if one.verdict}
        assert stopped.keys() == {marker, aborted, at_end, cut_compacted}, run.output
        assert {(one.verdict, one.expected) for one in stopped.values()} == {("truncated", COUNT)}
        assert f"{marker}[0] was truncated before offset {COUNT}" in run.output
        assert "causeway offsets skip --back" in run.output
        assert "Traceback" not in run.output

    for topic in stopped:
        assert world.read(topic)[0] == before[topic], "nothing of the other history was replicated"
    assert len(world.read(compacted)[0]) == COUNT + 21, "compaction took a record, and nothing else happened"
