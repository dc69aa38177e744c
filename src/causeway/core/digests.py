"""Digests of records, as a reader returns them, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

DigestBatch = tuple[list[int], list[bytes]]
"""Ascending offsets, and the digests of their records."""

KeyedDigestBatch = tuple[list[int], list[bytes], list[bytes], list[bool]]
"""Offsets, digests of keys, digests of records, and whether each record is a tombstone."""

DigestReader = Callable[[int], Iterator[DigestBatch]]
"""Reads from an offset on."""
