"""Both carriers, side by side: the same records, positions, maps and refusals, bit for bit."""

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
from support.carrying import Carrying
from support.poison import KEYLESS, TOO_LARGE, TOO_NEW, TOO_OLD, Poison
from support.process import eventually
from support.records import Rec, read_all, read_offsets
from support.world import World, now_ms

KINDS: tuple[CarrierChoice, ...] = tuple(kind for kind in get_args(CarrierChoice) if kind != "auto")
carriers = pytest.mark.parametrize("kind", KINDS)
poisons = pytest.mark.parametrize("poison", [TOO_LARGE, TOO_OLD, TOO_NEW, KEYLESS], ids=str)

COUNT = 200


def zoo(world: World, topic: str, partitions: int, seed: int) -> None:
    """Records of every form, plain and of transactions that were committed and aborted, in random turns."""
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
    """What each carrier makes of a topic."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        to = world.topic(kind, partitions, on="destination")
        with Carrying(world, kind, topic, to, partitions, **more) as carrying:
            carrying.to_the_end()
            settled = carrying.settled()
            positions = [
                (one.source, one.offset, one.seen, one.epoch, one.place_end, one.tally) for one, _ in settled
            ]
            said = [lane.finding for lane in carrying.lanes]
            found[kind] = (positions, [runs for _, runs in settled], said, world.read(to))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_records_of_every_form_arrive_as_they_were(world: World, seed: int) -> None:
    topic = world.topic("t", 3)
    zoo(world, topic, 3, seed)
    found = side_by_side(world, topic, 3)
    assert found["native"] == found["object"]
    assert found["native"][3] == world.read(topic, "source"), "not what the source holds"
    assert sum(position[5].delivered for position in found["native"][0]) > COUNT


def test_a_key_goes_to_the_same_partition_and_its_place_is_known(world: World) -> None:
    topic = world.topic("t", 2)
    zoo(world, topic, 2, 7)
    found = side_by_side(world, topic, 2, places={0: BY_KEY, 1: BY_KEY})
    for kind in KINDS:
        _, runs, _, there = found[kind]
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
    # Each source partition keeps its order; which of the two comes first is the brokers' affair.
    keyed = {
        kind: [sorted(repr(rec) for rec in rows if rec.key) for rows in found[kind][3].values()]
        for kind in KINDS
    }
    assert keyed["native"] == keyed["object"]


@pytest.mark.parametrize("quarantine", [False, True])
def test_records_that_are_known_to_be_refused_are_passed_by_neither(world: World, quarantine: bool) -> None:
    """One that is there, one that is gone (a hole), and one in another partition behind its end."""
    topic = world.topic("t", 2)
    aside = world.topic("aside", on="destination") if quarantine else ""
    world.produce(topic, world.numbers(100, 2))
    world.produce(topic, world.numbers(10, 2), transaction="abort")
    world.produce(topic, world.numbers(100, 2))
    why = Finding("poison", "refused", "", 0)
    found = side_by_side(
        world, topic, 2, poison={0: {20: why, 52: why, 80: why}, 1: {999: why}}, quarantine=aside
    )
    assert found["native"] == found["object"]
    (_, offset, *_, tally), _ = found["native"][0]
    assert (offset, tally.quarantined) == ((106, 2) if quarantine else (20, 0))
    if quarantine:
        rows = world.read(aside)[0]
        assert rows[:2] == [rec._replace(timestamp=rows[n].timestamp) for n, rec in enumerate(rows[2:])]


@carriers
def test_what_lies_before_the_position_is_looked_at_and_not_carried(
    world: World, kind: CarrierChoice
) -> None:
    topic, to = world.topic("t"), world.topic("t", on="destination")
    world.produce(topic, world.numbers(50))
    with Carrying(world, kind, topic, to, starts={0: 20}) as carrying:
        lane = carrying.lanes[0]
        lane.next, lane.recognized = 30, False
        carrying.to_the_end()
        assert lane.finding is not None, "there is a record where there was none"
        assert carrying.producer.records == 0


class Refusal(Carrying):
    """Records of one partition, the refused one somewhere among them."""

    @classmethod
    def of(
        cls, world: World, kind: CarrierChoice, refused: int, *, single: bool, poison: Poison = TOO_LARGE
    ) -> Refusal:
        topic = world.topic("t")
        to = world.topic("t", on="destination", config=poison.config)
        records = world.numbers(COUNT, size=100)
        records[refused] = (0, poison.record())
        world.produce(topic, records)
        return cls(world, kind, topic, to, single=single, batch_bytes=5_000)


@carriers
@poisons
@pytest.mark.parametrize("refused", [0, COUNT // 2, COUNT - 1])
def test_a_refused_record_is_heard_of_wherever_it_lies(
    world: World, kind: CarrierChoice, poison: Poison, refused: int
) -> None:
    """Only the ends of a stretch need to report: of a record between them only the client's log tells."""
    with Refusal.of(world, kind, refused, single=False, poison=poison) as carrying:
        carrying.to_the_end()
        carrying.producer.flush()
        assert carrying.producer.client.rejected
        with pytest.raises(Refused):
            carrying.producer.commit([])


