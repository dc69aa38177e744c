"""kaf-relay's configuration as a whole: every key of both generations, files, and one node."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from causeway.compat.kaf_relay import keys
from causeway.compat.kaf_relay.config import Options, merged, translate
from causeway.compat.kaf_relay.nodes import check_cluster
from causeway.config import load
from causeway.errors import IntegrityError
from support.kaf_relay import BEFORE, NEWER, OLDER, PLAIN, mirror, notes, relay, settings


def test_every_key_of_the_newer_generation() -> None:
    relayed = relay(NEWER)
    assert relayed.problems == []
    assert relayed.clusters == {
        "node1": {
            "bootstrap_servers": "node1:9092",
            "sasl": {"mechanism": "PLAIN", "username": "user-x", "password": "pass-x"},
        },
        "node3": {
            "bootstrap_servers": "node3:9095",
            "sasl": {"mechanism": "SCRAM-SHA-512", "username": "user-y", "password": "pass-y"},
            "producer": {"linger.ms": "20"},
        },
    }
    assert relayed.mirrors == [
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
    assert relayed.notes == [
        "app.metrics_server_addr: serves /metrics, with kaf-relay's metric names in addition to Causeway's "
        "own, to every machine and without a token; the page and its API there need `token` under [web]",
        "app.log_level: Causeway logs to stderr; Spark's log is a file",
        "source_pool.instance_id: not needed: a second instance of a mirror fences the first, which stops",
        "source_pool.healthcheck_interval, source_pool.offset_lag_threshold: has no effect with --mode "
        "single, which reads from one node; --mode failover uses it",
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
    assert relayed.problems == []
    assert list(relayed.clusters) == ["node1", "node3"]
    assert relayed.mirrors == [
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
    assert relayed.notes == [
        "app.metrics_server_addr: serves /metrics, with kaf-relay's metric names in addition to Causeway's "
        "own, to every machine and without a token; the page and its API there need `token` under [web]",
        "producer.partitioning.orders: has no effect, as in kaf-relay: it looks for the name of the target, "
        "machineX_orders. Records keep their partition",
        "app.log_level: Causeway logs to stderr; Spark's log is a file",
        "app.lag_threshold, app.node_health_check_frequency: has no effect with --mode single, which reads "
        "from one node; --mode failover uses it",
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


def test_a_mirror_of_one_node_stays_with_its_cluster() -> None:
    check_cluster("A", ())
    check_cluster("A", {"A"})
    with pytest.raises(IntegrityError) as caught:
        check_cluster("B", {"A"})
    assert caught.value.exit_code == 6
    assert caught.value.lines() == [
        "error: the ledger's positions belong to another cluster: reading from this one could repeat every "
        "record",
        "where: replicated from cluster A",
        "why: this one is cluster B",
        "do: read from that cluster, or from all nodes with --mode failover",
    ]


@pytest.mark.parametrize("mode", ["single", "failover"])
@pytest.mark.parametrize("text", [NEWER, OLDER, PLAIN, BEFORE], ids=["newer", "older", "plain", "before"])
def test_the_printed_file_has_the_same_settings(tmp_path: Path, text: str, mode: str) -> None:
    (tmp_path / "europe.py").touch()
    more = {"filter": {"europe": {"config": '{"countries": ["fr"], "deep": {"a.b": {"c": [{"d": 1.5}]}}}'}}}
    tree = merged([tomllib.loads(text), more])
    options = Options(mode=mode, topics=("a.b:c.d:2",), filters=("europe.py",))
    translation = translate(tree, "config.toml", options, tmp_path)
    (tmp_path / "relay.toml").write_text(translation.toml())
    assert load(tmp_path / "relay.toml") == translation.settings([], tmp_path)
