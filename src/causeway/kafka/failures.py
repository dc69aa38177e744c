"""Classifies Kafka errors: who must act, and whether a retry can help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import KafkaError, KafkaException

from causeway.core.cluster import Cluster
from causeway.errors import AccessDenied, CausewayError, PlanRefused, Unreachable
from causeway.kafka import clients, credentials
from causeway.kafka.connection_failures import (
    Explanation,
    explain,
    explain_silence,
    refuses_connection,
    shortened,
)

_FENCED = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    }
)
_NO_PERMISSION = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
_POISON = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_MSG_SIZE,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_RECORD,
        KafkaError.POLICY_VIOLATION,
        KafkaError.UNSUPPORTED_COMPRESSION_TYPE,
    }
)
_REFUSED_BY = {
    KafkaError.MSG_SIZE_TOO_LARGE: "max.message.bytes",
    KafkaError.RECORD_LIST_TOO_LARGE: "segment.bytes",
    KafkaError.INVALID_TIMESTAMP: "message.timestamp.before.max.ms or message.timestamp.after.max.ms",
    KafkaError.INVALID_RECORD: "cleanup.policy (a compacted topic rejects records without a key)",
}
_CORRUPT = frozenset(
    {
        KafkaError._BAD_MSG,  # the checksum does not match
        KafkaError._BAD_COMPRESSION,
        KafkaError._NOT_IMPLEMENTED,  # unknown format or compression
        KafkaError.INVALID_MSG,  # the broker itself could not read it
    }
)
_GONE = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }
)
_UNLED = frozenset(
    {
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError._NOENT,  # the admin client: none of the requested partitions has a leader
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,  # for a moment after an election
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.KAFKA_STORAGE_ERROR,
    }
)
_TRANSIENT = (
    _FENCED
    | _GONE
    | _UNLED
    | frozenset(
        {
            KafkaError.REQUEST_TIMED_OUT,
            KafkaError.BROKER_NOT_AVAILABLE,
            KafkaError.NETWORK_EXCEPTION,
            KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
            KafkaError.COORDINATOR_NOT_AVAILABLE,
            KafkaError.NOT_COORDINATOR,
            KafkaError.NOT_ENOUGH_REPLICAS,
            KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
            KafkaError.DUPLICATE_SEQUENCE_NUMBER,
            KafkaError.UNKNOWN_PRODUCER_ID,
            KafkaError.INVALID_PRODUCER_ID_MAPPING,
            KafkaError.INVALID_TXN_STATE,
            KafkaError.CONCURRENT_TRANSACTIONS,
            KafkaError.TRANSACTION_COORDINATOR_FENCED,
            KafkaError.THROTTLING_QUOTA_EXCEEDED,
        }
    )
)
"""Errors that a broker returns when the record is not the cause: retried forever."""

_BY_HAND = "create it yourself, with a configuration that the cluster accepts"
_REFUSED = {
    KafkaError.TOPIC_EXCEPTION: "give it another name with prefix, suffix or rename, or exclude it"
    " (Kafka rejects topics whose names differ only in . and _)",
    KafkaError.POLICY_VIOLATION: f"{_BY_HAND}; or change the brokers' create.topic.policy.class.name",
    KafkaError.INVALID_REPLICATION_FACTOR: f"set replication_factor, or {_BY_HAND}",
    KafkaError.INVALID_PARTITIONS: _BY_HAND,
    KafkaError.INVALID_REPLICA_ASSIGNMENT: _BY_HAND,
    KafkaError.INVALID_CONFIG: _BY_HAND,
    KafkaError.INVALID_REQUEST: _BY_HAND,
}
"""Topic requests that a cluster rejects at every retry, and what helps."""


def error_of(exception: KafkaException) -> KafkaError:
    error: KafkaError = exception.args[0]
    return error


def is_fenced(error: KafkaError) -> bool:
    """A newer attempt owns the transactional id: this one must end, not retry."""
    return error.code() in _FENCED


def is_denied(error: KafkaError) -> bool:
    """The cluster refuses this user: the connection itself, or what it asks for."""
    return error.code() in _NO_PERMISSION or refuses_connection(error)


def may_not(error: KafkaError) -> bool:
    """This user lacks a permission on the topic: to write to it, or even to describe it."""
    return bool(error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED)


def is_about_group(error: KafkaError) -> bool:
    """This user may not describe the consumer's group. No consumer here needs one: partitions are assigned.

    The client looks up the group's coordinator all the same, and reports this once.
    """
    return bool(error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED)


def is_poison(error: KafkaError) -> bool:
    """The destination rejects this record at every retry."""
    return error.code() in _POISON


def is_refusal(error: KafkaError) -> bool:
    """A broker rejected the record, and nothing says that a retry will help.

    The client's own codes are negative, except that -1 is a broker's "unknown server error".
    """
    return error.code() >= KafkaError.UNKNOWN and error.code() not in _TRANSIENT


def refused_by(error: KafkaError) -> str:
    """Return the topic setting that rejects such records: the client does not name it, brokers mean these."""
    return _REFUSED_BY.get(error.code(), "the limits")


def is_corrupt(error: KafkaError) -> bool:
    """The fetched data is not what was written, or this client cannot read it."""
    return error.code() in _CORRUPT


def is_gone(error: KafkaError) -> bool:
    """The topic or partition does not exist, as far as the broker that responded knows."""
    return error.code() in _GONE


def is_unled(error: KafkaError) -> bool:
    """The partition has no leader now, or another one than the client knows."""
    return error.code() in _UNLED


def is_late(error: KafkaError) -> bool:
    """The broker did not respond in time."""
    return error.code() in (KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE, KafkaError.REQUEST_TIMED_OUT)


def is_throttled(error: KafkaError) -> bool:
    """The quota for topic changes is used up: retry later."""
    return bool(error.code() == KafkaError.THROTTLING_QUOTA_EXCEEDED)


def as_user_error(
    error: KafkaError, cluster: Cluster, doing: str, reported: Iterable[KafkaError] = ()
) -> CausewayError:
    """The error as a user should read it, naming the alias and the address.

    `reported` are the errors that the client reported meanwhile: where no connection came about, one of them
    is the cause.
    """
    user_error = _user_error(error, cluster, doing, reported)
    user_error.cluster = cluster.alias
    return user_error


def _user_error(
    error: KafkaError, cluster: Cluster, doing: str, reported: Iterable[KafkaError]
) -> CausewayError:
    where = _where(cluster)
    if error.code() in _NO_PERMISSION:
        return AccessDenied(f"{doing}: access denied", where=where, why=error.str())
    if error.code() in _REFUSED:
        return PlanRefused(
            f"{doing}: the cluster rejects it", where=where, why=error.str(), todo=_REFUSED[error.code()]
        )
    if is_throttled(error):
        return Unreachable(
            f"{doing}: the quota for such requests is used up",
            where=where,
            why=error.str(),
            todo="start again: each start gets further; or raise this user's quota controller_mutation_rate",
        )
    properties, reported = _properties(cluster), list(reported)
    refusal = explain([error, *reported], properties)
    if refusal is not None:
        return _access_denied(refusal, doing, where)
    causes = [one for one in reported if one.code() != KafkaError._ALL_BROKERS_DOWN]
    return Unreachable(f"{doing}: no response", where=where, why=shortened((causes or [error])[-1].str()))


def silently_refused(cluster: Cluster, doing: str) -> AccessDenied | None:
    """The error for a client that gets no connection and reports no reason, if the listener's kind is one."""
    refusal = explain_silence(_properties(cluster))
    if refusal is None:
        return None
    denied = _access_denied(refusal, doing, _where(cluster))
    denied.cluster = cluster.alias
    return denied


def _access_denied(refusal: Explanation, doing: str, where: str) -> AccessDenied:
    return AccessDenied(f"{doing}: access denied", where=where, why=refusal.why, todo=refusal.todo)


def _where(cluster: Cluster) -> str:
    return f'cluster "{cluster.alias}" at {cluster.bootstrap_servers}'


def _properties(cluster: Cluster) -> Mapping[str, str]:
    """As the clients have them: certificates may be text, or in a truststore, and a login in Java's form."""
    try:
        usable = credentials.usable(cluster.alias, clients.resolved(cluster))
    except CausewayError:  # a secret was removed meanwhile: the next client reports it
        return cluster.properties
    return {name: value for name, value in usable.items() if isinstance(value, str)}
