"""Which shard a source partition belongs to (invariant C).

A pure, versioned function: while the number of shards stays, the same partition always belongs to the same
shard. The partitions of one topic spread evenly. A change needs a new generation of the ledger.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from causeway.core.position import SourcePartition

VERSION = 1


def shard_of(source: SourcePartition, shards: int) -> int:
    """The shard (1…n) that serves a source partition."""
    return (_beginning(source.cluster, source.topic) + source.partition) % shards + 1


@lru_cache(maxsize=10_000)  # called for each partition, again and again
def _beginning(cluster: str, topic: str) -> int:
    digest = hashlib.blake2b(f"{cluster}\0{topic}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def default_shards(cores: int, partitions: int) -> int:
    """As many shards as cores, never more than partitions, at least one."""
    return max(1, min(cores, partitions))
