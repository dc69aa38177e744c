"""Output of `causeway adopt --from pool`: how the nodes compare with the one that was replicated."""

from __future__ import annotations

from causeway.core.adopt_report import AdoptReport, PoolAdoptionReport
from causeway.core.plural import counted
from causeway.printable import printable

DIFFERENCES_SHOWN = 5


def show_pool(pool: PoolAdoptionReport) -> None:
    positions = counted(pool.positions, "position")
    print(printable(f"{pool.mirror}: pool {pool.pool}: {positions} of {pool.first}"))
    for node in pool.nodes:
        if not node.differences:
            records, partitions = counted(node.records, "record"), counted(node.partitions, "partition")
            print(
                printable(f"{node.name}: the last {records} before the positions of {partitions} are equal")
            )
        for line in node.differences[:DIFFERENCES_SHOWN]:
            print(printable(f"refused: {line}"))
        if (more := len(node.differences) - DIFFERENCES_SHOWN) > 0:
            print(f"refused: … and {counted(more, 'more partition')} of {node.name}")
    print("Not checked: records before those that were compared; `causeway verify --node` compares all.")


def pool_question(report: AdoptReport) -> str:
    nodes = ", ".join(f"{pool.pool} with {counted(len(pool.nodes) + 1, 'node')}" for pool in report.pools)
    return f"Continue the positions with the pool {nodes}?"
