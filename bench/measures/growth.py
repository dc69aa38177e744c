"""Growth: many partitions, most of them idle. Start time, memory and latency.

One busy topic has some partitions; the others are in empty topics. The mirrors create all topics
at the destination themselves: that is part of what a start costs.
"""

from __future__ import annotations

import time
from dataclasses import replace

from bench.contenders.causeway import Causeway
from bench.contenders.job import Mirror, largest
from bench.content import Original
from bench.load import fill
from bench.measures.bench import Bench, voiding
from bench.measures.latency import OPENING, WARM_SECONDS, Pace, figures, watched
from bench.samples import Sample
from bench.shapes import CENTRE
from bench.watch import until_arrived

RATE = 1_000
SECONDS = 15.0
START_SECONDS = 240.0
OF_A_TOPIC = 50  # partitions
BUSY = 4  # partitions of the topic that has records


def idle_topics(partitions: int, prefix: str) -> dict[str, int]:
    """Topics for all partitions except the busy ones."""
    rest = max(0, partitions - BUSY)
    sizes = [OF_A_TOPIC] * (rest // OF_A_TOPIC) + ([rest % OF_A_TOPIC] if rest % OF_A_TOPIC else [])
    return {f"{prefix}-{number}": size for number, size in enumerate(sizes)}


def growth(bench: Bench) -> None:
    for partitions in bench.scale.growth:
        bench.stage.say(f"growth: {partitions:,} partitions")
        for mirror in bench.several():
            if mirror.name != "mm2":  # one of the two deliveries is enough to compare with
                _measure_mirror(bench, mirror, partitions)


def _measure_mirror(bench: Bench, mirror: Mirror, partitions: int) -> None:
    stage, shape = bench.stage, replace(CENTRE, partitions=BUSY)
    sample = Sample("growth", f"{partitions:,} partitions", mirror.name, 0)
    with voiding(lambda why: bench.note(replace(sample, void=why))):
        busy = stage.name("busy")
        idle = idle_topics(partitions, stage.name("idle"))
        stage.source.create(idle)
        fill(stage.source, busy, shape, OPENING)
        job = bench.job(bench.place(sample), [busy, *idle], partitions, shape.compression)
        bench.introduce(mirror, job)
        planning = {"check_seconds": mirror.check(job)} if isinstance(mirror, Causeway) else {}
        with mirror.start(job) as child:
            seen = until_arrived(
                child, stage.destination, busy, shape.counts(OPENING), patience=START_SECONDS
            )
            before, at = child.usage(), time.monotonic()
            trips = watched(stage, child, (busy, busy), shape, Pace(RATE, SECONDS))
            after = child.usage()
            used = {
                "cores": (after.cpu - before.cpu) / (time.monotonic() - at),
                "memory_megabytes": max(after.memory, *(sight.memory for sight in seen)) / 1e6,
                **largest(mirror.workers(child)),
            }
        original = Original(stage.source.servers, busy, BUSY)
        wrong = original.difference(stage.destination.servers, busy, whole=mirror.keeps_all)
        first = next(sight.at for sight in seen if sight.arrived)
        measured = {"first_seconds": first, **planning, **figures(trips, WARM_SECONDS), **used}
        bench.note(replace(sample, figures=measured, void=wrong))
    stage.clean()
