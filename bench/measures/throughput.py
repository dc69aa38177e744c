"""Throughput: a full topic is replicated; rate, CPU, memory, start, and the cost of an idle mirror.

One topic is filled for each shape, and all systems replicate it in all rounds, each to a topic that was
just created. Content is compared after each run.
"""

from __future__ import annotations

from dataclasses import replace

from bench import course
from bench.contenders.causeway import Causeway
from bench.contenders.job import Mirror, largest
from bench.contenders.kafka_tools import Limit
from bench.content import Original
from bench.load import Filled, fill
from bench.measures.bench import Bench, idle_share, voiding
from bench.samples import Sample
from bench.scale import rotated
from bench.shapes import CENTRE, Shape, records_of
from bench.watch import until_arrived
from support.spark_cluster import SparkCluster

SHARDS = (1, 2, 4)
WITHOUT_TLS, WITH_TLS = "without TLS", "TLS on both sides"
SPARK_WORKERS = 2


def throughput(bench: Bench) -> None:
    """Every shape, every round, every system."""
    for shape in bench.scale.shapes:
        bench.stage.say(f"throughput: {shape.name}")
        filled, original = filling(bench, shape)
        for number in range(bench.scale.rounds):
            entries: list[Mirror | Limit] = [*bench.mirrors, *bench.limits]
            for entry in rotated(entries, number):
                sample = Sample("throughput", shape.name, entry.name, number)
                if isinstance(entry, Limit):
                    limit(bench, entry, filled, sample)
                else:
                    idle = shape == CENTRE and entry in bench.several()
                    replicate(bench, entry, filled, original, sample, idle=idle)
        bench.stage.clean()


def shards(bench: Bench) -> None:
    """Causeway with one shard, two and four."""
    variants = [
        (str(number), replace(bench.causeway, mirror={**bench.causeway.mirror, "shards": number}))
        for number in SHARDS
    ]
    bench.stage.say(f"shards: {', '.join(map(str, SHARDS))}")
    filled, original = filling(bench, CENTRE)
    for number in range(bench.scale.rounds):
        for case, mirror in rotated(variants, number):
            replicate(bench, mirror, filled, original, Sample("shards", case, mirror.name, number))
    bench.stage.clean()


def tls(bench: Bench) -> None:
    """Causeway without TLS and with TLS on both sides, in turns."""
    variants = [
        (WITHOUT_TLS, bench.causeway),
        (WITH_TLS, replace(bench.causeway, encrypted=bench.stage.encrypted)),
    ]
    bench.stage.say("TLS on both sides")
    filled, original = filling(bench, CENTRE)
    for number in range(bench.scale.rounds):
        for case, mirror in rotated(variants, number):
            replicate(bench, mirror, filled, original, Sample("tls", case, mirror.name, number))
    bench.stage.clean()


def spark_cluster(bench: Bench) -> None:
    """Causeway on a standalone cluster with two workers; the executors' processes count as its own."""
    bench.stage.say(f"a Spark standalone cluster with {SPARK_WORKERS} workers")
    filled, original = filling(bench, CENTRE)
    sample = Sample("spark-cluster", f"{SPARK_WORKERS} workers", bench.causeway.name, 0)
    place = bench.stage.place("spark-cluster", "cluster")
    with (
        voiding(lambda why: bench.note(replace(sample, void=why))),
        SparkCluster(place, workers=SPARK_WORKERS, cores=1, recovers=False) as cluster,
    ):
        mirror: Causeway = replace(
            bench.causeway,
            mirror={**bench.causeway.mirror, "shards": SPARK_WORKERS},
            spark={"master": cluster.url, "properties": cluster.properties()},
            besides=cluster.processes,
        )
        replicate(bench, mirror, filled, original, sample)
    bench.stage.clean()


def filling(bench: Bench, shape: Shape) -> tuple[Filled, Original]:
    """Fill a topic on the source; return it and its content."""
    scale = bench.scale
    records = records_of(shape, scale.records if shape == CENTRE else scale.around_records, scale.megabytes)
    bench.stage.say(f"  writing {records:,} records")
    side = bench.stage.source
    filled = fill(side, bench.stage.name("bench"), shape, records)
    original = Original(side.servers, filled.topic, shape.partitions)
    original.read()
    return filled, original


def replicate(
    bench: Bench, mirror: Mirror, filled: Filled, original: Original, sample: Sample, *,
    idle: bool = False,
) -> None:  # fmt: skip
    """Run one mirror once."""
    stage, shape = bench.stage, filled.shape
    there = mirror.arrives_in(filled.topic)
    with voiding(lambda why: bench.note(replace(sample, void=why))):
        stage.destination.create({there: shape.partitions})
        job = bench.job(bench.place(sample), [filled.topic], shape.partitions, shape.compression)
        bench.introduce(mirror, job)
        with mirror.start(job) as child:
            seen = until_arrived(child, stage.destination, there, shape.counts(filled.records))
            figures = {**course.figures(seen, shape.size), **largest(mirror.workers(child))}
            if idle:
                figures["idle_cores"] = idle_share(child, bench.scale.idle_seconds)
        wrong = original.difference(stage.destination.servers, there, whole=mirror.keeps_all)
        points = [[round(sight.at, 3), float(sight.arrived)] for sight in course.thinned(seen)]
        bench.note(replace(sample, figures=figures, void=wrong, course=points))
    stage.clean(keep=[filled.topic])


def limit(bench: Bench, entry: Limit, filled: Filled, sample: Sample) -> None:
    if not entry.fits(filled):
        return
    stage, shape = bench.stage, filled.shape
    with voiding(lambda why: bench.note(replace(sample, void=why))):
        stage.destination.create({filled.topic: shape.partitions})
        job = bench.job(bench.place(sample), [filled.topic], shape.partitions, shape.compression)
        bench.introduce(entry, job)
        pace = entry.run(job, filled)
        figures = {"records_per_second": pace, "megabytes_per_second": pace * shape.size / 1e6}
        bench.note(replace(sample, figures=figures))
    stage.clean(keep=[filled.topic])
