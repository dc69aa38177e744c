"""server.properties, and the shape it is made from."""

from __future__ import annotations

from causeway.local_kafka.broker import meaningful
from causeway.local_kafka.cluster_shape import ClusterShape, new_shape
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
