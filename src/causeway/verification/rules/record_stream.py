"""One side of a comparison: a record stream that keeps unmatched records, and a reader that looks ahead."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from causeway.core.digests import DigestBatch, DigestReader


class RecordStream:
    """One side's record stream: what was read and is not matched yet."""

    def __init__(self, side: DigestReader, start: int) -> None:
        self._batches = side(start)
        self.offsets: list[int] = []
        self.digests: list[bytes] = []
        self.ended = False

    def fill(self, wanted: int) -> None:
        """Reads until `wanted` records are buffered, or the side ends."""
        while len(self.digests) < wanted and not self.ended:
            batch = next(self._batches, None)
            if batch is None:
                self.ended = True
            else:
                self.offsets += batch[0]
                self.digests += batch[1]

    def take(self, count: int) -> DigestBatch:
        """The next records, which are removed from the buffer."""
        taken = self.offsets[:count], self.digests[:count]
        del self.offsets[:count], self.digests[:count]
        return taken

    def count_before(self, offset: int) -> int:
        """How many buffered records are before an offset; reads on if none is buffered."""
        self.fill(1)
        return bisect_left(self.offsets, offset)


class LookAhead:
    """Reads one side ahead and keeps the records that `selects` chooses, and where to start before them."""

    def __init__(self, side: DigestReader, start: int, selects: Callable[[bytes], bool], margin: int) -> None:
        self._batches = side(start)
        self._selects = selects
        self._margin = margin
        self._records_read = 0
        self._margin_offsets: list[int] = []  # the offset of every margin-th record
        self._indexes: list[int] = []
        self.selected: list[bytes] = []
        self.ended = False

    def read(self, until: int) -> None:
        while self._records_read < until and not self.ended:
            batch = next(self._batches, None)
            if batch is None:
                self.ended = True
                return
            offsets, digests = batch
            first = -self._records_read % self._margin
            self._margin_offsets += offsets[first :: self._margin]
            for i, digest in enumerate(digests):
                # A record that repeats in a row proves nothing, and would fill the memory.
                if self._selects(digest) and not (self.selected and self.selected[-1] == digest):
                    self.selected.append(digest)
                    self._indexes.append(self._records_read + i)
            self._records_read += len(digests)

    def before(self, selected: int) -> int:
        """An offset one to two margins of records before a selected record."""
        return self._margin_offsets[max(0, self._indexes[selected] // self._margin - 1)]
