"""Partitions that are compared as a whole, since several of the source share places on the destination.

A pool is as small as it can be: source partitions and destination partitions that records of the same
sources connect. All of it lies in one topic of the destination.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from causeway.model.route import BY_KEY
from causeway.model.verdict import Findings, Pair


@dataclass(frozen=True, slots=True)
class PoolPlace:
    """A partition of the destination, read from `start` up to `end`."""

    partition: int
    start: int
    end: int
    taken: int = 0  # offsets that retention took of what the mirror wrote, at most


@dataclass(frozen=True, slots=True)
class Pool:
    topic: str  # of the destination
    members: tuple[Pair, ...]  # source partitions; a member's own place is one of `places`, or any of them
    places: tuple[PoolPlace, ...]
    strangers: int = 0  # records there of sources that are not compared, as the ledger says
    held_before: bool = False  # records may have been there before the mirror began, nobody knows how many

    @property
    def compacted(self) -> bool:
        return any(member.compacted for member in self.members)

    @property
    def offsets(self) -> int:
        """How many are read of both sides, as far as it is known before."""
        sources = sum(max(0, one.source_to - one.source_from) for one in self.members)
        return sources + sum(max(0, one.end - one.start) for one in self.places)

    def feeds(self, member: Pair, place: PoolPlace) -> bool:
        """Whether records of the source partition may be there."""
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
    """What the comparison found: for each member its own, and what concerns them all.

    A record of the destination that belongs to no member is in the findings of the first one that has
    records in its partition.
    """

    members: tuple[Findings, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        data = {"members": [one.to_json() for one in self.members], "notes": self.notes}
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> PoolFindings:
        data = json.loads(text)
        return PoolFindings(tuple(map(Findings.from_json, data["members"])), tuple(data["notes"]))
