"""Clusters of real brokers: started, killed, paused, restarted."""

from __future__ import annotations

import signal
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from causeway.errors import SetupError, UsageError
from causeway.local_kafka import EmbeddedCluster, process
from causeway.local_kafka.ports import HOST, free_ports
from causeway.local_kafka.process import ProcessId

DEADLINE = 30.0


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    (proxied,) = free_ports(1)
    directory = tmp_path_factory.mktemp("single")
    with EmbeddedCluster.start("single", directory=directory, proxied={0: proxied}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def triple(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster.start("triple", brokers=3, directory=tmp_path_factory.mktemp("triple")) as cluster:
        yield cluster


class Forwarder(socketserver.ThreadingTCPServer):
    """Stands at the advertised address and passes bytes on, both ways."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: str, target: int) -> None:
        host, port = address.split(":")
        super().__init__((host, int(port)), socketserver.BaseRequestHandler)
        self.target = target
        self.connections = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        with socket.create_connection((HOST, self.target)) as upstream:
            back = threading.Thread(target=pump, args=(upstream, request), daemon=True)
            back.start()
            pump(request, upstream)
            back.join()

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


def pump(one: socket.socket, other: socket.socket) -> None:
    try:
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the other side has closed


def create_topic(servers: str, topic: str, replicas: int = 1, config: dict[str, str] | None = None) -> None:
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    new = NewTopic(topic, num_partitions=1, replication_factor=replicas, config=config or {})
    for created in admin.create_topics([new], operation_timeout=DEADLINE).values():
        created.result(DEADLINE)


def produce(servers: str, topic: str, values: list[str]) -> None:
    """All acknowledged by all in-sync replicas, or the test fails."""
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": servers, "acks": "all", "message.timeout.ms": DEADLINE * 1000})
    for value in values:
        producer.produce(topic, value, on_delivery=delivered)
    assert producer.flush(DEADLINE) == 0
    assert failures == []


def consume(servers: str, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.value().decode() for message in consumer.consume(count, timeout=DEADLINE)]
    finally:
        consumer.close()


def test_a_killed_broker_comes_back_on_its_port_with_its_data(
    single: EmbeddedCluster, topic_name: str
) -> None:
    create_topic(single.bootstrap_servers, topic_name)
    produce(single.bootstrap_servers, topic_name, ["one", "two"])
    broker, servers, pid = single.brokers[0], single.bootstrap_servers, single.brokers[0].pid

    broker.kill()
    assert not broker.is_up
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, broker.port), timeout=5)
    broker.start()

    assert broker.pid != pid
    assert single.bootstrap_servers == servers
    produce(servers, topic_name, ["three"])
    assert consume(servers, topic_name, 3) == ["one", "two", "three"]


def test_a_stopped_broker_comes_back_too(single: EmbeddedCluster, topic_name: str) -> None:
    create_topic(single.bootstrap_servers, topic_name)
    produce(single.bootstrap_servers, topic_name, ["one"])
    single.stop()
    assert not single.brokers[0].is_up
    single.start_brokers()
    assert consume(single.bootstrap_servers, topic_name, 1) == ["one"]


def test_a_paused_broker_answers_when_it_is_resumed(single: EmbeddedCluster) -> None:
    broker = single.brokers[0]
    broker.pause()
    try:
        with pytest.raises(KafkaException):
            AdminClient({"bootstrap.servers": single.bootstrap_servers, "log_level": 0}).list_topics(
                timeout=1
            )
        assert broker.is_up
    finally:
        broker.resume()
    single.wait_ready(DEADLINE)


def test_clients_of_the_proxy_listener_stay_with_the_proxy(single: EmbeddedCluster, topic_name: str) -> None:
    create_topic(single.bootstrap_servers, topic_name)
    target = single.brokers[0].proxy_target_port
    assert target is not None
    with Forwarder(single.proxied_servers, target) as proxy:
        produce(single.proxied_servers, topic_name, ["one"])
        seen = (
            AdminClient({"bootstrap.servers": single.proxied_servers, "log_level": 0})
            .list_topics(timeout=DEADLINE)
            .brokers
        )
        assert [f"{one.host}:{one.port}" for one in seen.values()] == [single.proxied_servers]
    # The bootstrap connection and the one to the advertised address, which is the proxy's again.
    assert proxy.connections >= 2


def test_the_features_of_this_version_are_on(single: EmbeddedCluster) -> None:
    # They come from a checkpoint that we put there instead of formatting each directory.
    assert "transaction.version to 2" in single.brokers[0].log.read_text()


def test_three_brokers_go_on_without_one(triple: EmbeddedCluster, topic_name: str) -> None:
    servers = triple.bootstrap_servers
    create_topic(servers, topic_name, replicas=3, config={"min.insync.replicas": "2"})
    produce(servers, topic_name, ["one"])
    triple.brokers[0].kill()
    produce(servers, topic_name, ["two"])
    triple.brokers[0].start()
    triple.wait_ready(DEADLINE)
    seen = AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=DEADLINE).brokers
    assert set(seen) == {0, 1, 2}
    assert {f"{HOST}:{one.port}" for one in seen.values()} == set(servers.split(","))
    assert consume(servers, topic_name, 2) == ["one", "two"]


@pytest.mark.integration
def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        EmbeddedCluster.start("bad", directory=tmp_path / "bad", config={"num.io.threads": "none"})
    assert "ended during its start" in caught.value.what
    assert "num.io.threads" in caught.value.why
    assert str(tmp_path / "bad" / "broker-0" / "broker.log") in caught.value.where
    assert not EmbeddedCluster.open(tmp_path / "bad").brokers[0].is_up


def test_a_port_that_is_taken_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with socket.socket() as listener:
        listener.bind((HOST, port))
        listener.listen()
        with pytest.raises(UsageError, match=f"port {port} is in use"):
            EmbeddedCluster.start("some", brokers=2, port=port - 1, directory=tmp_path / "some")
    assert not (tmp_path / "some").exists()


@pytest.mark.parametrize("arguments", [{"brokers": 0}, {"brokers": 10}, {"port": 0}, {"port": 65536}])
def test_clusters_that_cannot_be(arguments: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        EmbeddedCluster.start("some", directory=tmp_path / "some", **arguments)  # type: ignore[arg-type]


@pytest.mark.integration
def test_brokers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    program = f"""
import os, pathlib, signal
from causeway.local_kafka import EmbeddedCluster
EmbeddedCluster.start("child", directory=pathlib.Path({str(tmp_path / "child")!r}))
os.kill(os.getpid(), signal.SIGKILL)
"""
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    record = (tmp_path / "child" / "broker-0" / "process.json").read_text()
    assert process.wait_gone(ProcessId.from_json(record), DEADLINE)
