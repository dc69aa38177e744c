"""Which pairs are compared alone, and which share places on the destination and are compared as a pool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from causeway.core.pool import Pool, PoolPlace
from causeway.core.position import Place, Position
from causeway.core.route import BY_KEY
from causeway.core.topic import Spot
from causeway.core.verify_report import Pair
from causeway.verification.rules.pairing import spreads


@dataclass(frozen=True, slots=True)
class Ground:
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


def grouped(
    pairs: Sequence[Pair],
    others: Iterable[Position],
    grounds: Mapping[Spot, Ground],
    *,
    begins: Mapping[Spot, int] | None = None,
    held_before: Collection[str] = (),
    sifted: bool = False,
) -> tuple[list[Pair], list[Pool]]:
    """Pairs to compare alone, and pools of all others.

    `others` are the positions of sources that are not compared: their records are there as well.
    `begins`: where the mirror began in partitions that its positions do not name, if not at 0.
    `held_before` are destination topics where that is unknown. `sifted`: not every source record is
    replicated (a pair may also say so for itself). Then a compacted topic must be compared as a pool, since
    records that were left out replace others all the same.
    """
    groups: dict[Spot, _Group] = {}
    alone: list[Pair] = []
    for pair in pairs:
        if pair.place is None:
            alone.append(pair)
        else:
            _enter(groups, _spots(pair.place, grounds), _Group(pairs=[pair]))
    for position in others:
        place = position.place._replace(partition=BY_KEY) if spreads(position) else position.place
        spots = _spots(place, grounds)
        if any(spot in groups for spot in spots):
            _enter(groups, spots, _Group(others=[position]))
    pools = []
    for group in {id(group): group for group in groups.values()}.values():
        first = group.pairs[0]
        assert first.place is not None
        single = len(group.pairs) + len(group.others) == 1 and first.place.partition != BY_KEY
        if single and not (first.compacted and (sifted or first.sifted)):
            alone.append(first)
        else:
            pools.append(_pool(group, grounds, begins or {}, first.place.topic in held_before))
    return alone, pools


def _spots(place: Place, grounds: Mapping[Spot, Ground]) -> list[Spot]:
    if place.partition != BY_KEY:
        return [(place.topic, place.partition)]
    return [spot for spot in grounds if spot[0] == place.topic]


def _enter(groups: dict[Spot, _Group], spots: Iterable[Spot], group: _Group) -> None:
    """Join all groups that have a spot in common."""
    group.spots |= set(spots)
    for known in {id(found): found for spot in group.spots if (found := groups.get(spot))}.values():
        group.join(known)
    for spot in group.spots:
        groups[spot] = group


def _pool(
    group: _Group, grounds: Mapping[Spot, Ground], begins: Mapping[Spot, int], held_before: bool
) -> Pool:
    members = sorted(group.pairs, key=lambda pair: pair.source)
    ((topic, _), *_) = group.spots
    return Pool(
        topic=topic,
        members=tuple(members),
        places=tuple(
            _place(group, spot[1], grounds[spot], begins.get(spot, 0)) for spot in sorted(group.spots)
        ),
        strangers=sum(position.tally.delivered for position in group.others)
        + sum(pair.earlier for pair in members),
        held_before=held_before and any(pair.place and pair.place.partition == BY_KEY for pair in members),
    )


def _place(group: _Group, number: int, ground: Ground, begin: int) -> PoolPlace:
    """From where the first of them began; `begin` is for those whose positions do not show it."""
    began = [
        pair.place_from - pair.place_taken if pair.place.partition != BY_KEY else begin
        for pair in group.pairs
        if pair.place and pair.place.partition in (number, BY_KEY)
    ]
    began += [
        begin if spreads(position) else position.place_start
        for position in group.others
        if spreads(position) or position.place.partition == number
    ]
    start = max(min(began), ground.log_start)
    return PoolPlace(number, start, ground.end, taken=start - min(began))
