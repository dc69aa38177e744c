"""How old records are, asked without reading them.

A consumer would do more than look: it asks for its group's coordinator as soon as it exists, and a
cluster that never had a group creates its offsets topic for that.
"""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from causeway.kafka import clients
from causeway.kafka.admin import REQUEST_SECONDS
from causeway.kafka.failures import as_user_error, error_of, is_gone, is_unled
from causeway.model.cluster import Cluster


def first_timestamps(
    cluster: Cluster, partitions: Iterable[tuple[str, int]], since: int = 0
) -> dict[tuple[str, int], int]:
    """When the first record at or behind a time is from (milliseconds), for each partition that has one."""
    wanted = {TopicPartition(*partition): OffsetSpec.for_timestamp(since) for partition in partitions}
    found: dict[tuple[str, int], int] = {}
    if not wanted:
        return found
    admin = clients.admin(cluster)  # a name of its own: answers to a client that is gone never come
    asked = admin.list_offsets(wanted, request_timeout=REQUEST_SECONDS)
    for partition, future in asked.items():
        try:
            result = future.result()
        except KafkaException as exception:
            error = error_of(exception)
            if not is_gone(error) and not is_unled(error):
                doing = f"asking for the first record of {partition.topic}[{partition.partition}]"
                raise as_user_error(error, cluster.alias, cluster.bootstrap_servers, doing) from None
            continue
        if result.offset >= 0 and result.timestamp >= 0:
            found[partition.topic, partition.partition] = result.timestamp
    return found
