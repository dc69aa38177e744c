"""Consumer groups of other tools: their committed offsets and active members."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from causeway.kafka import clients
from causeway.kafka.admin import REQUEST_SECONDS, ClusterView
from causeway.kafka.failures import as_user_error, error_of


def members(view: ClusterView, group: str) -> list[str]:
    """Return the current members of the group; none where there is no such group."""
    cluster = view.cluster
    view.connect()
    admin = clients.admin(cluster)  # must live until the response arrives
    requests = admin.describe_consumer_groups([group], request_timeout=REQUEST_SECONDS)
    try:
        described = requests[group].result()
    except KafkaException as exception:
        error = error_of(exception)
        if error.code() == KafkaError.GROUP_ID_NOT_FOUND:
            return []
        raise as_user_error(error, cluster, f"describing group {group}") from None
    return sorted(f"{member.client_id} on {member.host.lstrip('/')}" for member in described.members)


def committed(
    view: ClusterView, group: str, partitions: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    """Return the group's committed offsets; partitions without a commit are absent."""
    cluster = view.cluster
    wanted = [TopicPartition(*partition) for partition in sorted(set(partitions))]
    if not wanted:
        return {}
    admin = clients.admin(cluster)
    requests = admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group, wanted)], request_timeout=REQUEST_SECONDS
    )
    try:
        offsets = requests[group].result().topic_partitions
    except KafkaException as exception:
        error = error_of(exception)
        if error.code() == KafkaError.GROUP_ID_NOT_FOUND:
            return {}
        raise as_user_error(error, cluster, f"reading the offsets of group {group}") from None
    return {(entry.topic, entry.partition): entry.offset for entry in offsets if entry.offset >= 0}
