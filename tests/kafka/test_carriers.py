"""Both carriers give the same records, positions, offset maps and rejections, bit for bit."""

from __future__ import annotations

import random
from contextlib import suppress
from threading import Thread
from typing import Any, get_args

import pytest

from causeway.core.choices import CarrierChoice
from causeway.core.route import BY_KEY
from causeway.kafka.failures import is_poison
from causeway.kafka.task_errors import Again, Fenced, Refused, Unfit
from causeway.rules.integrity import Finding
from support.carrier_run import CarrierRun
from support.poison import KEYLESS, TOO_LARGE, TOO_NEW, TOO_OLD, Poison
from support.process import eventually
from support.records import Rec, read_all, read_offsets
from support.world import World, now_ms

KINDS: tuple[CarrierChoice, ...] = tuple(kind for kind in get_args(CarrierChoice) if kind != "auto")
carriers = pytest.mark.parametrize("kind", KINDS)
poisons = pytest.mark.parametrize("poison", [TOO_LARGE, TOO_OLD, TOO_NEW, KEYLESS], ids=str)

COUNT = 200


def zoo(world: World, topic: str, partitions: int, seed: int) -> None:
    """Records of every form, plain and of transactions that were committed and aborted, in random order."""
    rng = random.Random(seed)
    forms = [None, b"", b"k", b"\xff\x00", b"a" * 300]
    names = ["", "h", "ü", "causeway-origin"]
    for turn in range(12):
        records = []
        for _ in range(rng.randrange(1, 60)):
            headers = tuple(
                (rng.choice(names), rng.choice(forms)) for _ in range(rng.choice([0, 0, 0, 1, 3]))
            )
            key = rng.choice([*forms, f"key-{rng.randrange(40)}".encode()])
            rec = Rec(
                key, rng.choice([*forms, rng.randbytes(100)]), headers, now_ms() + rng.randrange(-99, 99)
            )
            records.append((rng.randrange(partitions), rec))
        how = rng.choice([None, "commit", "abort"]) if turn else "commit"
        world.produce(
            topic, records, transaction=how, **{"compression.type": rng.choice(["none", "lz4", "zstd"])}
        )


def side_by_side(world: World, topic: str, partitions: int, **more: Any) -> dict[str, Any]:
    """Replicate a topic with each carrier; return positions, runs, findings and records by carrier."""
    results: dict[str, Any] = {}
    for kind in KINDS:
        to = world.topic(kind, partitions, on="destination")
        with CarrierRun(world, kind, topic, to, partitions, **more) as run:
            run.replicate_to_end()
            settled = run.settled()
            positions = [
                (at.source, at.offset, at.seen, at.epoch, at.place_end, at.tally) for at, _ in settled
            ]
            findings = [state.finding for state in run.states]
            results[kind] = (positions, [runs for _, runs in settled], findings, world.read(to))
    return results


@pytest.mark.parametrize("seed", range(3))
def test_records_of_every_form_arrive_as_they_were(world: World, seed: int) -> None:
    topic = world.topic("t", 3)
    zoo(world, topic, 3, seed)
    results = side_by_side(world, topic, 3)
    assert results["native"] == results["object"]
    assert results["native"][3] == world.read(topic, "source"), "differs from the source"
    assert sum(position[5].delivered for position in results["native"][0]) > COUNT


def test_both_carriers_choose_the_same_partition_for_a_key_and_map_it(world: World) -> None:
    topic = world.topic("t", 2)
    zoo(world, topic, 2, 7)
    results = side_by_side(world, topic, 2, places={0: BY_KEY, 1: BY_KEY})
    for kind in KINDS:
        _, runs, _, there = results[kind]
        for number, here in read_offsets(world.servers["source"], topic).items():
            mapped = {
                run.source + step: (partition, run.destination + step)
                for partition, some in runs[number].items()
                for run in some
                for step in range(run.length)
            }
            assert mapped.keys() == {offset for offset, _ in here}
            for offset, rec in here:
                partition, place = mapped[offset]
                assert there[partition][place] == rec
            for partition in there:
                places = [place for _, (at, place) in sorted(mapped.items()) if at == partition]
                assert places == sorted(places)
    # Each source partition keeps its order; the order between the two is up to the brokers.
    keyed = {
        kind: [sorted(repr(rec) for rec in rows if rec.key) for rows in results[kind][3].values()]
        for kind in KINDS
    }
    assert keyed["native"] == keyed["object"]


@pytest.mark.parametrize("quarantine", [False, True])
def test_neither_carrier_skips_records_that_are_known_to_be_rejected(world: World, quarantine: bool) -> None:
    """One that exists, one that was deleted (a hole), and one in another partition after its end."""
    topic = world.topic("t", 2)
    quarantine_topic = world.topic("aside", on="destination") if quarantine else ""
    world.produce(topic, world.numbers(100, 2))
    world.produce(topic, world.numbers(10, 2), transaction="abort")
    world.produce(topic, world.numbers(100, 2))
    why = Finding("poison", "refused", "", 0)
    results = side_by_side(
        world, topic, 2, poison={0: {20: why, 52: why, 80: why}, 1: {999: why}}, quarantine=quarantine_topic
    )
    assert results["native"] == results["object"]
    (_, offset, *_, tally), _ = results["native"][0]
    assert (offset, tally.quarantined) == ((106, 2) if quarantine else (20, 0))
    if quarantine:
        rows = world.read(quarantine_topic)[0]
        assert rows[:2] == [rec._replace(timestamp=rows[n].timestamp) for n, rec in enumerate(rows[2:])]


