"""The checks of a source pool's nodes end when they are told to, also while a request is under way."""

from __future__ import annotations

import socket
import threading

from causeway.core.cluster import Cluster
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.kafka.pool_watch import PoolWatch


def test_no_thread_is_left_when_a_process_may_end() -> None:
    """An interpreter that ends under a thread that is in the client may end with a signal."""
    with socket.create_server(("127.0.0.1", 0)) as hanging:  # accepts connections, and never responds
        servers = f"127.0.0.1:{hanging.getsockname()[1]}"
        node = PoolNode(Cluster("hanging", {"bootstrap.servers": servers}), "its-cluster-id")
        pool = SourcePool("pool", "its-cluster-id", (node,), request_timeout=60.0)
        watch = PoolWatch(pool, {("orders", 0)})
        hanging.settimeout(30.0)
        connection, _ = hanging.accept()
        with connection:  # the client has connected: its request is under way
            assert _checking()
            watch.close(30.0)
    assert not _checking()


def _checking() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("watch ")]
