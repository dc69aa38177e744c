"""The destination as `verify` must see it: a mirror with provenance wrote marked records alone.

Records without the mark are the destination's own, and are not compared. Neither are times in headers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from causeway.core.cluster import Cluster
from causeway.core.pair import Filtering
from causeway.core.plural import counted
from causeway.kafka.digest_reader import PartitionReader
from causeway.rules.provenance import HEADER
from causeway.verification.expected_records import OmittedRecords
from causeway.verification.record_times import without_times


class ArrivedRecords(PartitionReader):
    """A destination partition's records, without the destination's own."""

    def __init__(
        self,
        cluster: Cluster,
        place: tuple[str, int],
        end: int,
        filtering: Filtering,
        *,
        timestamps: bool,
        compacted: bool,
    ) -> None:
        super().__init__(cluster, *place, end, timestamps=timestamps)
        self._only_marked = filtering.not_back_to is not None
        self._times = filtering.times
        self.unmarked = OmittedRecords(end, compacted)

    def notes(self) -> list[str]:
        count = self.unmarked.count
        if not count:
            return []
        return [f"not compared: {counted(count, 'record')} of the destination itself (no mark of origin)"]

    def _messages(self, start: int) -> Iterator[list[Any]]:
        batches = super()._messages(start)
        for messages in without_times(batches) if self._times else batches:
            if not self._only_marked:
                yield messages
            elif kept := [message for message in messages if self._is_marked(message)]:
                yield kept

    def _is_marked(self, message: Any) -> bool:
        if message.unreadable or any(name == HEADER for name, _ in message.headers() or ()):
            return True
        self.unmarked.add(message)
        return False
