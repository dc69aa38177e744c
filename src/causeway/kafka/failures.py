"""What a Kafka error means for us: who must act, and whether trying again can help."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from causeway.errors import AccessDenied, CausewayError, PlanRefused, Unreachable

_FENCED = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    }
)
_DENIED = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError._SSL,
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
    KafkaError.INVALID_RECORD: "cleanup.policy (a compacted topic takes no record without a key)",
}
_CORRUPT = frozenset(
    {
        KafkaError._BAD_MSG,  # its checksum does not fit
        KafkaError._BAD_COMPRESSION,
        KafkaError._NOT_IMPLEMENTED,  # a format, or a compression, that there is not
        KafkaError.INVALID_MSG,  # the broker could not read it itself
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
"""What a broker returns while something else is wrong than the record: retried for ever."""

_BY_HAND = "create it yourself, with settings that the cluster accepts"
_REFUSED = {
    KafkaError.TOPIC_EXCEPTION: "give it another name with prefix, suffix or rename, or exclude it"
    " (Kafka takes no two topics whose names differ in . and _ alone)",
    KafkaError.POLICY_VIOLATION: f"{_BY_HAND}; or change the brokers' create.topic.policy.class.name",
    KafkaError.INVALID_REPLICATION_FACTOR: f"set replication_factor, or {_BY_HAND}",
    KafkaError.INVALID_PARTITIONS: _BY_HAND,
    KafkaError.INVALID_REPLICA_ASSIGNMENT: _BY_HAND,
    KafkaError.INVALID_CONFIG: _BY_HAND,
    KafkaError.INVALID_REQUEST: _BY_HAND,
}
"""What a cluster will not do with a topic, however often it is asked; and what helps."""


def error_of(exception: KafkaException) -> KafkaError:
    error: KafkaError = exception.args[0]
    return error


def is_fenced(error: KafkaError) -> bool:
    """A newer attempt owns the transactional id: this one must end, not retry."""
    return error.code() in _FENCED


def is_denied(error: KafkaError) -> bool:
    return error.code() in _DENIED


def is_poison(error: KafkaError) -> bool:
    """The destination will never take this record, however often it is offered."""
    return error.code() in _POISON


def is_refusal(error: KafkaError) -> bool:
    """A broker rejected the record, and nothing says that a retry will help.

    Codes of the client's own are negative, except that -1 is a broker's "unknown server error".
    """
    return error.code() >= KafkaError.UNKNOWN and error.code() not in _TRANSIENT


def refused_by(error: KafkaError) -> str:
    """Which setting of a topic refuses such records: the client does not say, and brokers mean these."""
    return _REFUSED_BY.get(error.code(), "the limits")


def is_corrupt(error: KafkaError) -> bool:
    """What was fetched is not what was written, or nothing that this client can read."""
    return error.code() in _CORRUPT


def is_gone(error: KafkaError) -> bool:
    """The topic or partition does not exist, as far as the broker that answered knows."""
    return error.code() in _GONE


def is_unled(error: KafkaError) -> bool:
    """The partition has no leader just now, or another one than the client knows."""
    return error.code() in _UNLED


def is_late(error: KafkaError) -> bool:
    """No answer in time, from the broker that was asked."""
    return error.code() in (KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE, KafkaError.REQUEST_TIMED_OUT)


def is_throttled(error: KafkaError) -> bool:
    """A quota for changes of topics is used up: later there is room again."""
    return bool(error.code() == KafkaError.THROTTLING_QUOTA_EXCEEDED)


def as_user_error(error: KafkaError, alias: str, address: str, doing: str) -> CausewayError:
    """The error as a user should read it, naming the alias and the address."""
    found = _user_error(error, f'cluster "{alias}" at {address}', doing)
    found.cluster = alias
    return found


def _user_error(error: KafkaError, where: str, doing: str) -> CausewayError:
    if is_denied(error):
        return AccessDenied(f"{doing}: access denied", where=where, why=error.str())
    if error.code() in _REFUSED:
        return PlanRefused(
            f"{doing}: the cluster refuses it", where=where, why=error.str(), todo=_REFUSED[error.code()]
        )
    if is_throttled(error):
        return Unreachable(
            f"{doing}: the quota for such requests is used up",
            where=where,
            why=error.str(),
            todo="start again: each start gets further; or raise controller_mutation_rate for this user",
        )
    return Unreachable(f"{doing}: no answer", where=where, why=error.str())
