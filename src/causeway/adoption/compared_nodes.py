"""Reads what nodes of a pool have before a mirror's positions."""

from __future__ import annotations

from collections.abc import Mapping

from causeway.core.adopt_report import ComparedNode
from causeway.core.position import KnownRecord, Position, SourcePartition
from causeway.core.topic import Spot
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.node_comparison import compare_nodes
from causeway.kafka.range_reader import ReadProgress, last_digests

LAST_RECORDS = 100
"""How many records before each position are compared."""


def last_known(
    first: ClusterView, positions: Mapping[SourcePartition, Position], progress: ReadProgress
) -> dict[SourcePartition, KnownRecord]:
    """The last record before each position, where the log still has one."""
    spots: dict[Spot, SourcePartition] = {(source.topic, source.partition): source for source in positions}
    starts, ends = first.offsets(spots, "earliest"), first.offsets(spots, "stable")
    limits = {
        spot: (starts[spot], min(ends[spot], positions[source].offset))
        for spot, source in spots.items()
        if spot in starts and spot in ends
    }
    some = {spot: (begin, end) for spot, (begin, end) in limits.items() if begin < end}
    found = last_digests(first.cluster, some, 1, progress)
    return {spots[spot]: ending.seen[-1] for spot, ending in found.items() if ending.seen}


def compare_with_first(
    first: ClusterView, node: ClusterView, before: Mapping[Spot, int], progress: ReadProgress
) -> ComparedNode:
    """Compare the last records before these offsets. Raises CausewayError if a node cannot be read."""
    name = node.cluster.alias
    try:
        compared = compare_nodes(first, node, before, LAST_RECORDS, before, progress)
        existing = first.offsets(before, "latest")
    except CausewayError as error:
        error.cluster = error.cluster or name
        raise
    differences = []
    for spot in sorted(before):
        partition = f"{spot[0]}[{spot[1]}]"
        if spot not in compared:
            if spot in existing:
                differences.append(f"{partition}: {name} does not have it, or it has no leader")
        elif why := compared[spot].difference or compared[spot].apart:
            differences.append(f"{partition}: {name} {why}")
    equal = [found for found in compared.values() if found.records]
    if before and not equal and not differences:
        differences.append(f"no record before the positions is left to compare {name} with")
    return ComparedNode(name, sum(found.records for found in equal), len(equal), tuple(differences))
