"""kaf-relay's --mode failover: its nodes and settings, of both generations, as a pool."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.config import PoolSettings
from support.kaf_relay import BEFORE, NEWER, OLDER, PLAIN, mirror, notes, problems, relay, settings

LEFT_ALONE = (
    "becomes backoff_min and backoff_max: how long a node that had to be left is left alone; clients "
    "reconnect with their own backoff"
)
LAG = (
    "becomes lag_threshold: a node is compared with the others in each partition, not in sum, and left when "
    "another one has had more records for 10s (hysteresis)"
)
TIMEOUT = (
    "becomes request_timeout, for checks alone: a node is left after two failed checks in a row, not after "
    "one slow response"
)
LIMIT = "becomes max_failovers: how many nodes are left in a row without a record in between"


def pool(text: str = PLAIN, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """The pool's table, which must load."""
    relayed = relay(text, more, mode="failover")
    settings(relayed)
    return relayed.pools["pool"]


def test_the_newer_generation() -> None:
    relayed = relay(NEWER, mode="failover")
    assert list(settings(relayed).clusters) == ["node1", "node2", "node3"]
    assert relayed.pools == {
        "pool": {
            "nodes": ["node1", "node2"],
            "healthcheck_interval": "3s",
            "request_timeout": "100ms",
            "lag_threshold": 1000,
            "backoff_min": "2s",
            "backoff_max": "10s",
        }
    }
    (table,) = relayed.mirrors
    assert (table["source"], table["destination"], table["name"]) == (
        "pool",
        "node3",
        "kaf-relay-consumer_group",
    )
    assert table["source_group_name"] == "consumer_group"
    lines = [note for note in relayed.notes if "source_pool." in note or "--mode" in note]
    assert lines == [
        "source_pool.instance_id: not needed: a second instance of a mirror fences the first, which stops",
        f"source_pool.offset_lag_threshold: {LAG}",
        f"source_pool.backoff_enable, source_pool.backoff_min, source_pool.backoff_max: {LEFT_ALONE}",
        f"source_pool.request_timeout: {TIMEOUT}",
        "source_pool.group_id: offsets are committed to it on the source for lag monitoring and never read: "
        "positions are in a ledger on the destination",
        "--mode failover: the nodes become a pool; a node must have the records that were replicated last "
        "before the mirror reads on from it",
    ]


def test_the_older_generation() -> None:
    relayed = relay(OLDER, mode="failover", stop_at_end=True)
    assert relayed.pools == {
        "pool": {
            "nodes": ["node1", "node2"],
            "healthcheck_interval": "500ms",
            "request_timeout": "100ms",
            "lag_threshold": 100,
            "backoff_min": "1s",
            "backoff_max": "10s",
        }
    }
    (table,) = relayed.mirrors
    assert (table["source"], table["source_group_name"], table["name"]) == (
        "pool",
        "relay_group1",
        "kaf-relay-relay_group1",
    )
    assert relayed.notes[-3:] == [
        "--mode failover: the nodes become a pool; a node must have the records that were replicated last "
        "before the mirror reads on from it",
        "consumers[].group_id: the first node's holds for all of them",
        "--stop-at-end: kaf-relay rejects it with --mode failover; here both work together",
    ]
    settings(relayed)


def test_a_pool_without_settings_has_our_defaults() -> None:
    for text in (PLAIN, BEFORE):
        relayed = relay(text, mode="failover")
        assert settings(relayed).pools == {"pool": PoolSettings(nodes=("here",))}
        assert settings(relayed).mirrors[0].source == ("pool",)


def test_single_mode_has_no_pool() -> None:
    for text in (NEWER, OLDER):
        relayed = relay(text)
        assert relayed.pools == {}
        assert relayed.mirrors[0]["source"] == "node1"
        assert "[pools" not in relayed.toml()


