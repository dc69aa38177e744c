"""Pools: partitions that are compared as a whole, since source partitions share destination partitions.

A pool is minimal: the source partitions and destination partitions that are connected by records of the same
sources. All its places are in one destination topic.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from causeway.core.pair import Pair
from causeway.core.route import BY_KEY
from causeway.core.verify_report import Findings


@dataclass(frozen=True, slots=True)
class PoolPlace:
    """A partition of the destination, read from `start` up to `end`."""

    partition: int
    start: int
    end: int
    expired: int = 0  # at most this many offsets of the mirror's records were deleted by retention


@dataclass(frozen=True, slots=True)
class Pool:
    topic: str  # of the destination
    members: tuple[Pair, ...]  # source partitions; a member's own place is one of `places`, or any of them
    places: tuple[PoolPlace, ...]
    foreign_records: int = 0  # in the places, from sources that are not compared, by the ledger's count
    preexisting: bool = False  # the places may hold records from before the mirror began

    @property
    def compacted(self) -> bool:
        return any(member.compacted for member in self.members)

    @property
    def offsets(self) -> int:
        """How many offsets will be read on both sides, as far as known in advance."""
        sources = sum(max(0, member.source_to - member.source_from) for member in self.members)
        return sources + sum(max(0, place.end - place.start) for place in self.places)

    def feeds(self, member: Pair, place: PoolPlace) -> bool:
        """Whether the place may hold records of this source partition."""
        return member.place is not None and member.place.partition in (place.partition, BY_KEY)

    def to_json(self) -> str:
        data = asdict(self)
        data["members"] = [member.to_json() for member in self.members]
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Pool:
        data = json.loads(text)
        data["members"] = tuple(Pair.from_json(member) for member in data["members"])
        data["places"] = tuple(PoolPlace(**place) for place in data["places"])
        return Pool(**data)


@dataclass(frozen=True, slots=True)
class PoolFindings:
    """What the comparison found: findings for each member, and notes on all of them.

    A destination record that belongs to no member is in the findings of the first member that may have
    records in its partition.
    """

    members: tuple[Findings, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        data = {"members": [member.to_json() for member in self.members], "notes": self.notes}
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> PoolFindings:
        data = json.loads(text)
        return PoolFindings(tuple(map(Findings.from_json, data["members"])), tuple(data["notes"]))
