"""`causeway verify`: are both sides equal, up to the ends captured at the start?"""

from __future__ import annotations

import os
import threading
import time

from causeway.config import Settings
from causeway.core.executor import Executor
from causeway.core.verify_report import Findings, Pair, PartitionVerdict, VerifyReport
from causeway.planning.clusters import chosen
from causeway.spark import executor
from causeway.verification.comparison_job import CompareProgress, compare_all
from causeway.verification.rules.pairing import with_books
from causeway.verification.verify_plan import SayLine, VerifyPlan


def verify(
    settings: Settings,
    names: list[str],
    *,
    wait: bool = False,
    timeout: float | None = None,
    say: SayLine = lambda text: None,
    progress: CompareProgress = lambda done, total: None,
    stopping: threading.Event | None = None,
) -> list[VerifyReport]:
    """Compare both sides of the mirrors with these names, or of all.

    Raises KeyboardInterrupt soon after `stopping` is set. Where Ctrl-C matters, run it outside the main
    thread: in the main thread Spark would handle Ctrl-C, in the middle of whatever it does.
    """
    stopping = stopping or threading.Event()
    captured = [VerifyPlan(settings, mirror, say, stopping, progress) for mirror in chosen(settings, names)]
    for capture in captured:
        capture.take(wait, timeout)
    comparisons = sum(capture.comparisons for capture in captured)
    if not comparisons:
        return [_report(capture, [], 0.0) for capture in captured]
    say("starting Spark")
    running = executor.start(settings.spark, min(comparisons, os.cpu_count() or 1), "causeway verify")
    try:
        return [_compare(running, capture, say, progress, stopping) for capture in captured]
    finally:
        running.stop()


def _compare(
    executor: Executor,
    capture: VerifyPlan,
    say: SayLine,
    progress: CompareProgress,
    stopping: threading.Event,
) -> VerifyReport:
    began = time.monotonic()
    name = capture.mirror.name
    members = sum(len(pool.members) for pool in capture.pools)
    say(f'comparing {len(capture.pairs) + members} partitions of mirror "{name}"')
    wholes, findings = compare_all(
        executor,
        capture.pools,
        capture.pairs,
        capture.clusters,
        capture.destination,
        capture.passage,
        f"causeway.{name}.verify",
        progress,
        stopping,
    )
    verdicts = [_verdict(pair, found) for pair, found in zip(capture.pairs, findings, strict=True)]
    for pool, whole in zip(capture.pools, wholes, strict=True):
        verdicts += map(_verdict, pool.members, whole.members)
        capture.notes += whole.notes
    return _report(capture, verdicts, time.monotonic() - began)


def _verdict(pair: Pair, found: Findings) -> PartitionVerdict:
    found = with_books(found, absent=pair.absent, uncounted=pair.uncounted)
    return PartitionVerdict(pair.source, pair.place, found, pair.declared, (*pair.notes, *found.notes))


def _report(capture: VerifyPlan, partitions: list[PartitionVerdict], seconds: float) -> VerifyReport:
    return VerifyReport(
        mirror=capture.mirror.name,
        sources=tuple(capture.mirror.source),
        destination=capture.mirror.destination,
        at=capture.at,
        seconds=seconds,
        partitions=tuple(sorted(partitions, key=lambda one: one.source)),
        notes=tuple(capture.notes),
        aliases={cluster_id: cluster.alias for cluster_id, cluster in capture.clusters.items()},
    )
