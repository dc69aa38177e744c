"""Asks the nodes of a source pool for their cluster ids while the mirror runs, without waiting for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from confluent_kafka.admin import AdminClient

from causeway.core.cluster import Cluster
from causeway.errors import CausewayError
from causeway.kafka import clients

RESPONSE_SECONDS = 2.0


class NodeIds:
    def __init__(self, nodes: Iterable[Cluster]) -> None:
        self._nodes = {node.alias: node for node in nodes}
        self._admins: dict[str, AdminClient] = {}
        self._requests: dict[str, Future[Any]] = {}

    def ask(self) -> None:
        """Send a request to each node; `responses` returns what came."""
        for name, node in self._nodes.items():
            with contextlib.suppress(CausewayError):  # a secret that is missing, for example
                if name not in self._admins:
                    self._admins[name] = clients.admin(node)
                request = self._admins[name].describe_cluster(request_timeout=RESPONSE_SECONDS)
                self._requests[name] = request

    def responses(self) -> dict[str, str]:
        """The cluster ids that have arrived since the last call, by the nodes' names."""
        done = {name: request for name, request in self._requests.items() if request.done()}
        for name in done:
            del self._requests[name]
        return {
            name: str(request.result().cluster_id)
            for name, request in done.items()
            if request.exception() is None and request.result().cluster_id
        }
