"""kaf-relay's configuration as a whole: every key of both generations, files, and nodes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.compat.kaf_relay import keys
from causeway.compat.kaf_relay.config import Options, merged, translate
from causeway.compat.kaf_relay.nodes import Node, NodeResponse, choose
from causeway.config import load
from causeway.errors import AccessDenied, CausewayError, IntegrityError, Unreachable
from support.kaf_relay import BEFORE, NEWER, OLDER, PLAIN, mirror, notes, relay, settings


def test_every_key_of_the_newer_generation() -> None:
    relayed = relay(NEWER)
    assert relayed.translation.problems == []
    assert relayed.translation.clusters == {
        "node1": {
            "bootstrap_servers": "node1:9092",
            "properties": {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "user-x",
                "sasl.password": "pass-x",
            },
        },
        "node3": {
            "bootstrap_servers": "node3:9095",
            "properties": {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "user-y",
                "sasl.password": "pass-y",
            },
            "producer": {"linger.ms": "20"},
        },
    }
    assert relayed.translation.mirrors == [
        {
            "name": "kaf-relay-consumer_group",
            "source": "node1",
            "destination": "node3",
            "topics": ["orders", "payments"],
            "rename": {"orders": "orders_copy", "payments": "payments_copy"},
            "partition_map": {"orders": 1},
            "compression": "zstd",
            "queue_records": 100_000,
            "source_group_name": "consumer_group",
        }
    ]
    assert relayed.translation.notes == [
        "app.metrics_server_addr: serves /metrics, with kaf-relay's metric names in addition to Causeway's "
        "own",
        "app.log_level: Causeway logs to stderr; Spark's log is a file",
        "source_pool.instance_id: not needed: a second instance of a mirror fences the first, which stops",
        "source_pool.healthcheck_interval, source_pool.offset_lag_threshold: nodes are not monitored, "
        "compared or changed while the mirror runs",
        "source_pool.backoff_enable, source_pool.backoff_min, source_pool.backoff_max, "
        "target.backoff_enable, target.backoff_min, target.backoff_max: Causeway retries without a limit, "
        "with its own backoff",
        "source_pool.request_timeout, target.session_timeout, target.request_timeout, "
        "sources[].session_timeout: Causeway's clients have their own timeouts",
        "target.flush_frequency: becomes linger.ms; a transaction is committed as soon as no more records "
        "wait",
        "target.flush_batch_size, target.batch_size: batches and transactions adapt to the load",
        "target.max_message_bytes: the brokers' limits decide",
        "sources[].max_wait_time, sources[].max_failovers: kaf-relay does not read it either",
        "sources: --mode single reads from the first of 2 nodes, node1",
        "topics: target topics that do not exist are created",
        "topics: records keep their own timestamps, so none gets the header _t",
        "source_pool.group_id: offsets are committed to it on the source for lag monitoring and never read: "
        "positions are in a ledger on the destination",
    ]
    settings(relayed)


def test_every_key_of_the_older_generation() -> None:
    relayed = relay(OLDER)
    assert relayed.translation.problems == []
    assert list(relayed.translation.clusters) == ["node1", "node3"]
    assert relayed.translation.mirrors == [
        {
            "name": "kaf-relay-relay_group1",
            "source": "node1",
            "destination": "node3",
            "topics": ["orders"],
            "rename": {"orders": "machineX_orders"},
            "compression": "none",
            "source_group_name": "relay_group1",
        }
    ]
    assert relayed.translation.notes == [
        "app.metrics_server_addr: serves /metrics, with kaf-relay's metric names in addition to Causeway's "
        "own",
        "producer.partitioning.orders: has no effect, as in kaf-relay: it looks for the name of the target, "
        "machineX_orders. Records keep their partition",
        "app.log_level: Causeway logs to stderr; Spark's log is a file",
        "app.lag_threshold, app.node_health_check_frequency: nodes are not monitored, compared or changed "
        "while the mirror runs",
        "app.max_request_duration, producer.session_timeout, consumers[].session_timeout: Causeway's "
        "clients have their own timeouts",
        "app.retry_backoff.enable, app.retry_backoff.min, app.retry_backoff.max: Causeway retries without a "
        "limit, with its own backoff",
        "producer.flush_frequency: becomes linger.ms; a transaction is committed as soon as no more records "
        "wait",
        "producer.flush_batch_size, producer.batch_size: batches and transactions adapt to the load",
        "producer.max_message_bytes: the brokers' limits decide",
        "consumers[].max_wait_time: not needed: brokers respond as soon as they have a record",
        "consumers[].offset_commit_interval: positions are committed with the records",
        "consumers[].instance_id: not needed: a second instance of a mirror fences the first, which stops",
        "consumers[].max_failovers: kaf-relay does not read it either",
        "consumers: --mode single reads from the first of 2 nodes, node1",
        "filter.testfilter: not used, as in kaf-relay: no --filter names it",
        "topics: target topics that do not exist are created",
        "topics: records keep their timestamps and headers; kaf-relay drops both",
        "consumers[].group_id: offsets are committed to it on the source for lag monitoring and never read: "
        "positions are in a ledger on the destination",
    ]
    settings(relayed)


def test_the_sample_files_have_every_key() -> None:
    newer, older = tomllib.loads(NEWER), tomllib.loads(OLDER)
    assert set(newer["app"]) | set(older["app"]) >= set(keys.APP) - {
        "initial_offset", "group_id", "instance_id",  # of one revision between the two
    }  # fmt: skip
    assert set(older["app"]["retry_backoff"]) == set(keys.RETRY_BACKOFF)
    assert set(newer["source_pool"]) == set(keys.SOURCE_POOL)
    assert set(older["consumers"][0]) == set(keys.CONSUMER)
    assert set(newer["target"]) == set(keys.TARGET)
    assert set(newer["filters"]["test"]) == set(keys.FILTER)


def test_optional_keys() -> None:
    assert mirror() == {
        "name": "kaf-relay-orders",
        "source": "here",
        "destination": "there",
        "topics": ["orders"],
        "rename": {"orders": "copy"},
        "compression": "none",
        "source_group": False,
    }
    assert notes() == [
        "topics: the mirror and its ledger are named kaf-relay-orders, from the first topic; set "
        "-X mirrors.0.name=… to keep the name when another topic comes first",
        "topics: target topics that do not exist are created",
        "topics: records keep their own timestamps, so none gets the header _t",
        "sources: no offsets are committed on the source, as in kaf-relay; -X mirrors.0.source_group=true "
        "commits them for lag monitoring",
    ]


def test_later_files_are_merged_over_earlier_ones() -> None:
    first = {"app": {"a": 1, "b": {"c": 1}}, "topics": {"x": "1"}, "sources": [{"name": "a"}], "t": 1}
    second = {
        "app": {"b": {"d": 2}},
        "topics": {"y": "2", "x": "3"},
        "sources": [{"name": "b"}],
        "t": {"u": 2},
    }
    third = {"app": {"a": 2}}
    assert merged([first, second, third]) == {
        "app": {"a": 2, "b": {"c": 1, "d": 2}},
        "topics": {"x": "3", "y": "2"},
        "sources": [{"name": "b"}],
        "t": {"u": 2},
    }
    assert first["app"] == {"a": 1, "b": {"c": 1}}, "what was read is unchanged"


def test_failover_has_every_node_and_reads_from_the_first_by_default() -> None:
    relayed = relay(OLDER, mode="failover", stop_at_end=True)
    assert relayed.nodes == (Node("node1", "relay_group1", True), Node("node2", "relay_group2", True))
    assert list(settings(relayed).clusters) == ["node1", "node2", "node3"]
    assert settings(relayed).mirrors[0].source == ("node1",)
    before = settings(relayed).mirrors[0].name
    relayed.read_from(relayed.nodes[1])
    changed = settings(relayed).mirrors[0]
    assert (changed.source, changed.source_group_name, changed.name) == (("node2",), "relay_group2", before)
    assert relayed.translation.notes[-2:] == [
        "--mode failover: the mirror reads from the first node that responds, until it ends; changing nodes "
        "while it runs is not supported yet",
        "--stop-at-end: kaf-relay rejects it with --mode failover; here both work together",
    ]


def test_nodes_may_differ_and_have_one_note() -> None:
    first = {"name": "a", "servers": ["a:1"], "session_timeout": "1s", "group_id": "g"}
    second = {"name": "b", "servers": ["b:1"], "session_timeout": "2s", "offset_commit_interval": 0}
    relayed = relay(BEFORE, {"consumers": [first, second]}, mode="failover")
    assert "consumers[].session_timeout: Causeway's clients have their own timeouts" in (
        relayed.translation.notes
    )
    relayed.read_from(relayed.nodes[1])
    assert relayed.translation.mirrors[0]["source_group"] is False
    assert "source_group_name" not in relayed.translation.mirrors[0]
    relayed.read_from(relayed.nodes[0])
    assert relayed.translation.mirrors[0]["source_group_name"] == "g"
    assert "source_group" not in relayed.translation.mirrors[0]


def test_failover_with_filters() -> None:
    relayed = relay(mode="failover", filters=("company.filters:Europe",))
    assert relayed.translation.notes[-1] == (
        "--filter: kaf-relay rejects filters with --mode failover; here both work together"
    )


NODES = [Node("a"), Node("b"), Node("c")]
DOWN = Unreachable("connecting: no response", where='cluster "a"', why="connection refused")
DENIED = AccessDenied("connecting: access denied")


def responses(*outcomes: str | CausewayError, asked: list[str] | None = None) -> Iterator[NodeResponse]:
    """Cluster ids, or errors, of the nodes in their order."""
    for node, outcome in zip(NODES, outcomes, strict=False):
        if asked is not None:
            asked.append(node.alias)
        yield NodeResponse(node, outcome) if isinstance(outcome, str) else NodeResponse(node, error=outcome)


def test_the_first_node_that_responds_is_used() -> None:
    asked: list[str] = []
    assert choose(responses("A", "B", asked=asked), ()) == (NODES[0], [])
    assert asked == ["a"], "no other node is contacted"
    assert choose(responses(DOWN, "B"), ()) == (NODES[1], ["a: connection refused"])
    assert choose(responses(DOWN, DENIED, "C"), ()) == (
        NODES[2],
        ["a: connection refused", "b: connecting: access denied"],
    )


def test_a_mirror_stays_with_the_node_it_replicated_from() -> None:
    assert choose(responses("A", "B"), {"A"}) == (NODES[0], [])
    assert choose(responses("A", "B"), {"B"}) == (NODES[1], ["a is cluster A"])
    assert choose(responses(DOWN, "B"), {"B"}) == (NODES[1], ["a: connection refused"])
    with pytest.raises(IntegrityError) as caught:
        choose(responses(DOWN, "B", "C"), {"A"})
    assert caught.value.exit_code == 6
    assert caught.value.lines() == [
        "error: the ledger's positions belong to another cluster: reading from this one could repeat every "
        "record",
        "where: replicated from cluster A",
        "why: a: connection refused; b is cluster B; c is cluster C",
        "do: read from that cluster; start again when it is available",
    ]


def test_nodes_of_which_none_responds() -> None:
    with pytest.raises(Unreachable) as caught:
        choose(responses(DOWN, DENIED), {"A"})
    assert caught.value.exit_code == 5
    assert caught.value.what == "no node of the pool responds"
    assert caught.value.why == "a: connection refused; b: connecting: access denied"
    with pytest.raises(AccessDenied) as alone:
        choose(responses(DENIED), ())
    assert alone.value is DENIED


@pytest.mark.parametrize("mode", ["single", "failover"])
@pytest.mark.parametrize("text", [NEWER, OLDER, PLAIN, BEFORE], ids=["newer", "older", "plain", "before"])
def test_the_printed_file_has_the_same_settings(tmp_path: Path, text: str, mode: str) -> None:
    (tmp_path / "europe.py").touch()
    more = {"filter": {"europe": {"config": '{"countries": ["fr"], "deep": {"a.b": {"c": [{"d": 1.5}]}}}'}}}
    tree = merged([tomllib.loads(text), more])
    options = Options(mode=mode, topics=("a.b:c.d:2",), filters=("europe.py",))
    translation = translate(tree, "config.toml", options, tmp_path).translation
    (tmp_path / "relay.toml").write_text(translation.toml())
    assert load(tmp_path / "relay.toml") == translation.settings([], tmp_path)
