"""Limits of a fetch that the client accepts."""

from __future__ import annotations

import pytest

from causeway.core.cluster import Cluster
from causeway.kafka import clients


@pytest.mark.parametrize("size", [1_000, 256 * 1024, 8 << 20])
def test_the_client_accepts_every_fetch_size(size: int) -> None:
    """Nine shards share 8 MiB: less than the client's own message.max.bytes for each."""
    unreachable = Cluster("unreachable", {"bootstrap.servers": "127.0.0.1:9", "message.max.bytes": "5000000"})
    clients.consumer(unreachable, "g", fetch_bytes=size).close()
