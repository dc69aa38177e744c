"""Timestamps of records, without reading the records.

A consumer would change the cluster: it looks up its group's coordinator as soon as it exists, and a
cluster that never had a group creates its offsets topic for that.
"""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from causeway.core.cluster import Cluster
from causeway.kafka import clients
from causeway.kafka.admin import REQUEST_SECONDS
from causeway.kafka.failures import as_user_error, error_of, is_gone, is_unled


def first_timestamps(
    cluster: Cluster, partitions: Iterable[tuple[str, int]], since: int = 0
) -> dict[tuple[str, int], int]:
    """Return the timestamp (ms) of the first record at or after `since`, for each partition that has one."""
    wanted = {TopicPartition(*partition): OffsetSpec.for_timestamp(since) for partition in partitions}
    timestamps: dict[tuple[str, int], int] = {}
    if not wanted:
        return timestamps
    admin = clients.admin(cluster)  # keep a reference: a destroyed client gets no response
    requests = admin.list_offsets(wanted, request_timeout=REQUEST_SECONDS)
    for partition, future in requests.items():
        try:
            result = future.result()
        except KafkaException as exception:
            error = error_of(exception)
            if not is_gone(error) and not is_unled(error):
                doing = f"looking up the first record of {partition.topic}[{partition.partition}]"
                raise as_user_error(error, cluster, doing) from None
            continue
        if result.offset >= 0 and result.timestamp >= 0:
            timestamps[partition.topic, partition.partition] = result.timestamp
    return timestamps