@carriers
@poisons
@pytest.mark.parametrize("refused", [0, COUNT // 2, COUNT - 1])
def test_one_by_one_the_refused_record_itself_reports(
    world: World, kind: CarrierChoice, poison: Poison, refused: int
) -> None:
    """Those behind it were on their way, and wait for their turn in vain: they are not waited for."""
    with Refusal.of(world, kind, refused, single=True, poison=poison) as carrying:
        with suppress(Refused):  # where the refusal is faster than the records behind it
            carrying.to_the_end()
        carrying.producer.flush()
        assert [offset for offset, error in carrying.rejected() if is_poison(error)] == [refused]


@carriers
@pytest.mark.parametrize("single", [False, True])
def test_what_is_produced_into_a_transaction_that_failed_is_a_refusal_too(
    world: World, kind: CarrierChoice, single: bool
) -> None:
    """The client only says that it is in an erroneous state; its log says why, and a flush which record."""
    with Refusal.of(world, kind, 0, single=single) as carrying:

        def more() -> None:
            carrying.to_the_end()
            world.produce(carrying.topic, world.numbers(10))

        with pytest.raises(Refused):
            eventually(more, "the client takes no more", 30)
        carrying.producer.flush()
        if single:
            assert [offset for offset, error in carrying.rejected() if is_poison(error)] == [0]


@carriers
def test_a_record_that_is_larger_than_the_queue_is_not_waited_for(world: World, kind: CarrierChoice) -> None:
    """The client answers that its queue is full, and says so for ever."""
    large = {"max.message.bytes": "4000000"}
    topic, to = world.topic("t", config=large), world.topic("t", on="destination", config=large)
    values = [b"small", random.randbytes(2_000_000)]
    records = [(0, Rec(None, value, (), now_ms())) for value in values]
    world.produce(topic, records, **{"message.max.bytes": "4000000"})
    with (
        Carrying(world, kind, topic, to, queue_bytes=1 << 20) as carrying,
        pytest.raises(Unfit, match=r"\(2,000,000 bytes\) does not fit into queue_bytes") as raised,
    ):
        carrying.to_the_end()
    assert (raised.value.failure.source, raised.value.failure.offset) == (carrying.lanes[0].lane.source, 1)


@carriers
def test_whoever_was_fenced_says_so(world: World, kind: CarrierChoice) -> None:
    topic, to = world.topic("t"), world.topic("t", on="destination")
    world.produce(topic, world.numbers(50))
    with Carrying(world, kind, topic, to) as older:
        older.to_the_end()
        with Carrying(world, kind, topic, to) as newer, pytest.raises(Fenced):
            newer.to_the_end()
            newer.settled()
            older.settled()
    assert read_all(world.servers["destination"], to) == world.read(topic, "source")


@carriers
def test_a_consumer_goes_although_what_it_brought_was_never_produced(
    world: World, kind: CarrierChoice
) -> None:
    """The destination hung up before a transaction began. A message that nobody let go of would keep the
    client's handle from ending, and its shard from starting again, until somebody misses its heartbeat."""
    topic, to = world.topic("t"), world.topic("t", on="destination")
    world.produce(topic, world.numbers(50))
    carrying = Carrying(world, kind, topic, to).__enter__()
    carrying.producer.client.connection_lost = "it hung up"
    with pytest.raises(Again, match="it hung up"):
        carrying.to_the_end()
    closing = Thread(target=carrying.__exit__, args=(None, None, None), daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()
