"""A source whose disk flipped a bit: the batch and all after it is not replicated, and that is reported.

A client that reads such a batch continues somewhere inside it, and takes what it finds there for records.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from causeway.core.ledger_record import Stopped
from faults.logs import Where, flip
from support.process import Causeway
from support.verifying import run_verify
from support.world import World

BAD, FIRST, LAST = 2, 20, 29  # the batch that is damaged, of five with ten records each
CASES = [
    pytest.param("native", "none", "records"),
    pytest.param("object", "lz4", "records", marks=pytest.mark.deep),
    pytest.param("native", "zstd", "records", marks=pytest.mark.deep),
    pytest.param("object", "none", "checksum", marks=pytest.mark.deep),
]


def filled(world: World, codec: str = "none") -> str:
    """A topic with five batches in its first partition."""
    topic = world.topic("t", 2)
    for number in range(5):
        world.produce(topic, world.numbers(10, 1, 10 * number, 100), **{"compression.type": codec})
    world.produce(topic, [(1, rec) for _, rec in world.numbers(30)])
    return topic


def turn(world: World, topic: str, where: Where) -> None:
    (broker,) = world.source.brokers
    found = flip(broker.directory / "data" / f"{topic}-0", BAD, where)
    assert (found.first, found.last) == (FIRST, LAST)


def stops(world: World, config: Path) -> tuple[Causeway, Stopped]:
    """Carried as far as it can be; what the ledger says of the partition that is not."""
    run = world.run(config, "--stop-at-end")
    assert run.wait() == 6, run.output
    (stop,) = world.ledger().stopped.values()
    return run, stop


@pytest.mark.parametrize(("carrier", "codec", "where"), CASES)
def test_a_batch_that_cannot_be_read_stops_its_partition_until_it_can(
    world: World, carrier: str, codec: str, where: Any
) -> None:
    topic = filled(world, codec)
    config = world.config(carrier=carrier)
    whole = world.read(topic, "source")
    turn(world, topic, where)

    run, stop = stops(world, config)

    assert (stop.verdict, stop.topic, stop.partition, stop.expected) == ("corrupt", topic, 0, FIRST)
    assert f"{topic}[0] cannot be read at offset {FIRST}, which is next" in run.output
    assert "failed CRC32C check" in run.output
    assert "causeway offsets skip" in run.output
    assert "Traceback" not in run.output
    assert world.read(topic) == {0: whole[0][:FIRST], 1: whole[1]}, "all before it, and nothing after it"
    offsets = {source.partition: one.offset for source, one in world.ledger().positions.items()}
    assert offsets == {0: FIRST, 1: 30}

    _, again = stops(world, config)
    assert (again.verdict, again.expected) == ("corrupt", FIRST), "a new start tries again"
    turn(world, topic, where)
    world.carry_all(config)

    world.assert_mirrored(topic)
    assert not world.ledger().stopped


@pytest.mark.deep
def test_an_operator_passes_it_over_and_verify_goes_by_what_the_ledger_says(
    world: World, tmp_path: Path
) -> None:
    topic = filled(world)
    config = world.config()
    turn(world, topic, "records")
    stops(world, config)
    verified = run_verify(config)
    assert verified.exit_code == 6, verified
    assert "cannot be read here, so it cannot be compared" in verified.stderr
    assert "Traceback" not in verified.stderr
    skip = ["--topic", topic, "--partition", "0", "--yes"]

    for to in (FIRST + 5, LAST + 1):
        moved = Causeway("offsets", "skip", config, *skip, "--to", str(to), log=tmp_path / f"skip-{to}.log")
        assert moved.wait() == 0, moved.output
        if to <= LAST:
            assert stops(world, config)[1].expected == to, "still inside it"
    world.carry_all(config)

    assert [rec.value[:2] for rec in world.read(topic)[0] if rec.value][20:] == [
        str(number).encode() for number in range(LAST + 1, 50)
    ]
    assert {(gap.verdict, gap.begin, gap.end) for gap in world.ledger().gaps.values()} == {
        ("corrupt", FIRST, FIRST + 5),
        ("corrupt", FIRST + 5, LAST + 1),
    }
    verified = run_verify(config)
    assert verified.exit_code == 0, verified
    assert f"skipped offsets {FIRST} to {FIRST + 4} (5)" in verified.stdout