def test_the_name_of_the_pool_is_no_clusters() -> None:
    relayed = relay(PLAIN, {"target": {"name": "pool"}}, mode="failover")
    assert (list(relayed.pools), relayed.mirrors[0]["source"]) == (["pool-2"], "pool-2")
    assert settings(relayed).mirrors[0].destination == "pool"


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({"source_pool": {"randomize_initial": True}}, {"initial": "random"}),
        ({"source_pool": {"randomize_initial": False}}, {}),
        ({"source_pool": {"max_retries": -1}}, {}),
        ({"source_pool": {"max_retries": 5}}, {"max_failovers": 5}),
        ({"app": {"max_failovers": "7"}}, {"max_failovers": 7}),
        ({"app": {"max_failovers": -1}}, {}),
        ({"app": {"max_failovers": 7}, "source_pool": {"max_retries": 5}}, {"max_failovers": 5}),
        ({"app": {"lag_threshold": 0}}, {"lag_threshold": 0}),
        ({"app": {"max_request_duration": 250_000_000}}, {"request_timeout": "250ms"}),
        ({"app": {"node_health_check_frequency": "1m30s"}}, {"healthcheck_interval": "90s"}),
        ({"source_pool": {"healthcheck_interval": "1.5s"}}, {"healthcheck_interval": "1500ms"}),
    ],
)
def test_keys_of_a_pool(more: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert pool(PLAIN, more) == {"nodes": ["here"], **wanted}


@pytest.mark.parametrize(
    ("backoff", "wanted"),
    [
        ({"enable": True, "min": "2s", "max": "8s"}, {"backoff_min": "2s", "backoff_max": "8s"}),
        ({"enable": True, "min": "9s", "max": "8s"}, {"backoff_min": "8s", "backoff_max": "8s"}),
        ({"enable": True, "min": "30s"}, {"backoff_min": "30s", "backoff_max": "30s"}),
        ({"enable": True, "min": "3s"}, {"backoff_min": "3s", "backoff_max": "10s"}),
        ({"enable": True, "max": "500ms"}, {"backoff_min": "500ms", "backoff_max": "500ms"}),
        ({"enable": True}, {}),
        # kaf-relay then waits for a second each time.
        ({"enable": False, "min": "2s"}, {"backoff_min": "1s", "backoff_max": "1s", "jitter": 0.0}),
        ({"min": "2s", "max": "8s"}, {"backoff_min": "1s", "backoff_max": "1s", "jitter": 0.0}),
        ({}, {}),
    ],
)
def test_the_backoff_of_both_generations(backoff: dict[str, Any], wanted: dict[str, Any]) -> None:
    newer = {"source_pool": {f"backoff_{key}": value for key, value in backoff.items()}}
    older = {"app": {"retry_backoff": backoff}}
    for more in (newer, older):
        assert pool(PLAIN, more) == {"nodes": ["here"], **wanted}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            {"source_pool": {"healthcheck_interval": "1ms"}},
            'source_pool.healthcheck_interval: must be between "100ms" and "1h", not "1ms"',
        ),
        (
            {"app": {"max_request_duration": "-1s"}},
            "app.max_request_duration: must not be negative",
        ),
        (
            {"app": {"retry_backoff": {"enable": True, "min": "2h", "max": "3h"}}},
            'app.retry_backoff.min: must be between "10ms" and "1h", not "2h"',
        ),
        (
            {"source_pool": {"offset_lag_threshold": -1}},
            "source_pool.offset_lag_threshold: must not be negative, not -1",
        ),
    ],
)
def test_values_that_a_pool_cannot_have(more: dict[str, Any], problem: str) -> None:
    assert problem in problems(PLAIN, more, mode="failover")


def test_notes_say_what_becomes_of_a_limit() -> None:
    assert f"source_pool.max_retries: {LIMIT}" in notes(
        PLAIN, {"source_pool": {"max_retries": 5}}, mode="failover"
    )
    assert f"app.max_failovers: {LIMIT}" in notes(PLAIN, {"app": {"max_failovers": 5}}, mode="failover")
    unlimited = notes(PLAIN, {"app": {"max_failovers": -1}}, mode="failover")
    assert not [note for note in unlimited if "max_failovers" in note]


def test_the_group_of_the_first_node_is_that_of_the_pool() -> None:
    first: dict[str, Any] = {"name": "a", "servers": ["a:1"], "session_timeout": "1s", "group_id": "g"}
    second = {"name": "b", "servers": ["b:1"], "session_timeout": "2s", "offset_commit_interval": 0}
    more: dict[str, Any] = {"consumers": [first, second]}
    lines = notes(BEFORE, more, mode="failover")
    assert "consumers[].session_timeout: Causeway's clients have their own timeouts" in lines
    assert "consumers[].group_id: the first node's holds for all of them" in lines
    assert mirror(BEFORE, more, mode="failover")["source_group_name"] == "g"
    table = mirror(BEFORE, {"consumers": [second, first]}, mode="failover")
    assert (table["source_group"], "source_group_name" in table) == (False, False)


def test_filters_work_in_failover_mode() -> None:
    relayed = relay(mode="failover", filters=("company.filters:Europe",))
    assert relayed.notes[-1] == (
        "--filter: kaf-relay rejects filters with --mode failover; here both work together"
    )
    assert [filter_["filter"] for filter_ in relayed.mirrors[0]["filters"]] == ["company.filters:Europe"]
    assert settings(relayed).mirrors[0].source == ("pool",)


def test_the_printed_file_has_the_pool() -> None:
    text = relay(NEWER, mode="failover").toml()
    assert (
        "\n[pools.pool]\n"
        'nodes = ["node1", "node2"]\nhealthcheck_interval = "3s"\nrequest_timeout = "100ms"\n'
        'lag_threshold = 1000\nbackoff_min = "2s"\nbackoff_max = "10s"\n\n[[mirrors]]\n'
    ) in text
    assert '\nsource = "pool"\n' in text
