"""What the brokers of a cluster understand: the versions of Kafka's requests that they offer.

No client interface tells, but librdkafka asks every broker it connects to (ApiVersions) and, with
`debug=feature`, logs the answer:

    APIVERSION [causeway-…#producer-1] […]: paris-1:9092/1:   ApiKey Produce (0) Versions 0..13

So a client of its own, for a moment, with its log read here. It works with every security protocol
that the client itself can speak.
"""

from __future__ import annotations

import logging
import re
import uuid
from dataclasses import replace

from confluent_kafka import KafkaException

from causeway.kafka import clients
from causeway.model.cluster import Cluster

SECONDS = 5.0
_API = re.compile(
    r"APIVERSION .*?: (?P<broker>\S+):\s+ApiKey .* \((?P<key>\d+)\) Versions \d+\.\.(?P<high>\d+)"
)


class _Lines(logging.Handler):
    """The log of one client, told by its id: all clients of the process share a logger."""

    def __init__(self, client: str) -> None:
        super().__init__(logging.DEBUG)
        self._client = f"[{client}#"
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if self._client in line:
            self.lines.append(line)


def highest_versions(cluster: Cluster) -> dict[int, int]:
    """The highest version of each request, by its key, that all brokers asked understand.

    Those are the brokers that a client meets when it connects, not necessarily all there are.
    Empty where none could be learned.
    """
    client = f"causeway-{uuid.uuid4().hex}"
    lines = _Lines(client)
    loud = {"debug": "feature", "log_level": "7", "client.id": client}
    logger = logging.getLogger("causeway.librdkafka")
    logger.addHandler(lines)
    # For good: clusters are asked at the same time, and no other client says anything at this level.
    logger.setLevel(logging.DEBUG)
    try:
        admin = clients.admin(replace(cluster, properties={**cluster.properties, **loud}))
        admin.list_topics(timeout=SECONDS)
        admin.poll(0)  # the log comes to those who poll
    except KafkaException:
        pass  # whatever was said until then is as true
    finally:
        logger.removeHandler(lines)
    return read(lines.lines)


def read(lines: list[str]) -> dict[int, int]:
    """The log's lines as the highest versions that every broker in them has."""
    brokers: dict[str, dict[int, int]] = {}
    for line in lines:
        match = _API.match(line)
        if match:
            brokers.setdefault(match["broker"], {})[int(match["key"])] = int(match["high"])
    common = set.intersection(*map(set, brokers.values())) if brokers else set()
    return {key: min(known[key] for known in brokers.values()) for key in common}
