"""Catch-up: a backlog of several GB is replicated while new records arrive in another topic of the mirror.

The backlog is the same for all; new records are produced for each run. Two figures: the rate at which the
backlog is replicated, and the latency of new records meanwhile.
"""

from __future__ import annotations

from dataclasses import replace

from bench import course
from bench.contenders.job import Mirror, largest
from bench.content import Original
from bench.load import Filled, fill
from bench.measures.bench import Bench, voiding
from bench.measures.latency import figures as late
from bench.samples import Sample
from bench.shapes import CENTRE, records_of
from bench.traffic import Flow, reading, sending
from bench.watch import until_arrived

RATE = 5_000
MOST_SECONDS = 1_800.0


def catch_up(bench: Bench) -> None:
    """Each mirror once: rounds of minutes each would add little."""
    backlog = records_of(CENTRE, 1 << 60, bench.scale.backlog_megabytes)
    bench.stage.say(f"catch-up: {bench.scale.backlog_megabytes:,} MB, while {RATE:,} records/s arrive")
    bench.stage.say(f"  writing {backlog:,} records")
    filled = fill(bench.stage.source, bench.stage.name("backlog"), CENTRE, backlog)
    original = Original(bench.stage.source.servers, filled.topic, CENTRE.partitions)
    case = f"{bench.scale.backlog_megabytes / 1000:g} GB, {RATE:,} new records/s"
    for mirror in bench.several():
        _measure_mirror(bench, mirror, filled, original, Sample("catch-up", case, mirror.name, 0))
    bench.stage.clean()


def _measure_mirror(bench: Bench, mirror: Mirror, filled: Filled, original: Original, sample: Sample) -> None:
    stage, partitions = bench.stage, CENTRE.partitions
    new = stage.name("new")
    with voiding(lambda why: bench.note(replace(sample, void=why))):
        stage.source.create({new: partitions})
        stage.destination.create({filled.topic: partitions, new: partitions})
        job = bench.job(bench.place(sample), [filled.topic, new], 2 * partitions, CENTRE.compression)
        bench.introduce(mirror, job)
        with (
            reading(stage.destination, new, [0] * partitions) as reader,
            mirror.start(job) as child,
            sending(stage.source, Flow(new, partitions, 0, RATE, MOST_SECONDS)) as sender,
        ):
            seen = until_arrived(child, stage.destination, filled.topic, CENTRE.counts(filled.records))
            sent = sender.finish()
            until_arrived(child, stage.destination, new, CENTRE.counts(sent))
            trips = reader.trips(sent)
            figures = {**course.figures(seen, CENTRE.size), **largest(mirror.workers(child))}
        # Records sent before the mirror had started waited for the start: they do not count.
        started = min(trip.sent for trip in trips) / 1e9 + figures["first_seconds"]
        meanwhile = [trip for trip in trips if trip.sent / 1e9 >= started] or trips
        figures |= {f"new_{name}": value for name, value in late(meanwhile, 0).items()}
        wrong = original.difference(stage.destination.servers, filled.topic, whole=mirror.keeps_all)
        arrived = Original(stage.source.servers, new, partitions)
        wrong = wrong or arrived.difference(stage.destination.servers, new, whole=mirror.keeps_all)
        points = [[round(sight.at, 3), float(sight.arrived)] for sight in course.thinned(seen)]
        bench.note(replace(sample, figures=figures, void=wrong, course=points))
    stage.clean(keep=[filled.topic])
