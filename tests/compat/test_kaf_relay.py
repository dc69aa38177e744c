"""kaf-relay's configuration as a whole: every key of both generations, files, and nodes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.compat.kaf_relay import keys
from causeway.compat.kaf_relay.config import Options, merged, translate
from causeway.compat.kaf_relay.nodes import Node, NodeAnswer, choose
from causeway.config import load
from causeway.errors import AccessDenied, CausewayError, IntegrityError, Unreachable
from support.kaf_relay import BEFORE, NEWER, OLDER, PLAIN, mirror, notes, relay, settings


def test_every_key_of_the_newer_generation() -> None:
    found = relay(NEWER)
    assert found.translation.problems == []
    assert found.translation.clusters == {
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
    assert found.translation.mirrors == [
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
    assert found.translation.notes == [
        "app.metrics_server_addr: /metrics is there, with kaf-relay's names beside Causeway's own",
        "app.log_level: Causeway says what matters on stderr; Spark's own log is a file",
        "source_pool.instance_id: not needed: the newer of two instances of a mirror makes the older one "
        "stop",
        "source_pool.healthcheck_interval, source_pool.offset_lag_threshold: the nodes are not watched, "
        "compared or changed while the mirror runs",
        "source_pool.backoff_enable, source_pool.backoff_min, source_pool.backoff_max, "
        "target.backoff_enable, target.backoff_min, target.backoff_max: Causeway tries again for as long as "
        "it takes, with pauses of its own",
        "source_pool.request_timeout, target.session_timeout, target.request_timeout, "
        "sources[].session_timeout: Causeway's clients have time limits of their own",
        "target.flush_frequency: becomes linger.ms; a transaction closes as soon as nothing more waits",
        "target.flush_batch_size, target.batch_size: batches and transactions grow and shrink with the load "
        "by themselves",
        "target.max_message_bytes: the brokers' limits decide",
        "sources[].max_wait_time, sources[].max_failovers: kaf-relay does not read it either",
        "sources: --mode single reads from the first of 2 nodes, node1",
        "topics: target topics that do not exist are created",
        "topics: records keep their own timestamps, so none gets the header _t",
        "source_pool.group_id: is advanced on the source for lag tools and never read: positions are in a "
        "ledger on the destination",
    ]
    settings(found)


def test_every_key_of_the_older_generation() -> None:
    found = relay(OLDER)
    assert found.translation.problems == []
    assert list(found.translation.clusters) == ["node1", "node3"]
    assert found.translation.mirrors == [
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
    assert found.translation.notes == [
        "app.metrics_server_addr: /metrics is there, with kaf-relay's names beside Causeway's own",
        "producer.partitioning.orders: has no effect, as in kaf-relay: it looks for the name of the target, "
        "machineX_orders. Records keep their partition",
        "app.log_level: Causeway says what matters on stderr; Spark's own log is a file",
        "app.lag_threshold, app.node_health_check_frequency: the nodes are not watched, compared or changed "
        "while the mirror runs",
        "app.max_request_duration, producer.session_timeout, consumers[].session_timeout: Causeway's clients "
        "have time limits of their own",
        "app.retry_backoff.enable, app.retry_backoff.min, app.retry_backoff.max: Causeway tries again for as "
        "long as it takes, with pauses of its own",
        "producer.flush_frequency: becomes linger.ms; a transaction closes as soon as nothing more waits",
        "producer.flush_batch_size, producer.batch_size: batches and transactions grow and shrink with the "
        "load by themselves",
        "producer.max_message_bytes: the brokers' limits decide",
        "consumers[].max_wait_time: not needed: brokers answer as soon as they have a record",
        "consumers[].offset_commit_interval: positions are committed with the records",
        "consumers[].instance_id: not needed: the newer of two instances of a mirror makes the older one "
        "stop",
        "consumers[].max_failovers: kaf-relay does not read it either",
        "consumers: --mode single reads from the first of 2 nodes, node1",
        "filter.testfilter: not used: no --filter names it, and kaf-relay does not use it then",
        "topics: target topics that do not exist are created",
        "topics: records keep their timestamps and headers; kaf-relay drops both",
        "consumers[].group_id: is advanced on the source for lag tools and never read: positions are in a "
        "ledger on the destination",
    ]
    settings(found)


def test_the_files_above_hold_every_key_there_is() -> None:
    newer, older = tomllib.loads(NEWER), tomllib.loads(OLDER)
    assert set(newer["app"]) | set(older["app"]) >= set(keys.APP) - {
        "initial_offset", "group_id", "instance_id",  # of one revision between the two
    }  # fmt: skip
    assert set(older["app"]["retry_backoff"]) == set(keys.RETRY_BACKOFF)
    assert set(newer["source_pool"]) == set(keys.SOURCE_POOL)
    assert set(older["consumers"][0]) == set(keys.CONSUMER)
    assert set(newer["target"]) == set(keys.TARGET)
    assert set(newer["filters"]["test"]) == set(keys.FILTER)


def test_what_may_be_left_out() -> None:
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
        "topics: the mirror and its ledger are called kaf-relay-orders, after the first topic; "
        "-X mirrors.0.name=… keeps the name when another one comes first",
        "topics: target topics that do not exist are created",
        "topics: records keep their own timestamps, so none gets the header _t",
        "sources: nothing is committed at the source, as in kaf-relay; -X mirrors.0.source_group=true shows "
        "the mirror's lag to lag tools",
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
    assert first["app"] == {"a": 1, "b": {"c": 1}}, "what was read stays as it is"


def test_failover_has_every_node_and_reads_from_the_first_until_told_otherwise() -> None:
    found = relay(OLDER, mode="failover", stop_at_end=True)
    assert found.nodes == (Node("node1", "relay_group1", True), Node("node2", "relay_group2", True))
    assert list(settings(found).clusters) == ["node1", "node2", "node3"]
    assert settings(found).mirrors[0].source == ("node1",)
    before = settings(found).mirrors[0].name
    found.read_from(found.nodes[1])
    changed = settings(found).mirrors[0]
    assert (changed.source, changed.source_group_name, changed.name) == (("node2",), "relay_group2", before)
    assert found.translation.notes[-2:] == [
        "--mode failover: the first node that answers is read from until the mirror ends; pools that change "
        "nodes are not there yet",
        "--stop-at-end: kaf-relay refuses it with --mode failover; here both go together",
    ]


def test_nodes_may_differ_and_are_spoken_of_once() -> None:
    first = {"name": "a", "servers": ["a:1"], "session_timeout": "1s", "group_id": "g"}
    second = {"name": "b", "servers": ["b:1"], "session_timeout": "2s", "offset_commit_interval": 0}
    found = relay(BEFORE, {"consumers": [first, second]}, mode="failover")
    assert "consumers[].session_timeout: Causeway's clients have time limits of their own" in (
        found.translation.notes
    )
    found.read_from(found.nodes[1])
    assert found.translation.mirrors[0]["source_group"] is False
    assert "source_group_name" not in found.translation.mirrors[0]
    found.read_from(found.nodes[0])
    assert found.translation.mirrors[0]["source_group_name"] == "g"
    assert "source_group" not in found.translation.mirrors[0]


def test_failover_with_filters() -> None:
    found = relay(mode="failover", filters=("company.filters:Europe",))
    assert found.translation.notes[-1] == (
        "--filter: kaf-relay refuses filters with --mode failover; here both go together"
    )


NODES = [Node("a"), Node("b"), Node("c")]
DOWN = Unreachable("connecting: no answer", where='cluster "a"', why="connection refused")
DENIED = AccessDenied("connecting: access denied")


def answers(*outcomes: str | CausewayError, asked: list[str] | None = None) -> Iterator[NodeAnswer]:
    """Cluster ids, or errors, of the nodes in their order."""
    for one, outcome in zip(NODES, outcomes, strict=False):
        if asked is not None:
            asked.append(one.alias)
        yield NodeAnswer(one, outcome) if isinstance(outcome, str) else NodeAnswer(one, error=outcome)


def test_the_first_node_that_answers_is_taken() -> None:
    asked: list[str] = []
    assert choose(answers("A", "B", asked=asked), ()) == (NODES[0], [])
    assert asked == ["a"], "nobody else is asked"
    assert choose(answers(DOWN, "B"), ()) == (NODES[1], ["a: connection refused"])
    assert choose(answers(DOWN, DENIED, "C"), ()) == (
        NODES[2],
        ["a: connection refused", "b: connecting: access denied"],
    )


def test_a_mirror_stays_with_the_node_it_has_carried_from() -> None:
    assert choose(answers("A", "B"), {"A"}) == (NODES[0], [])
    assert choose(answers("A", "B"), {"B"}) == (NODES[1], ["a is cluster A"])
    assert choose(answers(DOWN, "B"), {"B"}) == (NODES[1], ["a: connection refused"])
    with pytest.raises(IntegrityError) as caught:
        choose(answers(DOWN, "B", "C"), {"A"})
    assert caught.value.exit_code == 6
    assert caught.value.lines() == [
        "error: the ledger's positions belong to another cluster: from this one every record could come "
        "again",
        "where: carried from cluster A",
        "why: a: connection refused; b is cluster B; c is cluster C",
        "do: read from that cluster; start again when it is back",
    ]


def test_nodes_of_which_none_answers() -> None:
    with pytest.raises(Unreachable) as caught:
        choose(answers(DOWN, DENIED), {"A"})
    assert caught.value.exit_code == 5
    assert caught.value.what == "no node of the pool answers"
    assert caught.value.why == "a: connection refused; b: connecting: access denied"
    with pytest.raises(AccessDenied) as alone:
        choose(answers(DENIED), ())
    assert alone.value is DENIED


@pytest.mark.parametrize("mode", ["single", "failover"])
@pytest.mark.parametrize("text", [NEWER, OLDER, PLAIN, BEFORE], ids=["newer", "older", "plain", "before"])
def test_the_printed_file_means_the_same(tmp_path: Path, text: str, mode: str) -> None:
    (tmp_path / "europe.py").touch()
    more = {"filter": {"europe": {"config": '{"countries": ["fr"], "deep": {"a.b": {"c": [{"d": 1.5}]}}}'}}}
    tree = merged([tomllib.loads(text), more])
    options = Options(mode=mode, topics=("a.b:c.d:2",), filters=("europe.py",))
    found = translate(tree, "config.toml", options, tmp_path).translation
    (tmp_path / "relay.toml").write_text(found.toml())
    assert load(tmp_path / "relay.toml") == found.settings([], tmp_path)
