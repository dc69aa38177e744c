"""Order in at-least-once: a record arrives for the first time only after all records before it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import get_args

import pytest

from causeway.core.choices import CarrierChoice
from causeway.kafka.failures import is_poison
from causeway.kafka.task_errors import Again, Refused
from causeway.local_kafka import EmbeddedCluster
from support.carrier_run import CarrierRun
from support.process import eventually
from support.proxy import Proxy
from support.records import Rec
from support.world import World, now_ms

KINDS: tuple[CarrierChoice, ...] = tuple(kind for kind in get_args(CarrierChoice) if kind != "auto")
carriers = pytest.mark.parametrize("kind", KINDS)

TIMEOUT_SECONDS = 4.0
LIMIT_BYTES = 2_000
SMALL_BATCH_BYTES = 500


@pytest.fixture(scope="module")
def line() -> Iterator[Proxy]:
    proxy = Proxy()
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def far(line: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    directory = tmp_path_factory.mktemp("far")
    with EmbeddedCluster.start("far", directory=directory, proxied={0: line.port}) as cluster:
        target = cluster.brokers[0].proxy_target_port
        assert target is not None
        line.target(target)
        yield cluster


@pytest.fixture
def world(source: EmbeddedCluster, far: EmbeddedCluster, line: Proxy, tmp_path: Path) -> Iterator[World]:
    world = World(source, far, tmp_path)
    yield world
    line.heal()
    world.close()


def carrier_run(
    world: World, kind: CarrierChoice, topic: str, *,
    timeout: float = TIMEOUT_SECONDS, batch_bytes: int = 1_000_000,
) -> CarrierRun:  # fmt: skip
    return CarrierRun(
        world, kind, topic, topic, delivery_kind="at-least-once", timeout=timeout, batch_bytes=batch_bytes,
        servers=world.destination.proxied_servers,
    )  # fmt: skip


def until(seconds: float) -> None:
    """Wait until this time: nothing else shows that a record expires."""
    eventually(lambda: time.monotonic() >= seconds, "the time has come")


def first_arrivals(world: World, topic: str) -> list[bytes | None]:
    return list(dict.fromkeys(rec.value for rec in world.read(topic)[0]))


@carriers
def test_a_record_that_waits_too_long_is_not_overtaken_by_a_younger_one(
    world: World, line: Proxy, kind: CarrierChoice
) -> None:
    """The line is cut for a record's whole timeout, and heals before a later record's timeout ends."""
    topic = world.topic("t")
    world.topic("t", on="destination")
    world.produce(topic, world.numbers(300))
    with carrier_run(world, kind, topic) as first:
        first.take(100)
        first.producer.flush()
        line.cut()
        began = time.monotonic()
        first.take(100)
        until(began + 0.9 * TIMEOUT_SECONDS)
        first.take(100)
        until(began + 1.3 * TIMEOUT_SECONDS)
        line.heal()
        first.producer.flush()
    start_again(world, kind, topic, 300)


@carriers
def test_records_of_an_abandoned_producer_are_replicated_again_in_order(
    world: World, line: Proxy, kind: CarrierChoice
) -> None:
    """The line heals while the producer is destroyed with its queue."""
    topic = world.topic("t")
    world.topic("t", on="destination")
    world.produce(topic, world.numbers(300))
    with carrier_run(world, kind, topic, timeout=5) as first:
        first.take(100)
        first.producer.flush()
        line.cut()
        first.take(200)
        with pytest.raises(Again, match="does not acknowledge"):
            first.producer.flush()
        line.heal()
    start_again(world, kind, topic, 300)


def start_again(world: World, kind: CarrierChoice, topic: str, count: int) -> None:
    """Resume from the ledger's position, as a restart does; first arrivals are in order before and after."""
    before = first_arrivals(world, topic)
    with carrier_run(world, kind, topic) as again:
        again.replicate_to_end()
        again.producer.flush()
    expected = [rec.value for _, rec in world.numbers(count)]
    assert before == expected[: len(before)]
    assert first_arrivals(world, topic) == expected


@carriers
@pytest.mark.parametrize("rejected", [0, 40])
def test_no_record_after_a_rejected_one_arrives(world: World, kind: CarrierChoice, rejected: int) -> None:
    """Batches are in flight after the rejected one, also if the broker does not know the producer yet."""
    topic = world.topic("t")
    world.topic("t", on="destination", config={"max.message.bytes": str(LIMIT_BYTES)})
    records = world.numbers(200, size=100)
    records[rejected] = (0, Rec(b"k", Random(1).randbytes(10 * LIMIT_BYTES), (), now_ms()))
    world.produce(topic, records, **{"compression.type": "none"})
    with carrier_run(world, kind, topic, batch_bytes=SMALL_BATCH_BYTES) as attempt:
        with contextlib.suppress(Refused):  # there were more to produce
            attempt.replicate_to_end()
        attempt.producer.flush()
        offset, error = attempt.rejected()[0]
        assert (offset, is_poison(error)) == (rejected, True)
    arrived = [rec.value for rec in world.read(topic)[0]]
    assert arrived == [rec.value for _, rec in records[: len(arrived)]]
    assert len(arrived) <= rejected
