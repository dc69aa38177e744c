"""Which partition of the destination a source partition goes to.

Nothing is dropped or moved because a partition does not exist: either the destination has what is
needed, or the plan is refused, or `modulo` was asked for.
"""

from __future__ import annotations

from causeway.model.route import BY_KEY, Placement


def needed(placement: Placement, partitions: int) -> int:
    """How many partitions the destination must have, for so many of the source."""
    if placement.by_key or placement.modulo:
        return 1
    return wished(placement, partitions)


def wished(placement: Placement, partitions: int) -> int:
    """How many partitions the destination has if we make it."""
    if placement.fixed is not None:
        return max(partitions, placement.fixed + 1)
    return max([partitions, *(dest + 1 for _, dest in placement.pairs)])


def has_place(placement: Placement, partition: int, there: int) -> bool:
    """Whether a partition of the source has one at the destination, where there are so many."""
    return placement.modulo or _wanted(placement, partition) < there


def place_of(placement: Placement, partition: int, there: int) -> int:
    """The destination's partition for one of the source, where there are so many."""
    wanted = _wanted(placement, partition)
    if wanted < there:
        return wanted
    if not placement.modulo:
        raise ValueError(f"partition {wanted} does not exist, there are {there}")
    return wanted % there


def _wanted(placement: Placement, partition: int) -> int:
    if placement.fixed is not None:
        return placement.fixed
    if placement.pairs:
        return dict(placement.pairs).get(partition, partition)
    return BY_KEY if placement.by_key else partition
