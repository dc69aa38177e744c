"""An event in the ledger outside of any transaction: from a shard that cannot commit.

Events travel in a shard's commits. Where those fail, the reason would never reach the driver. An event says
nothing about what was replicated, so nothing rests on its being committed together with anything else.
"""

from __future__ import annotations

import contextlib

from confluent_kafka import KafkaException

from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.model.cluster import Cluster
from causeway.model.record import Event, encode

WRITE_SECONDS = 3.0


def write_event(cluster: Cluster, ledger: str, event: Event) -> None:
    """Try to write it, once: a destination that does not answer is the driver's own finding.

    Without transactions and without waiting for all replicas: either may be what the shard fails by.
    """
    with contextlib.suppress(KafkaException, BufferError, CausewayError):
        producer = clients.producer(
            cluster,
            enable_idempotence=False,
            acks=1,
            linger_ms=0,
            message_timeout_ms=int(WRITE_SECONDS * 1_000),
        )
        key, value = encode(event)
        producer.produce(ledger, value, key, event.shard)
        producer.flush(WRITE_SECONDS)
        producer.purge()
