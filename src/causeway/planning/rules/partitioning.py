"""Which partition of the destination a source partition goes to.

Nothing is dropped or moved because a partition does not exist: either the destination has what is needed, or
the plan is refused, or `modulo` is set.
"""

from __future__ import annotations

from causeway.core.route import BY_KEY, Placement


def needed(placement: Placement, partitions: int) -> int:
    """How many partitions the destination must have, if the source has `partitions`."""
    if placement.by_key or placement.modulo:
        return 1
    return wished(placement, partitions)


def wished(placement: Placement, partitions: int) -> int:
    """How many partitions the destination gets if Causeway creates it."""
    if placement.fixed is not None:
        return max(partitions, placement.fixed + 1)
    return max([partitions, *(dest + 1 for _, dest in placement.pairs)])


def has_place(placement: Placement, partition: int, there: int) -> bool:
    """Whether a source partition has a place, if the destination has `there` partitions."""
    return placement.modulo or _wanted(placement, partition) < there


def place_of(placement: Placement, partition: int, there: int) -> int:
    """The destination partition of a source partition, if the destination has `there` partitions."""
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
