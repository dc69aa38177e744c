"""Responses to admin requests, without a broker."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource, ResourceType

from causeway.core.cluster import Cluster
from causeway.errors import AccessDenied, CausewayError, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.admin_responses import NO_RECORD, configs, listed_offsets

INITIAL = -1001
"""An offset that the client did not set, because the leader did not respond."""


def completed(value: object) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(value, int) and not isinstance(value, bool):
        future.set_exception(KafkaException(KafkaError(value)))
    else:
        future.set_result(value)
    return future


def fail(error: KafkaError, doing: str) -> CausewayError:
    return Unreachable(doing, why=error.str())


class Admin:
    """Topics and their settings; a topic that was deleted meanwhile is listed and has no settings."""

    def __init__(self, topics: Mapping[str, object]) -> None:
        self._topics = topics

    def poll(self, _timeout: float) -> None: ...

    def list_topics(self, timeout: float) -> object:
        return SimpleNamespace(cluster_id="c", topics=dict(self._topics), brokers={})

    def describe_configs(self, wanted: list[ConfigResource], request_timeout: float) -> object:
        return {resource: completed(self._topics[resource.name]) for resource in wanted}


def view(topics: Mapping[str, object]) -> ClusterView:
    made = ClusterView(Cluster("here", {"bootstrap.servers": "localhost:1"}))
    made._admin._client = cast(Any, Admin(topics))
    return made


def entries(**settings: str) -> object:
    return {name: SimpleNamespace(name=name, value=value, source=5) for name, value in settings.items()}


def test_the_settings_that_brokers_know_are_those_of_a_topic_that_still_exists() -> None:
    deleted = KafkaError.UNKNOWN_TOPIC_OR_PART
    known = entries(cleanup="delete", retention="1")
    assert view({"a": deleted, "b": deleted, "c": known}).topic_settings() == {"cleanup", "retention"}
    assert view({"a": deleted}).topic_settings() == frozenset()
    assert view({}).topic_settings() == frozenset()


def test_settings_that_this_user_may_not_read_are_an_error() -> None:
    with pytest.raises(AccessDenied, match="reading the configuration of a"):
        view({"a": KafkaError.TOPIC_AUTHORIZATION_FAILED}).topic_settings()


def test_settings_are_read_from_a_topic_that_shows_them() -> None:
    denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
    known = entries(cleanup="delete")
    assert view({"__causeway.m.ledger": denied, "a": denied, "b": known}).topic_settings() == {"cleanup"}
    assert view({"__causeway.m.ledger": denied}).topic_settings() == frozenset()


def test_configurations_are_sorted_by_response() -> None:
    resources = {
        name: ConfigResource(ResourceType.TOPIC, name) for name in ("here", "gone", "late", "denied")
    }
    responses: dict[str, object] = {
        "here": {"x": 1},
        "gone": KafkaError.UNKNOWN_TOPIC_OR_PART,
        "late": KafkaError._TIMED_OUT,
        "denied": KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
    denied: set[str] = set()
    readable, late = configs(
        {resource: completed(responses[name]) for name, resource in resources.items()}, denied, fail
    )
    assert [resource.name for resource, _ in readable] == ["here"]
    assert [resource.name for resource in late] == ["late"]
    assert denied == {"denied"}


def test_offsets_are_sorted_by_response() -> None:
    responses: list[object] = [
        SimpleNamespace(offset=7),
        SimpleNamespace(offset=INITIAL),
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError._TIMED_OUT,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    ]
    requests = {TopicPartition("t", number): completed(each) for number, each in enumerate(responses)}
    offsets, missing = listed_offsets(requests, "latest", {}, retry_late=True, fail=fail)
    assert offsets == {("t", 0): 7}
    assert missing == [("t", 1), ("t", 2), ("t", 3)]
    with pytest.raises(Unreachable, match=r"listing the latest offset of t\[3\]"):
        listed_offsets(requests, "latest", {}, retry_late=False, fail=fail)


def test_a_timestamp_after_the_last_record_is_the_log_end() -> None:
    requests = {
        TopicPartition("t", number): completed(SimpleNamespace(offset=NO_RECORD)) for number in (0, 1)
    }
    offsets, missing = listed_offsets(requests, 1_000, {("t", 0): 9}, retry_late=True, fail=fail)
    assert (offsets, missing) == ({("t", 0): 9}, [])
    assert listed_offsets(requests, "latest", {("t", 0): 9}, retry_late=True, fail=fail) == (
        {},
        [("t", 0), ("t", 1)],
    )
