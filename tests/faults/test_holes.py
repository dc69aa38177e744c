"""A source log that lost batches in its middle, as with a segment file.

Markers, aborted transactions and compaction leave out offsets too, and must stop no partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from causeway.local_kafka import EmbeddedCluster
from faults.logs import take_out
from support.verifying import run_verify
from support.world import World

BEGIN, END = 20, 40


@pytest.fixture
def world(destination: EmbeddedCluster, tmp_path: Path) -> Iterator[World]:
    with EmbeddedCluster.start("holes", directory=tmp_path / "holes") as cluster:
        world = World(cluster, destination, tmp_path)
        yield world
        world.close()


def in_turns(world: World, topic: str) -> None:
    """Transactions of several producers at the same time: their markers lie side by side."""
    settings = {"bootstrap.servers": world.servers["source"], "log_level": 0}
    producers = [Producer({**settings, "transactional.id": f"{topic}-{number}"}) for number in range(5)]
    for producer in producers:
        producer.init_transactions(30)
    for _ in range(3):
        for producer in producers:
            producer.begin_transaction()
            for _, rec in world.numbers(3):
                producer.produce(topic, rec.value, rec.key, 0)
            assert producer.flush(10) == 0
        for number, producer in enumerate(producers):
            end = producer.abort_transaction if number == 1 else producer.commit_transaction
            end(10)


def fill(world: World) -> tuple[str, str, str]:
    """A topic that loses batches, one with transactions of every kind, and one that is compacted."""
    plain, transactional = world.topic("plain"), world.topic("transactional")
    compacted = world.topic(
        "compacted", config={"cleanup.policy": "compact", "min.compaction.lag.ms": str(2**62)}
    )
    for number in range(6):
        for topic in (plain, compacted):
            world.produce(topic, world.numbers(10, 1, 10 * number))
        how = ("commit", "abort", None)[number % 3]
        world.produce(transactional, world.numbers(30, 1, 30 * number), transaction=how)
    in_turns(world, transactional)
    (broker,) = world.source.brokers
    broker.stop()
    for topic in (plain, compacted):
        take_out(broker.directory / "data" / f"{topic}-0", BEGIN, END - 1)
    broker.start()
    return plain, transactional, compacted


@pytest.mark.parametrize(
    ("carrier", "delivery"),
    [
        ("native", "exactly-once"),
        pytest.param("object", "exactly-once", marks=pytest.mark.deep),
        pytest.param("native", "at-least-once", marks=pytest.mark.deep),
    ],
)
def test_what_a_source_lost_in_the_middle_of_a_log_is_said(world: World, carrier: str, delivery: str) -> None:
    plain, transactional, compacted = fill(world)
    whole = world.read(plain, "source")[0]
    assert len(whole) == 40
    config = world.config(carrier=carrier, delivery=delivery)

    for _ in range(2):
        run = world.run(config, "--stop-at-end")
        assert run.wait() == 6, run.output
        (stop,) = (one for one in world.ledger().stopped.values() if one.verdict)
        assert (stop.verdict, stop.topic) == ("gap", plain)
        assert (stop.expected, stop.found, stop.gone) == (BEGIN, END, END - BEGIN)
        assert f"{plain}[0] has no records at offsets {BEGIN} to {END - 1} (20)" in run.output
        assert "Traceback" not in run.output
    offsets = {source.topic: one for source, one in world.ledger().positions.items()}
    assert offsets[plain].offset == BEGIN
    once = delivery == "exactly-once"
    # Without transactions, what was sent before it was known comes again.
    there = world.read(plain)[0]
    assert there == whole[:BEGIN] or (not once and set(there) == set(whole[:BEGIN])), "nothing after it"
    if once:
        world.assert_mirrored(transactional, compacted)
    for topic in (transactional, compacted):
        assert set(world.read(topic)[0]) == set(world.read(topic, "source")[0])

    verified = run_verify(config)
    assert verified.exit_code != 0, verified
    assert f"offsets {BEGIN} to {END - 1} (20)" in verified.stdout

    config = world.config(carrier=carrier, delivery=delivery, on_gap="continue")
    world.carry_all(config)

    assert not any(one.verdict for one in world.ledger().stopped.values())
    (gap,) = world.ledger().gaps.values()
    assert (gap.topic, gap.verdict, gap.begin, gap.end) == (plain, "gap", BEGIN, END)
    if once:
        world.assert_mirrored(plain, transactional, compacted)
    assert set(world.read(plain)[0]) == set(whole)
    tally = next(one for source, one in world.ledger().positions.items() if source.topic == plain).tally
    assert (tally.skipped, tally.holes) == (END - BEGIN, 0)
    verified = run_verify(config)
    # Without transactions, what came before the hole in an attempt may be there twice.
    assert verified.exit_code == 0 or (not once and verified.exit_code == 9), verified
    assert f"skipped offsets {BEGIN} to {END - 1} (20)" in verified.stdout
    assert "lost" not in verified.stdout
