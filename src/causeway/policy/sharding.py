"""Which shard a source partition belongs to (invariant C).

A pure, versioned function: the same partition always lands in the same shard while the count stays,
and the partitions of one topic spread evenly. Changing it means a new generation of the ledger.
"""

from __future__ import annotations

import hashlib

from causeway.model.position import SourcePartition

VERSION = 1


def shard_of(source: SourcePartition, shards: int) -> int:
    """The shard (1…n) that serves a source partition."""
    name = f"{source.cluster}\0{source.topic}".encode()
    digest = hashlib.blake2b(name, digest_size=8).digest()
    return (int.from_bytes(digest, "big") + source.partition) % shards + 1


def default_shards(cores: int, partitions: int) -> int:
    """As many shards as cores, never more than partitions, at least one."""
    return max(1, min(cores, partitions))
