"""The comparison as a Spark batch job: a task for each pair of partitions, and for each pool of them.

pairs, pools (DataFrame, a row for each) ──► compare (mapInArrow: read both sides, align) ──► findings

Tasks return errors as values: a task that raised would be retried a hundred times.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from causeway.core.cluster import Cluster
from causeway.core.executor import ArrowTask, Counter, Executor
from causeway.core.pair import Filtering, Pair
from causeway.core.plural import counted
from causeway.core.pool import Pool, PoolFindings
from causeway.core.verify_report import Findings
from causeway.errors import CausewayError, SetupError
from causeway.kafka.digest_reader import Expired, PartitionReader
from causeway.verification.arrived_records import ArrivedRecords
from causeway.verification.expected_records import ATTEMPTS, ExpectedRecords, with_fields
from causeway.verification.pool_comparison import compare_pool
from causeway.verification.rules.alignment import align
from causeway.verification.rules.compaction import compare_latest
from causeway.verification.rules.difference_types import SourceSpan, with_unreadable

PAIRS = pa.schema([("row", pa.int32()), ("pair", pa.string()), ("pool", pa.string())])
FINDINGS = pa.schema([("row", pa.int32()), ("findings", pa.string()), ("failure", pa.binary())])
FINDINGS_DDL = "row int, findings string, failure binary"

WATCH_SECONDS = 0.2

CompareProgress = Callable[[int, int], None]
"""Called with the offsets of both sides that are compared, and their total; 0 if the total is unknown."""

UNFILTERED = Filtering()


def compare_all(
    executor: Executor,
    pools: Sequence[Pool],
    pairs: Sequence[Pair],
    sources: Mapping[str, Cluster],
    destination: Cluster,
    filtering: Filtering,
    group: str,
    progress: CompareProgress,
    stopping: threading.Event,
) -> tuple[list[PoolFindings], list[Findings]]:
    """Compare every pool and every pair; `sources` are by cluster id.

    Raises the first error of a task, and KeyboardInterrupt when `stopping` is set.
    """
    comparisons = len(pools) + len(pairs)
    if not comparisons:
        return [], []
    done = executor.counter()
    total = sum(pool.offsets for pool in pools) + sum(pair.offsets for pair in pairs)
    task = _task(dict(sources), destination, filtering, done)
    description = f"{group}: {counted(comparisons, 'comparison')}"
    job = executor.submit(task, _table(pools, pairs), FINDINGS_DDL, group, description)
    try:
        while not job.wait(WATCH_SECONDS):
            if stopping.is_set():
                raise KeyboardInterrupt
            progress(min(done.value, total), total)  # a retried task has added twice
    except BaseException:
        job.cancel()
        raise
    if job.failure:
        raise SetupError("the comparison failed in Spark", where=group, why=job.failure, todo="try again")
    progress(total, total)
    findings: dict[int, str] = {}
    for row in job.rows:
        if row["failure"] is not None:
            raise pickle.loads(row["failure"])
        findings[row["row"]] = row["findings"]
    return (
        [PoolFindings.from_json(findings[number]) for number in range(len(pools))],
        [Findings.from_json(findings[number]) for number in range(len(pools), comparisons)],
    )


def _table(pools: Sequence[Pool], pairs: Sequence[Pair]) -> pa.Table:
    """Pools come first: they take longest."""
    rows = [{"pair": None, "pool": pool.to_json()} for pool in pools]
    rows += [{"pair": pair.to_json(), "pool": None} for pair in pairs]
    return pa.Table.from_pylist([{"row": number, **row} for number, row in enumerate(rows)], schema=PAIRS)


def _task(
    sources: dict[str, Cluster],
    destination: Cluster,
    filtering: Filtering = UNFILTERED,
    done: Counter | None = None,
) -> ArrowTask:
    """Clusters travel with the function; their secrets stay references until a client is created."""

    def compare(pair_json: str | None, pool_json: str | None) -> tuple[str, int]:
        """The findings, and how many offsets were compared."""
        if pool_json is not None:
            pool = Pool.from_json(pool_json)
            return compare_pool(pool, sources, destination, filtering).to_json(), pool.offsets
        assert pair_json is not None
        pair = Pair.from_json(pair_json)
        findings = compare_pair(pair, sources[pair.source.cluster], destination, filtering)
        return findings.to_json(), pair.offsets

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                result = {"row": row["row"], "findings": None, "failure": None}
                try:
                    result["findings"], offsets = compare(row["pair"], row["pool"])
                    if done is not None:
                        done.add(offsets)
                except CausewayError as error:
                    result["failure"] = pickle.dumps(error)
                yield pa.RecordBatch.from_pylist([result], schema=FINDINGS)

    return task


def compare_pair(
    pair: Pair, source: Cluster, destination: Cluster, filtering: Filtering = UNFILTERED
) -> Findings:
    """What one task does: read both sides of a pair and classify the differences."""
    source_reader = ExpectedRecords(source, pair, filtering)
    destination_reader = pair.place and ArrivedRecords(
        destination,
        (pair.place.topic, pair.place.partition),
        pair.place_to,
        filtering,
        timestamps=pair.timestamps,
        compacted=pair.compacted,
    )
    for attempt in range(ATTEMPTS):
        try:
            findings = _compare(pair, source_reader, destination_reader)
            if source_reader.stopped_at is not None and source_reader.stopped_at[0] < pair.position:
                # The filter changed since: the mirror got further. Records that did not arrive are `lagging`.
                findings = _compare(
                    replace(pair, position=source_reader.stopped_at[0]), source_reader, destination_reader
                )
            break
        except Expired:
            if attempt == ATTEMPTS - 1:
                raise
            pair = _from_log_starts(pair, source_reader, destination_reader)
            time.sleep(1)
    notes = (*source_reader.notes(pair), *(destination_reader.notes() if destination_reader else ()))
    return replace(
        with_unreadable(
            findings,
            [offset for offset in source_reader.unreadable if offset < pair.end],
            [(offset, None) for offset in destination_reader.unreadable] if destination_reader else (),
        ),
        filtered=source_reader.filtered.count,
        skipped=source_reader.skipped.count,
        quarantined=source_reader.quarantined.count,
        notes=notes,
        lost=source_reader.lost,
    )


def _from_log_starts(
    pair: Pair, source_reader: PartitionReader, destination_reader: PartitionReader | None
) -> Pair:
    """The same pair, from where its logs start now."""
    start = source_reader.log_start()
    place_start = destination_reader.log_start() if destination_reader else 0
    return replace(
        pair,
        source_from=max(pair.source_from, start),
        source_trimmed=pair.source_trimmed or start > pair.source_from,
        place_from=max(pair.place_from, place_start),
        place_trimmed=pair.place_trimmed or place_start > pair.place_from,
    )


def _compare(
    pair: Pair, source_reader: PartitionReader, destination_reader: PartitionReader | None
) -> Findings:
    span = SourceSpan(pair.position, pair.end, pair.source_trimmed, pair.place_trimmed)
    if pair.compacted:
        arrived = destination_reader.keyed_digests(pair.place_from) if destination_reader else iter(())
        findings = compare_latest(source_reader.keyed_digests(pair.source_from), arrived, span)
    else:
        findings = align(
            source_reader.digests,
            destination_reader.digests if destination_reader else lambda _: iter(()),
            span,
            source_from=pair.source_from,
            destination_from=pair.place_from,
        )
    changed = findings.first.get("changed", ())
    if not changed or destination_reader is None:
        return findings
    with_names = tuple(
        with_fields(record, source_reader, destination_reader, pair.timestamps) for record in changed
    )
    return replace(findings, first={**findings.first, "changed": with_names})
