"""`causeway verify`: are both sides equal, up to the ends captured at the start?"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from causeway.config import Settings
from causeway.core.executor import Executor
from causeway.core.pair import Pair
from causeway.core.plural import counted
from causeway.core.verify_report import Findings, PartitionVerdict, VerifyReport
from causeway.planning.clusters import chosen
from causeway.verification.catch_up import SayLine
from causeway.verification.comparison_job import CompareProgress, compare_all
from causeway.verification.rules.pairing import with_quarantine_mismatch
from causeway.verification.verify_plan import VerifyPlan


def verify(
    settings: Settings,
    names: list[str],
    *,
    wait: bool = False,
    timeout: float | None = None,
    node: str = "",
    say: SayLine = lambda text: None,
    progress: CompareProgress = lambda done, total: None,
    stopping: threading.Event,
    open_executor: Callable[[int], Executor],
) -> list[VerifyReport]:
    """Compare both sides of the mirrors with these names, or of all; `node` of their source pools.

    `open_executor` is called with the number of slots that are useful. Raises KeyboardInterrupt soon after
    `stopping` is set.
    """
    plans = [
        VerifyPlan(settings, mirror, say, stopping, progress, node) for mirror in chosen(settings, names)
    ]
    for plan in plans:
        plan.read(wait, timeout)
    comparisons = sum(plan.comparisons for plan in plans)
    if not comparisons:
        return [_report(plan, [], 0.0) for plan in plans]
    say("starting Spark")
    running = open_executor(min(comparisons, os.cpu_count() or 1))
    try:
        return [_compare(running, plan, say, progress, stopping) for plan in plans]
    finally:
        running.stop()


def _compare(
    executor: Executor,
    plan: VerifyPlan,
    say: SayLine,
    progress: CompareProgress,
    stopping: threading.Event,
) -> VerifyReport:
    started = time.monotonic()
    name = plan.mirror.name
    members = sum(len(pool.members) for pool in plan.pools)
    say(f'comparing {counted(len(plan.pairs) + members, "partition")} of mirror "{name}"')
    pool_findings, pair_findings = compare_all(
        executor,
        plan.pools,
        plan.pairs,
        plan.clusters,
        plan.destination,
        plan.filtering,
        f"causeway.{name}.verify",
        progress,
        stopping,
    )
    verdicts = list(map(_verdict, plan.pairs, pair_findings))
    for pool, findings in zip(plan.pools, pool_findings, strict=True):
        verdicts += map(_verdict, pool.members, findings.members)
        plan.notes += findings.notes
    return _report(plan, verdicts, time.monotonic() - started)


def _verdict(pair: Pair, findings: Findings) -> PartitionVerdict:
    findings = with_quarantine_mismatch(
        findings, missing=pair.missing_in_quarantine, uncounted=pair.uncounted_in_quarantine
    )
    notes = (*pair.notes, *findings.notes)
    return PartitionVerdict(pair.source, pair.place, findings, pair.ledger_counts, notes)


def _report(plan: VerifyPlan, partitions: list[PartitionVerdict], seconds: float) -> VerifyReport:
    return VerifyReport(
        mirror=plan.mirror.name,
        sources=tuple(plan.mirror.source),
        destination=plan.mirror.destination,
        at=plan.at,
        seconds=seconds,
        partitions=tuple(sorted(partitions, key=lambda partition: partition.source)),
        notes=tuple(plan.notes),
        aliases=dict(plan.aliases),
        nodes=dict(plan.nodes),
    )
