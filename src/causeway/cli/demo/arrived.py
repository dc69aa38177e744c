"""Counts the records at the destination, independently of the mirror, its ledger and `causeway verify`."""

from __future__ import annotations

import time
from collections import Counter

from confluent_kafka import KafkaError, TopicPartition

from causeway.cli.demo.records import DemoTopic
from causeway.core.cluster import Cluster
from causeway.errors import CausewayError
from causeway.kafka import clients

COUNT_SECONDS = 120.0


def count(cluster: Cluster, topics: tuple[DemoTopic, ...]) -> Counter[str]:
    """The committed records of each topic, up to its current end."""
    partitions = {(topic.name, number) for topic in topics for number in range(topic.partitions)}
    consumer = clients.consumer(cluster, "demo.count")
    consumer.assign([TopicPartition(topic, number, 0) for topic, number in sorted(partitions)])
    found: Counter[str] = Counter()
    deadline = time.monotonic() + COUNT_SECONDS
    try:
        while partitions:
            for message in consumer.consume(10_000, 0.1):
                error = message.error()
                if error is None:
                    found[message.topic()] += 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    partitions.discard((message.topic(), message.partition()))
            if time.monotonic() > deadline:
                raise CausewayError(
                    f"the records on {cluster.alias} could not be counted",
                    why=f"unread: {sorted(partitions)}",
                )
    finally:
        consumer.close()
    return found
