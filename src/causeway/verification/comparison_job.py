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
from causeway.core.pool import Pool, PoolFindings
from causeway.core.verify_report import Findings, Pair, Passage
from causeway.errors import CausewayError, SetupError
from causeway.kafka.digest_reader import Expired, PartitionReader
from causeway.verification.expected_records import ATTEMPTS, Arrived, ExpectedRecords, with_fields
from causeway.verification.pool_comparison import compare_whole
from causeway.verification.rules.alignment import align
from causeway.verification.rules.compaction import compare_latest
from causeway.verification.rules.difference_types import SourceSpan, with_unreadable

PAIRS = pa.schema([("row", pa.int32()), ("pair", pa.string()), ("pool", pa.string())])
FINDINGS = pa.schema([("row", pa.int32()), ("findings", pa.string()), ("failure", pa.binary())])
FINDINGS_DDL = "row int, findings string, failure binary"

WATCH_SECONDS = 0.2

CompareProgress = Callable[[int, int], None]
"""Called with the offsets of both sides that are compared, and their total; 0 if the total is unknown."""

NOTHING_IN_THE_WAY = Passage()


def compare_all(
    executor: Executor,
    pools: Sequence[Pool],
    pairs: Sequence[Pair],
    sources: Mapping[str, Cluster],
    destination: Cluster,
    passage: Passage,
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
    task = _task(dict(sources), destination, passage, done)
    description = f"{group}: {comparisons} comparisons"
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
    found: dict[int, str] = {}
    for row in job.rows:
        if row["failure"] is not None:
            raise pickle.loads(row["failure"])
        found[row["row"]] = row["findings"]
    return (
        [PoolFindings.from_json(found[number]) for number in range(len(pools))],
        [Findings.from_json(found[number]) for number in range(len(pools), comparisons)],
    )


def _table(pools: Sequence[Pool], pairs: Sequence[Pair]) -> pa.Table:
    """Pools come first: they take longest."""
    work = [{"pair": None, "pool": pool.to_json()} for pool in pools]
    work += [{"pair": pair.to_json(), "pool": None} for pair in pairs]
    return pa.Table.from_pylist([{"row": number, **one} for number, one in enumerate(work)], schema=PAIRS)


def _task(
    sources: dict[str, Cluster],
    destination: Cluster,
    passage: Passage = NOTHING_IN_THE_WAY,
    done: Counter | None = None,
) -> ArrowTask:
    """Clusters travel with the function; their secrets stay references until a client is created."""

    def findings(pair: str | None, pool: str | None) -> tuple[str, int]:
        """The findings, and how many offsets were compared."""
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
    """What one task does: read both sides of a pair and classify the differences."""
    here = ExpectedRecords(source, pair, passage)
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
                # An earlier filter let it replicate further: what is absent is `behind`, not missing.
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


def _trimmed(pair: Pair, here: PartitionReader, there: PartitionReader | None) -> Pair:
    """The same pair, from where its logs start now."""
    start, place_start = here.log_start(), there.log_start() if there else 0
    return replace(
        pair,
        source_from=max(pair.source_from, start),
        source_trimmed=pair.source_trimmed or start > pair.source_from,
        place_from=max(pair.place_from, place_start),
        place_trimmed=pair.place_trimmed or place_start > pair.place_from,
    )


def _compare(pair: Pair, here: PartitionReader, there: PartitionReader | None) -> Findings:
    span = SourceSpan(pair.settled, pair.end, pair.source_trimmed, pair.place_trimmed)
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