@carriers
def test_records_before_the_position_are_checked_and_not_replicated(
    world: World, kind: CarrierChoice
) -> None:
    topic, to = world.topic("t"), world.topic("t", on="destination")
    world.produce(topic, world.numbers(50))
    with CarrierRun(world, kind, topic, to, starts={0: 20}) as run:
        state = run.states[0]
        state.next, state.recognized = 30, False
        run.replicate_to_end()
        assert state.finding is not None, "there is a record where there was none"
        assert run.producer.records == 0


class RejectionRun(CarrierRun):
    """Records of one partition; the one at offset `refused` is rejected."""

    @classmethod
    def of(
        cls, world: World, kind: CarrierChoice, refused: int, *, single: bool, poison: Poison = TOO_LARGE
    ) -> RejectionRun:
        topic = world.topic("t")
        to = world.topic("t", on="destination", config=poison.config)
        records = world.numbers(COUNT, size=100)
        records[refused] = (0, poison.record())
        world.produce(topic, records)
        return cls(world, kind, topic, to, single=single, batch_bytes=5_000)


@carriers
@poisons
@pytest.mark.parametrize("refused", [0, COUNT // 2, COUNT - 1])
def test_a_rejected_record_is_reported_at_any_offset(
    world: World, kind: CarrierChoice, poison: Poison, refused: int
) -> None:
    """Only the first and last record of a stretch report: for others the client's log has the rejection."""
    with RejectionRun.of(world, kind, refused, single=False, poison=poison) as run:
        run.replicate_to_end()
        run.producer.flush()
        assert run.producer.client.rejected
        with pytest.raises(Refused):
            run.producer.commit([])


@carriers
@poisons
@pytest.mark.parametrize("refused", [0, COUNT // 2, COUNT - 1])
def test_sent_one_by_one_the_rejected_record_itself_reports(
    world: World, kind: CarrierChoice, poison: Poison, refused: int
) -> None:
    """Later records are in flight and are never delivered: flush does not wait for them."""
    with RejectionRun.of(world, kind, refused, single=True, poison=poison) as run:
        with suppress(Refused):  # if the rejection comes before the later records are produced
            run.replicate_to_end()
        run.producer.flush()
        assert [offset for offset, error in run.rejected() if is_poison(error)] == [refused]


@carriers
@pytest.mark.parametrize("single", [False, True])
def test_producing_into_a_failed_transaction_counts_as_a_rejection(
    world: World, kind: CarrierChoice, single: bool
) -> None:
    """The client only reports an erroneous state; its log has the reason, and a flush names the record."""
    with RejectionRun.of(world, kind, 0, single=single) as run:

        def more() -> None:
            run.replicate_to_end()
            world.produce(run.topic, world.numbers(10))

        with pytest.raises(Refused):
            eventually(more, "the client takes no more", 30)
        run.producer.flush()
        if single:
            assert [offset for offset, error in run.rejected() if is_poison(error)] == [0]


@carriers
def test_a_record_that_is_larger_than_the_queue_is_not_retried(world: World, kind: CarrierChoice) -> None:
    """The client reports a full queue, however often it is retried."""
    large = {"max.message.bytes": "4000000"}
    topic, to = world.topic("t", config=large), world.topic("t", on="destination", config=large)
    values = [b"small", random.randbytes(2_000_000)]
    records = [(0, Rec(None, value, (), now_ms())) for value in values]
    world.produce(topic, records, **{"message.max.bytes": "4000000"})
    with (
        CarrierRun(world, kind, topic, to, queue_bytes=1 << 20) as run,
        pytest.raises(Unfit, match=r"\(2,000,000 bytes\) does not fit into queue_bytes") as raised,
    ):
        run.replicate_to_end()
    assert (raised.value.failure.source, raised.value.failure.offset) == (run.states[0].lane.source, 1)


@carriers
def test_a_fenced_producer_raises_fenced(world: World, kind: CarrierChoice) -> None:
    topic, to = world.topic("t"), world.topic("t", on="destination")
    world.produce(topic, world.numbers(50))
    with CarrierRun(world, kind, topic, to) as older:
        older.replicate_to_end()
        with CarrierRun(world, kind, topic, to) as newer, pytest.raises(Fenced):
            newer.replicate_to_end()
            newer.settled()
            older.settled()
    assert read_all(world.servers["destination"], to) == world.read(topic, "source")


@carriers
def test_a_consumer_closes_although_its_records_were_never_produced(
    world: World, kind: CarrierChoice
) -> None:
    """The destination closed the connection before a transaction began. A message that is not destroyed keeps
    the client's handle open, and its shard from restarting, until the driver misses its heartbeat."""
    topic, to = world.topic("t"), world.topic("t", on="destination")
    world.produce(topic, world.numbers(50))
    run = CarrierRun(world, kind, topic, to).__enter__()
    run.producer.client.connection_lost = "it hung up"
    with pytest.raises(Again, match="it hung up"):
        run.replicate_to_end()
    closing = Thread(target=run.__exit__, args=(None, None, None), daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()
