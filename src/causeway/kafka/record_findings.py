"""Why a record stops its partition, or goes to the quarantine."""

from __future__ import annotations

from confluent_kafka import KafkaError

from causeway.core.position import SourcePartition
from causeway.kafka.failures import refused_by
from causeway.kafka.partition_state import PartitionState
from causeway.rules.integrity import Finding


def no_timestamp(source: SourcePartition, offset: int, timestamp: int) -> Finding:
    return Finding(
        "poison",
        f"the record at {source} offset {offset} has timestamp {timestamp},"
        " which the client would replace with the current time",
        "records without a timestamp cannot be replicated unchanged;"
        ' on_poison = "quarantine" quarantines them',
        offset,
    )


def rejected_by_destination(state: PartitionState, offset: int, error: KafkaError) -> Finding:
    """The finding for a record that the destination rejects at every retry."""
    return Finding(
        "poison",
        f"the destination rejects the record at {state.lane.source} offset {offset}: {error.str()}",
        f"change {refused_by(error)} of topic {state.lane.place.topic}, or what is written to the source;"
        ' on_poison = "quarantine" quarantines such records',
        offset,
    )
