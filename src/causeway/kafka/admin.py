"""Queries one cluster, and makes the few changes there: topics, partitions, consumer group offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, Literal

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from causeway.core.cluster import Cluster
from causeway.core.topic import Replicas, TopicFacts
from causeway.errors import AccessDenied, CausewayError, Unreachable
from causeway.kafka.admin_responses import configs, listed_offsets, topic_facts
from causeway.kafka.failures import as_user_error, error_of, is_throttled, silently_refused
from causeway.kafka.renewal import RenewedAdmin

At = Literal["earliest", "latest", "stable"] | int
"""A point of a log: log start, log end, last stable offset, or a timestamp in milliseconds."""

CONNECT_SECONDS = 8.0
REQUEST_SECONDS = 10.0
RESPONSE_SECONDS = 2.0
METADATA_SECONDS = 4.0
"""A client sends requests to the broker that it believes is the controller, alive or not, and waits for it.
Only new metadata makes it choose another one: so the first wait is short."""
GONE_SECONDS = 0.05
PARTITIONS_A_SECOND = 1_000  # least rate of ListOffsets: its timeout grows with the partitions
LONGEST_SECONDS = 3_600.0  # the longest timeout that the client accepts


class ClusterView:
    """Queries to one cluster. Raises Unreachable or AccessDenied, naming alias and address."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._admin = RenewedAdmin(cluster)
        self._cluster_id: str | None = None
        self._silent = True  # no response yet, and no reason was looked for

    def connect(self, seconds: float = CONNECT_SECONDS) -> str:
        """Return the cluster's id, or raise why there is none, within ten seconds."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._cluster_id = self._admin.client.list_topics(timeout=min(1.0, seconds)).cluster_id
                if self._cluster_id:
                    self._admin.succeeded()
                    self._silent = False
                    return self._cluster_id
                error = KafkaError(KafkaError._WAIT_COORD, "the cluster has no id yet")
            except KafkaException as exception:
                error = error_of(exception)
            failure = self._user_error(error, "connecting")
            if self._silent and not self._admin.causes():
                self._silent = False  # to look once is enough
                failure = silently_refused(self.cluster, "connecting") or failure
            if isinstance(failure, AccessDenied) or time.monotonic() >= deadline:
                raise failure

    def cluster_id(self) -> str:
        return self._cluster_id or self.connect()

    def brokers(self) -> int:
        return len(self._metadata().brokers)

    def topic_names(self) -> list[str]:
        return sorted(self._metadata().topics)

    def describe(
        self, names: Iterable[str], *, rights: bool = False, denied: set[str] | None = None
    ) -> dict[str, TopicFacts]:
        """Return facts of the topics that exist; the others are absent.

        With `rights` the facts include whether this user may write to the topic. Topics that it may not even
        describe go into `denied`, where that is given.
        """
        requests = self.request_descriptions(names, rights=rights)
        return self.descriptions(requests, rights=rights, denied=denied)

    def request_descriptions(
        self, names: Iterable[str], seconds: float = RESPONSE_SECONDS, *, rights: bool = False
    ) -> dict[str, Future[Any]]:
        """Send the request without waiting; `descriptions` waits for the response."""
        wanted = sorted(set(names))
        if not wanted:
            return {}
        requests: dict[str, Future[Any]] = self._admin.client.describe_topics(
            TopicCollection(wanted), request_timeout=seconds, include_authorized_operations=rights
        )
        return requests

    def request_group_commit(self, group: str, offsets: list[TopicPartition]) -> Future[Any]:
        """Commit a consumer group's offsets without waiting; the response comes when there is a coordinator.

        The request must not time out before that. librdkafka (2.16.0) forgets a request that timed out, and
        releases it twice when its coordinator is found afterwards: an assertion ends the process. A request
        ends with its handle when that is closed.
        """
        wanted = [ConsumerGroupTopicPartitions(group, offsets)]
        response: Future[Any]
        (response,) = self._admin.client.alter_consumer_group_offsets(
            wanted, request_timeout=LONGEST_SECONDS
        ).values()
        return response

    def descriptions(
        self,
        requests: Mapping[str, Future[Any]],
        *,
        rights: bool = False,
        denied: set[str] | None = None,
        gone: Callable[[], bool] | None = None,
    ) -> dict[str, TopicFacts]:
        """Return the responses. Retries once, after new metadata, what got no response in time.

        Waits no longer once the cluster is known to be `gone`.
        """
        if gone is not None:
            self._wait_unless(gone, requests)
        facts, late = topic_facts(requests, denied, self._user_error)
        if late:
            self._metadata(METADATA_SECONDS)
            again = self.request_descriptions(late, METADATA_SECONDS, rights=rights)
            more, late = topic_facts(again, denied, self._user_error)
            facts |= more
        for name, error in late.items():
            raise self._user_error(error, f"describing topic {name}")
        return facts

    def _wait_unless(self, gone: Callable[[], bool], requests: Mapping[str, Future[Any]]) -> None:
        waiting: Collection[Future[Any]] = requests.values()
        while waiting := wait(waiting, GONE_SECONDS).not_done:
            if gone():
                raise Unreachable(
                    f'cluster "{self.cluster.alias}" does not respond any more',
                    where=self.cluster.bootstrap_servers,
                    cluster=self.cluster.alias,
                )

    def replicas(self, names: Iterable[str]) -> dict[tuple[str, int], Replicas]:
        """Return replicas of each partition of the topics that exist, as the responding broker knows them."""
        wanted = set(names)
        return {
            (name, number): Replicas(len(facts.replicas), len(facts.isrs))
            for name, topic in self._metadata(RESPONSE_SECONDS).topics.items()
            if name in wanted
            for number, facts in topic.partitions.items()
        }

    def configs(
        self, names: Iterable[str], *, overridden: bool = False, denied: set[str] | None = None
    ) -> dict[str, dict[str, str]]:
        """Return the configuration of topics; with `overridden` only what was set on the topic itself.

        Topics whose configuration this user may not read go into `denied`, where that is given.
        """
        return {
            resource.name: {
                entry.name: entry.value
                for entry in entries.values()
                if entry.value is not None
                and (not overridden or entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value)
            }
            for resource, entries in self._describe_configs(ResourceType.TOPIC, names, denied)
        }

    def topic_settings(self) -> frozenset[str]:
        """Return the names of topic settings that the brokers know; empty where no topic shows them.

        Other mirrors' ledgers and Kafka's own topics may be visible without their settings.
        """
        denied: set[str] = set()
        for name in self.topic_names():
            if settings := self.configs([name], denied=denied).get(name):  # absent: deleted meanwhile
                return frozenset(settings)
        if ordinary := sorted(name for name in denied if not name.startswith("__")):
            self.configs(ordinary[:1])  # raises AccessDenied
        return frozenset()

    def broker_config(self) -> dict[str, str]:
        """Return the configuration of one broker: a sane cluster has the same limits and defaults on all."""
        broker = min(self._metadata().brokers)
        ((_, entries),) = self._describe_configs(ResourceType.BROKER, [str(broker)])
        return {entry.name: entry.value for entry in entries.values() if entry.value is not None}

    def offsets(
        self, partitions: Iterable[tuple[str, int]], at: At, *, again: bool = True
    ) -> dict[tuple[str, int], int]:
        """Return the offset of that point in each partition. Absent are partitions that do not exist, have no
        leader, or whose leader does not respond; where absence must be an error, use `all_offsets`.

        A client keeps sending requests to the leaders that it knows, dead or alive: only new metadata names
        others (`again`). So the first wait is short here too.

        A timestamp after the last record returns the log end, which was fetched before the timestamp was:
        records that arrive meanwhile are after it.
        """
        wanted = sorted(set(partitions))
        spec = (
            {
                "earliest": OffsetSpec.earliest(),
                "latest": OffsetSpec.latest(),
                "stable": OffsetSpec.latest(),
            }.get(at)
            if isinstance(at, str)
            else OffsetSpec.for_timestamp(at)
        )
        isolation = IsolationLevel.READ_COMMITTED if at == "stable" else IsolationLevel.READ_UNCOMMITTED
        if not wanted:
            return {}
        self.cluster_id()  # with a client that knows no broker yet this would take a second
        seconds = RESPONSE_SECONDS if again else METADATA_SECONDS
        ends: dict[tuple[str, int], int] = {}
        if not isinstance(at, str):
            # Before the request, not after its response: a record that arrives between the two is after this
            # end, so it is not skipped. An end fetched afterwards could be after that record.
            ends = self.offsets(wanted, "latest", again=again)
            seconds = REQUEST_SECONDS  # for a timestamp a broker searches its indexes, maybe on disk
        requests = self._admin.client.list_offsets(
            {TopicPartition(*partition): spec for partition in wanted},
            isolation_level=isolation,
            request_timeout=seconds + len(wanted) / PARTITIONS_A_SECOND,
        )
        offsets, missing = listed_offsets(requests, at, ends, retry_late=again, fail=self._user_error)
        if missing and again:
            self._metadata(METADATA_SECONDS)
            offsets |= self.offsets(missing, at, again=False)
        return offsets

    def all_offsets(self, partitions: Iterable[tuple[str, int]], at: At) -> dict[tuple[str, int], int]:
        """Like `offsets`, but raises Unreachable where a partition is absent."""
        wanted = sorted(set(partitions))
        offsets = self.offsets(wanted, at)
        for topic, number in wanted:
            if (topic, number) not in offsets:
                raise Unreachable(
                    f"{topic}[{number}] has no leader, or its leader does not respond",
                    where=f'cluster "{self.cluster.alias}" at {self.cluster.bootstrap_servers}',
                    cluster=self.cluster.alias,
                )
        return offsets

    def create_topic(self, name: str, partitions: int, replication: int, config: Mapping[str, str]) -> bool:
        """Create a topic; returns False where it exists already."""
        topic = NewTopic(name, num_partitions=partitions, replication_factor=replication, config=dict(config))
        error = self._change(
            lambda: self._admin.client.create_topics([topic], request_timeout=REQUEST_SECONDS)
        )
        if error is not None:
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            raise self._user_error(error, f"creating topic {name}")
        self._wait_for(name, partitions)
        return True

    def would_reject(
        self, topics: Mapping[str, tuple[int, int, Mapping[str, str]]]
    ) -> dict[str, CausewayError]:
        """Return the topics (partitions, replicas, settings) that could not be created. Creates none."""
        wanted = [
            NewTopic(name, num_partitions=partitions, replication_factor=replication, config=dict(config))
            for name, (partitions, replication, config) in topics.items()
        ]
        rejected: dict[str, CausewayError] = {}
        if not wanted:
            return rejected
        requests = self._admin.client.create_topics(
            wanted, request_timeout=REQUEST_SECONDS, validate_only=True
        )
        for name, future in requests.items():
            try:
                future.result()
            except KafkaException as exception:
                error = error_of(exception)
                if error.code() != KafkaError.TOPIC_ALREADY_EXISTS and not is_throttled(error):
                    rejected[name] = self._user_error(error, f"creating topic {name}")
        return rejected

    def grow_topic(self, name: str, partitions: int) -> None:
        wanted = [NewPartitions(name, partitions)]
        error = self._change(
            lambda: self._admin.client.create_partitions(wanted, request_timeout=REQUEST_SECONDS)
        )
        if error is not None:
            raise self._user_error(error, f"adding partitions to topic {name}")
        self._wait_for(name, partitions)

    def _change(self, request: Callable[[], dict[str, Future[Any]]]) -> KafkaError | None:
        """Request a change of one topic; returns the error, if any. Retries while a quota is used up."""
        deadline = time.monotonic() + REQUEST_SECONDS
        while True:
            (future,) = request().values()
            try:
                future.result()
                return None
            except KafkaException as exception:
                error = error_of(exception)
            if not is_throttled(error) or time.monotonic() > deadline:
                return error
            time.sleep(1.0)

    def _wait_for(self, name: str, partitions: int) -> None:
        """Wait for a new topic: the controller knows it first, every broker a moment later."""
        deadline = time.monotonic() + REQUEST_SECONDS
        while time.monotonic() < deadline:
            facts = self.describe([name]).get(name)
            if facts and facts.partitions >= partitions:
                ends = self.offsets([(name, number) for number in range(partitions)], "latest")
                if len(ends) == partitions:
                    return
            time.sleep(0.05)

    def _describe_configs(
        self, kind: ResourceType, names: Iterable[str], denied: set[str] | None = None
    ) -> Sequence[tuple[ConfigResource, dict[str, Any]]]:
        """Retries like `descriptions`: running mirrors call this too, and must not wait for a dead broker."""
        wanted = [ConfigResource(kind, name) for name in sorted(set(names))]
        if not wanted:
            return []
        requests = self._admin.client.describe_configs(wanted, request_timeout=RESPONSE_SECONDS)
        entries, late = configs(requests, denied, self._user_error)
        if late:
            self._metadata(METADATA_SECONDS)
            requests = self._admin.client.describe_configs(list(late), request_timeout=REQUEST_SECONDS)
            more, late = configs(requests, denied, self._user_error)
            entries += more
        for resource, error in late.items():
            raise self._user_error(error, f"reading the configuration of {resource.name}")
        return entries

    def _metadata(self, seconds: float = REQUEST_SECONDS) -> Any:
        """A cluster that refuses this client is not waited for any longer."""
        first = min(1.0, seconds)
        for wait_seconds in (first, seconds - first):
            try:
                metadata = self._admin.client.list_topics(timeout=wait_seconds)
                self._admin.succeeded()
                return metadata
            except KafkaException as exception:
                error = error_of(exception)
            if self._admin.refused():
                break
        raise self._user_error(error, "listing topics")

    def _user_error(self, error: KafkaError, doing: str) -> CausewayError:
        return as_user_error(error, self.cluster, doing, self._admin.errors())


__all__ = ["At", "ClusterView", "TopicFacts"]
