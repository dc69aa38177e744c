"""Latency: from the sender's timestamp to a read_committed consumer at the destination, at a fixed rate.

A mirror has replicated its first records before the measurement begins; the first seconds do not count.
Before that every mirror runs once without being measured: the brokers' JVMs compile the code that its
requests need, which uses more CPU than any mirror and would add to the first mirror's latency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from bench.child import Child
from bench.contenders.job import Mirror
from bench.content import Original
from bench.figures import percentiles
from bench.load import fill
from bench.measures.bench import Bench, voiding
from bench.samples import Sample
from bench.scale import rotated
from bench.shapes import CENTRE, Shape
from bench.stage import Stage
from bench.traffic import Flow, Trip, reading, sending
from bench.watch import until_arrived

WARM_SECONDS = 5.0
OPENING = 400  # records produced before the start: when they have arrived, the mirror runs
REHEARSAL_RATE = 1_000
BOUNDARY_RATE = 1_000
BOUNDARY_SLICE_SECONDS = 10
BOUNDARY_SECONDS = 45.0
_NANOSECONDS = 1e9


@dataclass(frozen=True)
class Pace:
    rate: int
    seconds: float


def latency(bench: Bench) -> None:
    """Every rate, every round, every mirror."""
    wanted = bench.scale.latency_systems
    mirrors = [mirror for mirror in bench.mirrors if not wanted or mirror.name in wanted]
    rehearse(bench, mirrors, Pace(REHEARSAL_RATE, bench.scale.latency_seconds))
    for rate in bench.scale.rates:
        bench.stage.say(f"latency: {rate:,} records/s")
        for number in range(bench.scale.latency_rounds):
            for mirror in rotated(mirrors, number):
                sample = Sample("latency", f"{rate:,} records/s", mirror.name, number)
                paced(bench, mirror, sample, Pace(rate, bench.scale.latency_seconds))


def boundary(bench: Bench) -> None:
    """The pause at a slice's end: Causeway with slices so short that several end during the run."""
    bench.stage.say(f"slice boundary: slices of {BOUNDARY_SLICE_SECONDS} s")
    mirror = replace(bench.causeway, mirror={**bench.causeway.mirror, "slice": f"{BOUNDARY_SLICE_SECONDS}s"})
    case = f"slices of {BOUNDARY_SLICE_SECONDS} s, {BOUNDARY_RATE:,} records/s"
    sample = Sample("boundary", case, mirror.name, 0)
    paced(bench, mirror, sample, Pace(BOUNDARY_RATE, BOUNDARY_SECONDS), BOUNDARY_SLICE_SECONDS)


def rehearse(bench: Bench, mirrors: Sequence[Mirror], pace: Pace) -> None:
    """Run every mirror once, without keeping the figures."""
    bench.stage.say(f"rehearsal: {pace.rate:,} records/s")
    for mirror in mirrors:
        with voiding(lambda why: bench.stage.say(f"  failed: {why}")):
            travelled(bench, mirror, Sample("rehearsal", f"{pace.rate:,} records/s", mirror.name, 0), pace)
        bench.stage.clean()


def paced(bench: Bench, mirror: Mirror, sample: Sample, pace: Pace, slices: float = 0.0) -> None:
    """Run one mirror once, on its own topic. `slices`: their length, to measure the pauses between them."""
    with voiding(lambda why: bench.note(replace(sample, void=why))):
        trips, wrong = travelled(bench, mirror, sample, pace)
        measured = figures(trips, WARM_SECONDS)
        if slices:
            measured["pause"] = median(pauses(trips, WARM_SECONDS, slices))
        bench.note(replace(sample, figures=measured, void=wrong))
    bench.stage.clean()


def travelled(bench: Bench, mirror: Mirror, sample: Sample, pace: Pace) -> tuple[list[Trip], str]:
    """Return each record's trip through a mirror, and the differences at the destination."""
    stage, shape = bench.stage, CENTRE
    topic = stage.name("pace")
    there = mirror.arrives_in(topic)
    stage.destination.create({there: shape.partitions})
    fill(stage.source, topic, shape, OPENING)
    job = bench.job(bench.place(sample), [topic], shape.partitions, shape.compression)
    bench.introduce(mirror, job)
    with mirror.start(job) as child:
        until_arrived(child, stage.destination, there, shape.counts(OPENING))
        trips = watched(stage, child, (topic, there), shape, pace)
    original = Original(stage.source.servers, topic, shape.partitions)
    return trips, original.difference(stage.destination.servers, there, whole=mirror.keeps_all)


def watched(stage: Stage, child: Child, topics: tuple[str, str], shape: Shape, pace: Pace) -> list[Trip]:
    """Produce at a rate after the opening records, and consume all of them at the destination."""
    here, there = topics
    flow = Flow(here, shape.partitions, OPENING, pace.rate, WARM_SECONDS + pace.seconds, shape.size)
    with (
        reading(stage.destination, there, stage.destination.ends(there, shape.partitions)) as reader,
        sending(stage.source, flow) as sender,
    ):
        sent = sender.wait()
        until_arrived(child, stage.destination, there, shape.counts(OPENING + sent))
        return reader.trips(sent)


def pauses(trips: Sequence[Trip], warm: float, slices: float) -> list[float]:
    """The longest trip in each stretch as long as a slice, in milliseconds: each contains one boundary."""
    began = min(trip.sent for trip in trips) + warm * _NANOSECONDS
    longest: dict[int, float] = {}
    for trip in trips:
        stretch = int((trip.sent - began) // (slices * _NANOSECONDS))
        longest[stretch] = max(longest.get(stretch, 0.0), trip.took / 1e6)
    last = max(longest)  # the last stretch is incomplete
    return [value for stretch, value in longest.items() if 0 <= stretch < last]


def figures(trips: Sequence[Trip], warm: float) -> dict[str, float]:
    """Milliseconds, of records sent after the first seconds."""
    began = min((trip.sent for trip in trips), default=0) + warm * _NANOSECONDS
    counted = [trip.took / 1e6 for trip in trips if trip.sent >= began]
    return {**percentiles(counted), "longest": max(counted), "counted": float(len(counted))}
