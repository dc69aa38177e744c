"""Interprets the responses to admin requests: results, errors to raise, and what to request again.

`fail` makes the error for users from Kafka's error and from what was being done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation, ConfigResource

from causeway.core.topic import TopicFacts
from causeway.errors import CausewayError
from causeway.kafka.failures import error_of, is_gone, is_late, is_unled, may_not

Fail = Callable[[KafkaError, str], CausewayError]
Partition = tuple[str, int]

NO_RECORD = -1
"""The offset that a broker returns for a timestamp after that of the last record."""


def topic_facts(
    requests: Mapping[str, Future[Any]], denied: set[str] | None, fail: Fail
) -> tuple[dict[str, TopicFacts], dict[str, KafkaError]]:
    """Return facts, and errors of topics that timed out. Topics that do not exist are in neither."""
    facts: dict[str, TopicFacts] = {}
    late: dict[str, KafkaError] = {}
    for name, future in requests.items():
        try:
            topic = future.result()
        except KafkaException as exception:
            error = error_of(exception)
            if is_late(error):
                late[name] = error
            elif denied is not None and may_not(error):
                denied.add(name)
            elif not is_gone(error):
                raise fail(error, f"describing topic {name}") from None
            continue
        replicas = [len(partition.replicas) for partition in topic.partitions]
        facts[name] = TopicFacts(
            name,
            str(topic.topic_id),
            len(topic.partitions),
            max(replicas, default=1),
            # A user that may describe a topic has some permission there: an empty list means unknown.
            AclOperation.WRITE in topic.authorized_operations if topic.authorized_operations else None,
        )
    return facts, late


def configs(
    requests: Mapping[ConfigResource, Future[Any]], denied: set[str] | None, fail: Fail
) -> tuple[list[tuple[ConfigResource, dict[str, Any]]], dict[ConfigResource, KafkaError]]:
    """Return entries, and errors of resources that timed out. Resources that do not exist are in neither."""
    entries, late = [], {}
    for resource, future in requests.items():
        try:
            entries.append((resource, future.result()))
        except KafkaException as exception:
            error = error_of(exception)
            if is_late(error):
                late[resource] = error
            elif denied is not None and may_not(error):
                denied.add(resource.name)
            elif not is_gone(error):
                raise fail(error, f"reading the configuration of {resource.name}") from None
    return entries, late


def listed_offsets(
    requests: Mapping[TopicPartition, Future[Any]],
    at: str | int,
    ends: Mapping[Partition, int],
    *,
    retry_late: bool,
    fail: Fail,
) -> tuple[dict[Partition, int], list[Partition]]:
    """Return offsets, and the partitions that need another request.

    `ends` are the offsets for timestamps after the last record. Partitions that do not exist are in neither.
    """
    offsets: dict[Partition, int] = {}
    missing: list[Partition] = []
    for requested, future in requests.items():
        partition = (requested.topic, requested.partition)
        try:
            offset = int(future.result().offset)
        except KafkaException as exception:
            error = error_of(exception)
            if is_unled(error) or (is_late(error) and retry_late):
                missing.append(partition)
            elif not is_gone(error):
                raise fail(error, f"listing the {at} offset of {partition[0]}[{partition[1]}]") from None
            continue
        if offset >= 0:
            offsets[partition] = offset
        elif offset == NO_RECORD and not isinstance(at, str):
            if partition in ends:
                offsets[partition] = ends[partition]
        else:
            # The client's initial value: it stays there, without an error, where a leader does not respond.
            # Used as a log end, it would be the end of an empty log: a ledger without positions, a source
            # whose records are all deleted.
            missing.append(partition)
    return offsets, missing
