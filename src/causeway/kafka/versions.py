"""The versions of Kafka's requests that the brokers of a cluster support.

No client API reports them, but librdkafka asks every broker it connects to (ApiVersions) and, with
`debug=feature`, logs the response:

    APIVERSION [causeway-…#producer-1] […]: paris-1:9092/1:   ApiKey Produce (0) Versions 0..13

So this module creates a short-lived client and reads its log. That works with every security protocol
that the client supports.
"""

from __future__ import annotations

import logging
import re
import uuid
from dataclasses import replace

from confluent_kafka import KafkaException

from causeway.core.cluster import Cluster
from causeway.kafka import clients

SECONDS = 5.0
_API = re.compile(
    r"APIVERSION .*?: (?P<broker>\S+):\s+ApiKey .* \((?P<key>\d+)\) Versions \d+\.\.(?P<high>\d+)"
)


class _Lines(logging.Handler):
    """Collects the log of one client, selected by its id: all clients of the process share a logger."""

    def __init__(self, client: str) -> None:
        super().__init__(logging.DEBUG)
        self._client = f"[{client}#"
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if self._client in line:
            self.lines.append(line)


def highest_versions(cluster: Cluster) -> dict[int, int]:
    """Return the highest version of each request, by API key, that all contacted brokers support.

    Those are the brokers that a client connects to, not necessarily all of the cluster.
    Empty where none could be learned.
    """
    client = f"causeway-{uuid.uuid4().hex}"
    lines = _Lines(client)
    verbose = {"debug": "feature", "log_level": "7", "client.id": client}
    logger = logging.getLogger("causeway.librdkafka")
    logger.addHandler(lines)
    # Never reset: clusters are asked at the same time, and no other client logs at this level.
    logger.setLevel(logging.DEBUG)
    try:
        admin = clients.admin(replace(cluster, properties={**cluster.properties, **verbose}))
        admin.list_topics(timeout=SECONDS)
        admin.poll(0)  # polling delivers the log
    except KafkaException:
        pass  # what was logged until then is still valid
    finally:
        logger.removeHandler(lines)
    return read(lines.lines)


def read(lines: list[str]) -> dict[int, int]:
    """Return the highest version of each request that every broker in these log lines supports."""
    brokers: dict[str, dict[int, int]] = {}
    for line in lines:
        match = _API.match(line)
        if match:
            brokers.setdefault(match["broker"], {})[int(match["key"])] = int(match["high"])
    common = set.intersection(*map(set, brokers.values())) if brokers else set()
    return {key: min(known[key] for known in brokers.values()) for key in common}
