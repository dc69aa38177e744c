"""What the user of a cluster's clients may do there, as far as its brokers tell without a write.

Brokers report a user's operations on topics and groups that exist (Kafka 2.3). On topics that do not exist,
requests that would change or show them are sent to be validated only: permissions are checked first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (
    AclOperation,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from causeway.core.permission import Operation, Permission
from causeway.errors import AccessDenied, CausewayError
from causeway.kafka import clients
from causeway.kafka.admin import REQUEST_SECONDS, ClusterView
from causeway.kafka.failures import as_user_error, error_of

CHECK_ID = "check"
"""The end of a transactional id that no producer uses."""

OFFSETS_TOPIC, STATE_LOG = "__consumer_offsets", "__transaction_state"

_NEVER_ALLOWED_MS = 2**31 - 1
"""A transaction timeout that brokers reject, unless their limit is the largest number there is."""

_IMPLY_DESCRIBE: Collection[Operation] = ("READ", "WRITE", "ALTER", "DESCRIBE")
_DENIALS = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
_UNTOLD = (
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.UNSUPPORTED_VERSION,
    KafkaError.THROTTLING_QUOTA_EXCEEDED,
    KafkaError.NOT_CONTROLLER,
)


class GrantedPermissions:
    """Asks one cluster, as the user of its clients."""

    def __init__(self, view: ClusterView, *, mirrored: bool) -> None:
        """`mirrored`: a mirror has run between these clusters. It used groups and transactions."""
        self._view = view
        self._mirrored = mirrored
        self._admin = clients.admin(view.cluster)  # kept: a client that is gone gets no response
        self.absent: set[str] = set()  # topics that do not exist

    def unlimited(self) -> bool:
        """Whether this user may do what brokers alone may, or the brokers check no permissions."""
        request = self._admin.describe_cluster(
            request_timeout=REQUEST_SECONDS, include_authorized_operations=True
        )
        if _error(request) is not None:
            return False
        operations = request.result().authorized_operations or ()
        return AclOperation.CLUSTER_ACTION in operations

    def ask(self, permissions: Iterable[Permission]) -> dict[Permission, bool | None]:
        """Whether each permission, on a single resource, is granted; None where the brokers do not tell."""
        wanted = set(permissions)
        granted: dict[Permission, bool | None] = {}
        topics = {one for one in wanted if one.resource == "topic"}
        granted |= self._topics(topics)
        for one in wanted - topics:
            match one.resource:
                case "group":
                    granted[one] = self._group(one)
                case "transactional-id":
                    granted[one] = self._transactional_id(one)
                case _:
                    granted[one] = self._brokers_settings()
        return granted

    def _topics(self, wanted: Collection[Permission]) -> dict[Permission, bool | None]:
        names = sorted({one.name for one in wanted})
        if not names:
            return {}
        requests = self._admin.describe_topics(
            TopicCollection(names), request_timeout=REQUEST_SECONDS, include_authorized_operations=True
        )
        granted: dict[Permission, bool | None] = {}
        unknown: list[Permission] = []
        for name, request in requests.items():
            here = [one for one in wanted if one.name == name]
            error = _error(request)
            if error is None and (operations := request.result().authorized_operations):
                known = {operation.name for operation in operations}
                granted |= {one: one.operation in known for one in here}
                continue
            hidden = error is not None and error.code() in _DENIALS
            if error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                self.absent.add(name)
            elif error is not None and not hidden:
                raise as_user_error(error, self._view.cluster, f"describing topic {name}")
            for one in here:
                if hidden and one.operation in _IMPLY_DESCRIBE:
                    granted[one] = False
                elif one.operation == "DESCRIBE":
                    granted[one] = True
                else:
                    unknown.append(one)
        return granted | self._tried(unknown)

    def _tried(self, permissions: Collection[Permission]) -> dict[Permission, bool | None]:
        """Send requests that brokers refuse before they look whether the topic exists."""
        tried: dict[Permission, bool | None] = dict.fromkeys(permissions)
        sent = [
            (one, request)
            for operation, send in self._harmless().items()
            if (some := [one for one in permissions if one.operation == operation])
            for one, request in zip(some, send([one.name for one in some]), strict=True)
        ]
        for one, request in sent:
            tried[one] = _allowed(_error(request))
        return tried

    def _harmless(self) -> Mapping[Operation, Callable[[list[str]], Iterable[Future[Any]]]]:
        """For each operation a request that changes nothing."""
        options: dict[str, Any] = {"request_timeout": REQUEST_SECONDS}

        def describe_configs(names: list[str]) -> Iterable[Future[Any]]:
            resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
            requests = self._admin.describe_configs(resources, **options)
            return [requests[resource] for resource in resources]

        def create(names: list[str]) -> Iterable[Future[Any]]:
            topics = [NewTopic(name, num_partitions=1, replication_factor=1) for name in names]
            requests = self._admin.create_topics(topics, validate_only=True, **options)
            return [requests[name] for name in names]

        def alter(names: list[str]) -> Iterable[Future[Any]]:
            absent = [NewPartitions(name, 1) for name in names]
            requests = self._admin.create_partitions(absent, validate_only=True, **options)
            return [requests[name] for name in names]

        return {"DESCRIBE_CONFIGS": describe_configs, "CREATE": create, "ALTER": alter}

    def _group(self, permission: Permission) -> bool | None:
        """Asked only where it creates no topic: brokers create one for the first group of a cluster."""
        if not (self._mirrored or self._has_groups()):
            return None
        requests = self._admin.describe_consumer_groups(
            [permission.name], request_timeout=REQUEST_SECONDS, include_authorized_operations=True
        )
        error = _error(requests[permission.name])
        if error is not None:
            return False if error.code() in _DENIALS else None
        operations = requests[permission.name].result().authorized_operations
        known = {operation.name for operation in operations or ()}
        return permission.operation in known if known else None

    def _has_groups(self) -> bool:
        if OFFSETS_TOPIC in self._view.topic_names():
            return True
        request = self._admin.list_consumer_groups(request_timeout=REQUEST_SECONDS)
        return _error(request) is None and bool(request.result().valid)

    def _transactional_id(self, permission: Permission) -> bool | None:
        """Begin nothing: brokers check the permission first, and reject the timeout then.

        Asked only where it creates no topic: brokers create one for the first transactional id of a cluster.
        """
        if not (self._mirrored or STATE_LOG in self._view.topic_names()):
            return None
        try:
            limit = self._view.broker_config().get("transaction.max.timeout.ms", "")
        except CausewayError:
            return None
        if not limit.isdecimal() or int(limit) >= _NEVER_ALLOWED_MS:
            return None
        name = f"{permission.name}{CHECK_ID}" if permission.prefix else permission.name
        producer = clients.producer(
            self._view.cluster, transactional_id=name, transaction_timeout_ms=_NEVER_ALLOWED_MS
        )
        try:
            producer.init_transactions(REQUEST_SECONDS)
        except KafkaException as exception:
            error = error_of(exception)
            if error.code() in _DENIALS:
                return False
            return True if error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT else None
        return True

    def _brokers_settings(self) -> bool | None:
        try:
            self._view.broker_config()
        except AccessDenied:
            return False
        except CausewayError:
            return None
        return True


def _error(request: Future[Any]) -> KafkaError | None:
    try:
        request.result()
    except KafkaException as exception:
        return error_of(exception)
    return None


def _allowed(error: KafkaError | None) -> bool | None:
    """Whether a request was allowed, whatever else was wrong with it."""
    if error is None:
        return True
    if error.code() in _DENIALS:
        return False
    # Negative codes are the client's own: no response came.
    return None if error.code() < 0 or error.code() in _UNTOLD else True
