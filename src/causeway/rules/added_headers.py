"""The headers that a mirror adds to the records that it replicates: origin and times."""

from __future__ import annotations

from dataclasses import dataclass

from causeway.rules.header_names import MOST_HEADERS, Headers
from causeway.rules.provenance import marked
from causeway.rules.timings import with_times

ORIGIN_BYTES = TIMES_BYTES = 100
"""Upper bounds of what they take in a batch."""


@dataclass(frozen=True, slots=True)
class AddedHeaders:
    """What is added to the records of one poll."""

    origin: bytes | None = None  # the id of the records' cluster, with provenance
    consumed: int | None = None  # when they were consumed, with times

    def to(self, headers: Headers | None, now: int) -> Headers:
        """The headers with what is added, for a record that is produced now."""
        added: Headers = headers or ()
        if self.origin is not None:
            added = marked(added, self.origin)
        if self.consumed is not None:
            added = with_times(added, self.consumed, now)
        return added

    def fits(self, headers: Headers | None) -> bool:
        """Whether the record can be read again with what is added."""
        return len(self.to(headers, 0)) <= MOST_HEADERS


def added_bytes(*, origin: bool, times: bool) -> int:
    """How much larger records become, at most."""
    return ORIGIN_BYTES * origin + TIMES_BYTES * times
