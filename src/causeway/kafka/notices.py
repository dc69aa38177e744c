"""Writes an event to the ledger outside of any transaction, for a shard that cannot commit.

A shard writes events in its commits. Where those fail, the reason would never reach the driver. An event
records nothing about what was replicated, so it need not be committed together with anything else.
"""

from __future__ import annotations

import contextlib

from confluent_kafka import KafkaException

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Event, encode
from causeway.errors import CausewayError
from causeway.kafka import clients

WRITE_SECONDS = 3.0


def write_event(cluster: Cluster, ledger: str, event: Event) -> None:
    """Try once to write the event: the driver itself finds out where the destination does not respond.

    Uses no transaction and does not wait for all replicas: the shard may fail because of either.
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
