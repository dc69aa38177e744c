"""The comparison as a Spark batch job: a task for each pair of partitions.

pairs (DataFrame, a row for each) ──► compare (mapInArrow: read both sides, align) ──► findings

Errors come back as values: a task that raised would be retried a hundred times.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from causeway.errors import CausewayError
from causeway.kafka.scan import Expired, Partition, differing_fields
from causeway.model.cluster import Cluster
from causeway.model.verdict import Coordinates, Findings, Pair
from causeway.policy.alignment import align
from causeway.policy.compaction import compare_latest
from causeway.policy.differences import Span

PAIRS = pa.schema([("row", pa.int32()), ("pair", pa.string())])
FINDINGS = pa.schema([("row", pa.int32()), ("findings", pa.string()), ("failure", pa.binary())])
FINDINGS_DDL = "row int, findings string, failure binary"

ATTEMPTS = 3
"""Retention may take records away while they are read; then both log starts are asked for again."""

WATCH_SECONDS = 0.2

Progress = Callable[[int, int], None]
"""Pairs that are done, of so many."""


def compare_all(
    spark: SparkSession,
    pairs: Sequence[Pair],
    sources: Mapping[str, Cluster],
    destination: Cluster,
    group: str,
    progress: Progress,
    stopping: threading.Event,
) -> list[Findings]:
    """Compare every pair; `sources` are by cluster id.

    Raises the first error that a task met, and KeyboardInterrupt when told to stop.
    """
    if not pairs:
        return []
    job = _Job(spark, pairs, sources, destination, group)
    job.start()
    try:
        while job.is_alive():
            if stopping.is_set():
                raise KeyboardInterrupt
            job.join(WATCH_SECONDS)
            progress(min(_done(spark, group), len(pairs)), len(pairs))
    except BaseException:
        spark.sparkContext.cancelJobGroup(group)
        raise
    if job.failure is not None:
        raise job.failure
    progress(len(pairs), len(pairs))
    found: dict[int, Findings] = {}
    for row in job.rows:
        if row["failure"] is not None:
            raise pickle.loads(row["failure"])
        found[row["row"]] = Findings.from_json(row["findings"])
    return [found[number] for number in range(len(pairs))]


class _Job(InheritableThread):
    """The Spark job in a thread of its own, so that somebody can watch it."""

    def __init__(
        self,
        spark: SparkSession,
        pairs: Sequence[Pair],
        sources: Mapping[str, Cluster],
        destination: Cluster,
        group: str,
    ) -> None:
        super().__init__(target=self._collect, daemon=True)
        self._spark = spark
        self._group = group
        self._sources = sources
        self._destination = destination
        self._pairs = pairs
        self.rows: list[Any] = []
        self.failure: Exception | None = None

    def _collect(self) -> None:
        context = self._spark.sparkContext
        context.setJobGroup(self._group, f"{self._group}: {len(self._pairs)} partitions")
        table = pa.table(
            {
                "row": pa.array(range(len(self._pairs)), pa.int32()),
                "pair": [pair.to_json() for pair in self._pairs],
            },
            schema=PAIRS,
        )
        # Clusters travel with the function; what is secret in them is a reference until a client is made.
        task = _task(dict(self._sources), self._destination)
        try:
            self.rows = self._spark.createDataFrame(table).mapInArrow(task, FINDINGS_DDL).collect()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            self.failure = error


def _done(spark: SparkSession, group: str) -> int:
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage)


def _task(
    sources: dict[str, Cluster], destination: Cluster
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                pair = Pair.from_json(row["pair"])
                result = {"row": row["row"], "findings": None, "failure": None}
                try:
                    result["findings"] = compare(pair, sources[pair.source.cluster], destination).to_json()
                except CausewayError as error:
                    result["failure"] = pickle.dumps(error)
                yield pa.RecordBatch.from_pylist([result], schema=FINDINGS)

    return task


def compare(pair: Pair, source: Cluster, destination: Cluster) -> Findings:
    """What one task does: read both sides of a pair and name the differences."""
    here = Partition(
        source, pair.source.topic, pair.source.partition, pair.source_to, timestamps=pair.timestamps
    )
    there = pair.place and Partition(
        destination, pair.place.topic, pair.place.partition, pair.place_to, timestamps=pair.timestamps
    )
    for attempt in range(ATTEMPTS):
        try:
            return _compare(pair, here, there)
        except Expired:
            if attempt == ATTEMPTS - 1:
                raise
            pair = _trimmed(pair, here, there)
            time.sleep(1)
    raise AssertionError("unreachable")


def _trimmed(pair: Pair, here: Partition, there: Partition | None) -> Pair:
    """The same pair from where its logs begin now."""
    start, place_start = here.log_start(), there.log_start() if there else 0
    return replace(
        pair,
        source_from=max(pair.source_from, start),
        source_trimmed=pair.source_trimmed or start > pair.source_from,
        place_from=max(pair.place_from, place_start),
        place_trimmed=pair.place_trimmed or place_start > pair.place_from,
    )


def _compare(pair: Pair, here: Partition, there: Partition | None) -> Findings:
    span = Span(pair.settled, pair.end, pair.source_trimmed, pair.place_trimmed)
    if pair.compacted:
        arrived = there.keyed_digests(pair.place_from) if there else iter(())
        findings = compare_latest(here.keyed_digests(pair.source_from), arrived, span)
    else:
        findings = align(
            here.digests,
            there.digests if there else lambda _: iter(()),
            span,
            source_from=pair.source_from,
            destination_from=pair.place_from,
        )
    changed = findings.first.get("changed", ())
    if not changed or there is None:
        return findings
    named = tuple(_with_fields(one, here, there, pair.timestamps) for one in changed)
    return replace(findings, first={**findings.first, "changed": named})


def _with_fields(one: Coordinates, here: Partition, there: Partition, timestamps: bool) -> Coordinates:
    """Read both records once more to say what differs in them."""
    assert one.source is not None
    assert one.destination is not None
    before, after = here.record_at(one.source), there.record_at(one.destination)
    return replace(one, fields=differing_fields(before, after, timestamps=timestamps))
