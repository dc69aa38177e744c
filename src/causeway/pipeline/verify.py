"""The comparison as a Spark batch job: a task for each pair of partitions, and for each pool of them.

pairs, pools (DataFrame, a row for each) ──► compare (mapInArrow: read both sides, align) ──► findings

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
from pyspark import Accumulator, InheritableThread
from pyspark.sql import SparkSession

from causeway.errors import CausewayError
from causeway.kafka.scan import Expired, Partition
from causeway.model.cluster import Cluster
from causeway.model.pool import Pool, PoolFindings
from causeway.model.verdict import Findings, Pair, Passage
from causeway.pipeline.passage import ATTEMPTS, Arrived, Expected, with_fields
from causeway.pipeline.verify_pool import compare_whole
from causeway.policy.alignment import align
from causeway.policy.compaction import compare_latest
from causeway.policy.differences import Span, with_unreadable

PAIRS = pa.schema([("row", pa.int32()), ("pair", pa.string()), ("pool", pa.string())])
FINDINGS = pa.schema([("row", pa.int32()), ("findings", pa.string()), ("failure", pa.binary())])
FINDINGS_DDL = "row int, findings string, failure binary"

WATCH_SECONDS = 0.2

Progress = Callable[[int, int], None]
"""Offsets of both sides that are compared, of so many; of 0 where nobody can say."""

NOTHING_IN_THE_WAY = Passage()


def compare_all(
    spark: SparkSession,
    pools: Sequence[Pool],
    pairs: Sequence[Pair],
    sources: Mapping[str, Cluster],
    destination: Cluster,
    passage: Passage,
    group: str,
    progress: Progress,
    stopping: threading.Event,
) -> tuple[list[PoolFindings], list[Findings]]:
    """Compare every pool and every pair; `sources` are by cluster id.

    Raises the first error that a task met, and KeyboardInterrupt when told to stop.
    """
    comparisons = len(pools) + len(pairs)
    if not comparisons:
        return [], []
    # What a task adds is known here when it has ended: a pair or a pool is done or not.
    done = spark.sparkContext.accumulator(0)
    total = sum(pool.offsets for pool in pools) + sum(pair.offsets for pair in pairs)
    job = _Job(spark, pools, pairs, _task(dict(sources), destination, passage, done), group)
    job.start()
    try:
        while job.is_alive():
            if stopping.is_set():
                raise KeyboardInterrupt
            job.join(WATCH_SECONDS)
            progress(min(done.value, total), total)  # a task that was repeated has added twice
    except BaseException:
        spark.sparkContext.cancelJobGroup(group)
        raise
    if job.failure is not None:
        raise job.failure
    progress(total, total)
    found: dict[int, str] = {}
    for row in job.rows:
        if row["failure"] is not None:
            raise pickle.loads(row["failure"])
        found[row["row"]] = row["findings"]
    return (
        [PoolFindings.from_json(found[number]) for number in range(len(pools))],
        [Findings.from_json(found[number]) for number in range(len(pools), comparisons)],
    )


class _Job(InheritableThread):
    """The Spark job in a thread of its own, so that somebody can watch it."""

    def __init__(
        self,
        spark: SparkSession,
        pools: Sequence[Pool],
        pairs: Sequence[Pair],
        task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        group: str,
    ) -> None:
        super().__init__(target=self._collect, daemon=True)
        self._spark = spark
        self._group = group
        self._task = task
        # Pools first: they take longest.
        self._work = [{"pair": None, "pool": pool.to_json()} for pool in pools]
        self._work += [{"pair": pair.to_json(), "pool": None} for pair in pairs]
        self.rows: list[Any] = []
        self.failure: Exception | None = None

    def _collect(self) -> None:
        context = self._spark.sparkContext
        context.setJobGroup(self._group, f"{self._group}: {len(self._work)} comparisons")
        rows = [{"row": number, **work} for number, work in enumerate(self._work)]
        table = pa.Table.from_pylist(rows, schema=PAIRS)
        try:
            self.rows = self._spark.createDataFrame(table).mapInArrow(self._task, FINDINGS_DDL).collect()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            self.failure = error


def _task(
    sources: dict[str, Cluster],
    destination: Cluster,
    passage: Passage = NOTHING_IN_THE_WAY,
    done: Accumulator[int] | None = None,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Clusters travel with the function; what is secret in them is a reference until a client is made."""

    def findings(pair: str | None, pool: str | None) -> tuple[str, int]:
        """What was found, and how many offsets that took."""
        if pool is not None:
            whole = Pool.from_json(pool)
            return compare_whole(whole, sources, destination, passage).to_json(), whole.offsets
        assert pair is not None
        made = Pair.from_json(pair)
        found = compare(made, sources[made.source.cluster], destination, passage)
        return found.to_json(), made.offsets

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                result = {"row": row["row"], "findings": None, "failure": None}
                try:
                    result["findings"], offsets = findings(row["pair"], row["pool"])
                    if done is not None:
                        done.add(offsets)
                except CausewayError as error:
                    result["failure"] = pickle.dumps(error)
                yield pa.RecordBatch.from_pylist([result], schema=FINDINGS)

    return task


def compare(
    pair: Pair, source: Cluster, destination: Cluster, passage: Passage = NOTHING_IN_THE_WAY
) -> Findings:
    """What one task does: read both sides of a pair and name the differences."""
    here = Expected(source, pair, passage)
    there = pair.place and Arrived(
        destination,
        (pair.place.topic, pair.place.partition),
        pair.place_to,
        passage,
        timestamps=pair.timestamps,
        compacted=pair.compacted,
    )
    for attempt in range(ATTEMPTS):
        try:
            findings = _compare(pair, here, there)
            if here.stop is not None and here.stop[0] < pair.settled:
                # It was carried further once, by another filter: what is not there is behind, not lost.
                findings = _compare(replace(pair, settled=here.stop[0]), here, there)
            break
        except Expired:
            if attempt == ATTEMPTS - 1:
                raise
            pair = _trimmed(pair, here, there)
            time.sleep(1)
    notes = (*here.notes(pair), *(there.notes() if there else ()))
    unread = [offset for offset in here.unreadable if offset < pair.end]
    return replace(
        with_unreadable(findings, unread, [(one, None) for one in there.unreadable] if there else ()),
        filtered=here.left_out.count,
        skipped=here.skipped.count,
        quarantined=here.quarantined.count,
        notes=notes,
        lost=here.lost,
    )


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
    named = tuple(with_fields(one, here, there, pair.timestamps) for one in changed)
    return replace(findings, first={**findings.first, "changed": named})
