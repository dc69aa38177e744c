"""Which pairs are compared alone, and which share places on the destination and are compared as a pool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from causeway.core.pair import Pair
from causeway.core.pool import Pool, PoolPlace
from causeway.core.position import Place, Position
from causeway.core.route import BY_KEY
from causeway.core.topic import Spot
from causeway.verification.rules.pairing import in_any_partition


@dataclass(frozen=True, slots=True)
class PlaceBounds:
    """A partition of the destination, as the brokers report it."""

    log_start: int
    end: int


@dataclass(slots=True)
class _Group:
    spots: set[Spot] = field(default_factory=set)
    pairs: list[Pair] = field(default_factory=list)
    others: list[Position] = field(default_factory=list)

    def join(self, other: _Group) -> None:
        self.spots |= other.spots
        self.pairs += other.pairs
        self.others += other.others


def group_pairs(
    pairs: Sequence[Pair],
    others: Iterable[Position],
    bounds: Mapping[Spot, PlaceBounds],
    *,
    adopted_ends: Mapping[Spot, int] | None = None,
    preexisting: Collection[str] = (),
    omits_records: bool = False,
) -> tuple[list[Pair], list[Pool]]:
    """Pairs to compare alone, and pools of all others.

    `others` are the positions of sources that are not compared: their records are there as well.
    `adopted_ends`: where the mirror began in partitions that its positions do not name, if not at 0.
    `preexisting` are destination topics where that is unknown. `omits_records`: not every source record is
    replicated (a pair has the same flag for itself). Then a compacted topic must be compared as a pool, since
    records that are not replicated replace others of their keys all the same.
    """
    groups: dict[Spot, _Group] = {}
    alone: list[Pair] = []
    for pair in pairs:
        if pair.place is None:
            alone.append(pair)
        else:
            _join_groups(groups, _spots(pair.place, bounds), _Group(pairs=[pair]))
    for position in others:
        place = position.place._replace(partition=BY_KEY) if in_any_partition(position) else position.place
        spots = _spots(place, bounds)
        if any(spot in groups for spot in spots):
            _join_groups(groups, spots, _Group(others=[position]))
    pools = []
    for group in {id(group): group for group in groups.values()}.values():
        first = group.pairs[0]
        assert first.place is not None
        single = len(group.pairs) + len(group.others) == 1 and first.place.partition != BY_KEY
        if single and not (first.compacted and (omits_records or first.omits_records)):
            alone.append(first)
        else:
            pools.append(_pool(group, bounds, adopted_ends or {}, first.place.topic in preexisting))
    return alone, pools


def _spots(place: Place, bounds: Mapping[Spot, PlaceBounds]) -> list[Spot]:
    if place.partition != BY_KEY:
        return [(place.topic, place.partition)]
    return [spot for spot in bounds if spot[0] == place.topic]


def _join_groups(groups: dict[Spot, _Group], spots: Iterable[Spot], group: _Group) -> None:
    """Join all groups that have a spot in common."""
    group.spots |= set(spots)
    overlapping = {id(groups[spot]): groups[spot] for spot in group.spots if spot in groups}
    for other in overlapping.values():
        group.join(other)
    for spot in group.spots:
        groups[spot] = group


def _pool(
    group: _Group, bounds: Mapping[Spot, PlaceBounds], adopted_ends: Mapping[Spot, int], preexisting: bool
) -> Pool:
    members = sorted(group.pairs, key=lambda pair: pair.source)
    ((topic, _), *_) = group.spots
    return Pool(
        topic=topic,
        members=tuple(members),
        places=tuple(
            _place(group, spot[1], bounds[spot], adopted_ends.get(spot, 0)) for spot in sorted(group.spots)
        ),
        foreign_records=sum(position.tally.delivered for position in group.others)
        + sum(pair.earlier_topic_records for pair in members),
        preexisting=preexisting and any(pair.place and pair.place.partition == BY_KEY for pair in members),
    )


def _place(group: _Group, number: int, place_bounds: PlaceBounds, adopted_end: int) -> PoolPlace:
    """Starts where the first member began; `adopted_end` is for members whose positions do not show it."""
    starts = [
        pair.place_from - pair.place_expired if pair.place.partition != BY_KEY else adopted_end
        for pair in group.pairs
        if pair.place and pair.place.partition in (number, BY_KEY)
    ]
    starts += [
        adopted_end if in_any_partition(position) else position.place_start
        for position in group.others
        if in_any_partition(position) or position.place.partition == number
    ]
    start = max(min(starts), place_bounds.log_start)
    return PoolPlace(number, start, place_bounds.end, expired=start - min(starts))
