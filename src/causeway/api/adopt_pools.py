"""`causeway.adopt` with the origin "pool": mirrors of one cluster become mirrors of a source pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from causeway.adoption.adopt import Adoption
from causeway.adoption.pool_adoption import PoolAdoption
from causeway.config import Settings
from causeway.core.adopt_report import AdoptReport, PoolAdoptionReport
from causeway.core.plural import counted
from causeway.errors import CausewayError, IntegrityError, PlanRefused
from causeway.kafka.range_reader import no_progress
from causeway.planning.clusters import chosen


def adopt_pools(
    settings: Settings,
    names: list[str],
    dry_run: bool,
    on_compared: Callable[[PoolAdoptionReport], object] | None,
    confirm: Callable[[AdoptReport], bool] | None,
    on_step: Callable[[str], None] | None,
    on_progress: Callable[[int, int], None] | None,
) -> AdoptReport:
    """Compare the nodes of each pool that a mirror's ledger does not know, then write the pools."""
    adoptions = [PoolAdoption(settings, mirror) for mirror in chosen(settings, names)]
    found: list[PoolAdoptionReport] = []
    for adoption in adoptions:
        for compared in adoption.compare(on_step or _say_nothing, on_progress or no_progress):
            found.append(compared)
            if on_compared is not None:
                on_compared(compared)
    report = AdoptReport((), written=False, pools=tuple(found))
    if not found:
        raise PlanRefused(
            "there is nothing to adopt: no mirror has replicated one node of its source pool alone",
            todo="`causeway run` begins with a pool, or continues with it; `source` must name the pool",
        )
    if dry_run:
        return report
    refuse_nodes(report)
    if confirm is not None and not confirm(report):
        return report
    write_each(adoption for adoption in adoptions if adoption.pools)
    return AdoptReport((), written=True, pools=tuple(found))


def refuse_nodes(report: AdoptReport) -> None:
    """Raise IntegrityError if a node is not one of its pool."""
    for pool in report.pools:
        for node in pool.refused:
            more = len(node.differences) - 1
            raise IntegrityError(
                f"{node.name} cannot be a node of the pool {pool.pool}; {node.differences[0]}"
                + (f", and {counted(more, 'more partition')}" if more else ""),
                where=f'mirror "{pool.mirror}"',
                why="nothing was written",
                todo=f"remove {node.name} from [pools.{pool.pool}], or find out which of both has the right"
                " records: `causeway verify --node`",
            )


def write_each(adoptions: Iterable[Adoption | PoolAdoption]) -> None:
    """Write all of them; an error names those that were written before."""
    written: list[str] = []
    for adoption in adoptions:
        try:
            adoption.write()
        except CausewayError as error:
            if written:
                error.why = "; ".join(filter(None, (error.why, f"adopted before that: {', '.join(written)}")))
            raise
        written.append(adoption.mirror.name)


def _say_nothing(text: str) -> None:
    """Without `on_step`."""
