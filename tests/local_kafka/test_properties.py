"""server.properties, and the shape it is made from."""

from __future__ import annotations

import json
from pathlib import Path

from causeway.local_kafka.cluster_shape import ClusterShape, new_shape
from causeway.local_kafka.kept_process import meaningful
from causeway.local_kafka.listener_security import ListenerSecurity
from causeway.local_kafka.properties import render, server_properties


def shape_of(
    brokers: int,
    port: int | None = None,
    config: dict[str, str] | None = None,
    proxied: dict[int, int] | None = None,
) -> ClusterShape:
    return new_shape(
        "some",
        brokers=brokers,
        port=port,
        version="4.3.1",
        java_options="-Xmx512m",
        config=config or {},
        proxied=proxied or {},
    )


def test_internal_topics_fit_a_single_broker() -> None:
    cluster = shape_of(1)
    properties = server_properties(cluster, cluster.brokers[0])
    assert properties["transaction.state.log.replication.factor"] == "1"
    assert properties["transaction.state.log.min.isr"] == "1"
    assert properties["process.roles"] == "broker,controller"


def test_five_brokers_have_three_controllers() -> None:
    cluster = shape_of(5)
    roles = [server_properties(cluster, broker)["process.roles"] for broker in cluster.brokers]
    assert roles == ["broker,controller"] * 3 + ["broker"] * 2
    last = server_properties(cluster, cluster.brokers[4])
    assert "CONTROLLER://" not in last["listeners"]
    assert last["transaction.state.log.replication.factor"] == "3"
    assert last["transaction.state.log.min.isr"] == "2"


def test_given_ports_follow_each_other_and_none_is_used_twice() -> None:
    cluster = shape_of(3, port=20500)
    assert cluster.bootstrap_servers == "127.0.0.1:20500,127.0.0.1:20501,127.0.0.1:20502"
    used = [
        port for one in cluster.brokers for port in (one.client_port, one.internal_port, one.controller_port)
    ]
    assert len(set(used)) == 9


def test_a_proxied_broker_listens_in_one_place_and_advertises_another() -> None:
    cluster = shape_of(2, proxied={1: 9999})
    first, second = (server_properties(cluster, broker) for broker in cluster.brokers)
    assert "PROXY://" not in first["listeners"]
    assert f"PROXY://127.0.0.1:{cluster.brokers[1].proxy_target_port}" in second["listeners"]
    assert "PROXY://127.0.0.1:9999" in second["advertised.listeners"]
    assert cluster.proxied_servers == "127.0.0.1:9999"


def test_extra_settings_win() -> None:
    cluster = shape_of(1, config={"offsets.topic.num.partitions": "7"})
    assert server_properties(cluster, cluster.brokers[0])["offsets.topic.num.partitions"] == "7"


def test_a_shape_survives_its_record() -> None:
    cluster = shape_of(3, config={"a": "b"}, proxied={0: 1234})
    assert ClusterShape.from_json(cluster.to_json()) == cluster


def test_values_are_written_as_java_reads_them() -> None:
    assert render({"key": "plain = value"}) == "key=plain = value\n"
    assert render({"key": "a\\b\nü😀"}) == "key=a\\u005cb\\u000a\\u00fc\\ud83d\\ude00\n"


def test_the_lines_of_a_log_that_say_why() -> None:
    log = [
        "INFO all is well",
        "2026-01-01 [main] ERROR kafka.Kafka$ - Exiting Kafka due to fatal exception",
        "java.net.BindException: Address already in use",
        "\tat java.base/sun.nio.ch.Net.bind0(Native Method)",
        "INFO closing",
    ]
    assert meaningful(log) == log[1:3]
    assert meaningful(["one", "", "two"]) == ["one", "two"]
    assert meaningful([]) == []


def test_further_listeners_have_ports_and_settings_of_their_own() -> None:
    security = ListenerSecurity(properties={"connections.max.reauth.ms": "5000"})
    security = security.with_plain({"ann": 'a "quoted\\ one'}).with_scram("SCRAM-SHA-512")
    listeners = {"SAFE": security.with_tls(Path("/keys.pem"), clients=Path("/ca.pem"))}
    cluster = new_shape(
        "some",
        brokers=2,
        port=None,
        version="4.3.1",
        java_options="",
        config={},
        proxied={},
        listeners=listeners,
    )
    first, second = (server_properties(cluster, broker) for broker in cluster.brokers)
    assert cluster.servers_of("SAFE") == ",".join(
        f"127.0.0.1:{broker.more_ports['SAFE']}" for broker in cluster.brokers
    )
    assert f"SAFE://127.0.0.1:{cluster.brokers[1].more_ports['SAFE']}" in second["advertised.listeners"]
    assert "CLIENT:PLAINTEXT,SAFE:SASL_SSL,INTERNAL:PLAINTEXT" in first["listener.security.protocol.map"]
    prefix = "listener.name.safe"
    assert first[f"{prefix}.sasl.enabled.mechanisms"] == "PLAIN,SCRAM-SHA-512"
    assert first[f"{prefix}.ssl.keystore.location"] == "/keys.pem"
    assert first[f"{prefix}.ssl.client.auth"] == "required"
    assert first[f"{prefix}.connections.max.reauth.ms"] == "5000"
    assert first[f"{prefix}.plain.sasl.jaas.config"].endswith(
        'PlainLoginModule required user_ann="a \\"quoted\\\\ one";'
    )
    assert ClusterShape.from_json(cluster.to_json()) == cluster


def test_the_client_listener_itself_can_be_secured() -> None:
    security = ListenerSecurity().with_scram("SCRAM-SHA-256")
    cluster = new_shape(
        "some", brokers=1, port=None, version="4.3.1", java_options="", config={}, proxied={},
        listeners={"CLIENT": security},
    )  # fmt: skip
    properties = server_properties(cluster, cluster.brokers[0])
    assert properties["listener.security.protocol.map"].startswith("CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT")
    assert properties["listeners"].count("CLIENT://") == 1


def test_a_record_of_an_earlier_version_has_no_further_listeners() -> None:
    record = json.loads(shape_of(1).to_json())
    del record["listeners"]
    for broker in record["brokers"]:
        del broker["more_ports"]
    assert ClusterShape.from_json(json.dumps(record)).listeners == {}
