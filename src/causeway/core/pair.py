"""A source partition and the destination partition it is compared with. Sent to the executors as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from causeway.core.filtering import FilterSpec
from causeway.core.position import Place, SourcePartition
from causeway.core.schema import SchemaUse


@dataclass(frozen=True, slots=True)
class Filtering:
    """The filters and the provenance rule of a mirror, which decide what must not arrive, and added times."""

    filters: tuple[FilterSpec, ...] = ()
    not_back_to: str | None = None  # with provenance: records that came from this cluster id are skipped
    times: bool = False  # the mirror adds times to the headers: they are not compared
    # Ids of schemas that are others at the destination, by the records that name them.
    schemas: Mapping[SchemaUse, int] = field(default_factory=dict)

    @property
    def keeps_all(self) -> bool:
        """Whether every record arrives, without a mark of origin."""
        return not self.filters and self.not_back_to is None


@dataclass(frozen=True, slots=True)
class Pair:
    """One source partition and the destination partition that should hold its records."""

    source: SourcePartition
    source_from: int
    position: int  # in the ledger: offsets before it must be on the destination
    end: int  # the captured end: offsets before it that are not on the destination are `lagging`
    source_to: int  # read up to here, to know what was replicated meanwhile
    place: Place | None  # None: nothing replicated, or no such topic; BY_KEY: any partition of the topic
    place_from: int
    place_to: int
    compacted: bool
    timestamps: bool  # whether timestamps must agree
    source_trimmed: bool = False  # retention deleted what the mirror began with
    place_trimmed: bool = False  # the same on the destination
    source_expired: int = 0  # how many of the mirror's offsets retention deleted
    place_expired: int = 0
    delivered: int = 0  # records, by the ledger's count
    ledger_counts: Mapping[str, int] = field(default_factory=dict)  # of filtered and quarantined records
    notes: tuple[str, ...] = ()
    skipped: tuple[tuple[int, int], ...] = ()  # source offsets that the ledger declares as skipped, from … to
    quarantined: tuple[tuple[int, int], ...] = ()  # source offsets whose records are in quarantine
    repeats: bool = False  # some offsets were replicated more than once, after an operator moved back
    earlier_topic_records: int = 0  # the place holds at most this many of an earlier topic of this name
    missing_in_quarantine: int = 0  # records that the ledger counts, but that are not there
    uncounted_in_quarantine: int = 0  # records that are there, but that the ledger does not count
    source_compacted: bool = False

    @property
    def offsets(self) -> int:
        """How many offsets will be read on both sides, as far as known in advance."""
        destination = self.place_to - self.place_from if self.place else 0
        return max(0, self.source_to - self.source_from) + max(0, destination)

    @property
    def omits_records(self) -> bool:
        """Whether skipped or quarantined records may have replaced others of their keys."""
        return bool(self.skipped or self.quarantined)

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Pair:
        data = json.loads(text)
        data["source"] = SourcePartition(*data["source"])
        data["place"] = data["place"] and Place(*data["place"])
        data["notes"] = tuple(data["notes"])
        for name in ("skipped", "quarantined"):
            data[name] = tuple((begin, end) for begin, end in data[name])
        return Pair(**data)
