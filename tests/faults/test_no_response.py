"""A leader that does not respond with its log end: a missing response is never the end of an empty log.

The client fills in a number before it sends the request, and leaves it there, without an error, if no
response comes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import encode
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import ledger_topic
from causeway.errors import Unreachable
from causeway.kafka.admin import At, ClusterView
from causeway.kafka.ledger import read_image
from causeway.kafka.ledger_topics import ensure_topics
from faults.network import ProxiedCluster, lines
from support.proxy import DESCRIBE_CONFIGS, LIST_OFFSETS
from support.world import now_ms


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedCluster]:
    with lines("no-response", tmp_path_factory.mktemp("no-response")) as made:
        yield made


@pytest.fixture
def view(line: ProxiedCluster, monkeypatch: pytest.MonkeyPatch) -> ClusterView:
    for name in ("RESPONSE_SECONDS", "METADATA_SECONDS", "REQUEST_SECONDS"):
        monkeypatch.setattr(f"causeway.kafka.admin.{name}", 1.0)
    made = ClusterView(Cluster("far", {"bootstrap.servers": line.cluster.proxied_servers}))
    made.connect()
    return made


def fill(line: ProxiedCluster, topic: str, *records: tuple[bytes | None, bytes]) -> None:
    producer = Producer({"bootstrap.servers": line.cluster.bootstrap_servers, "log_level": 0})
    for key, value in records:
        producer.produce(topic, value, key, 1)
    assert producer.flush(10) == 0


def lose_next_response(line: ProxiedCluster, to: int = LIST_OFFSETS) -> None:
    (proxy,) = line.proxies
    proxy.lose_answer(to, hang_up=False)


@contextlib.contextmanager
def no_responses(line: ProxiedCluster, to: int = LIST_OFFSETS) -> Iterator[None]:
    """However often one asks."""
    (proxy,) = line.proxies

    def look(api: int, _body: bytes) -> None:
        if api == to:
            proxy.lose_answer(to, hang_up=False)

    before, proxy.on_request = proxy.on_request, look
    try:
        yield
    finally:
        proxy.on_request = before


@pytest.mark.parametrize("at", ["earliest", "latest", "stable", 1])
def test_without_a_response_there_is_no_offset(
    line: ProxiedCluster, view: ClusterView, at: At, topic_name: str
) -> None:
    assert view.create_topic(topic_name, 2, 1, {})
    fill(line, topic_name, *[(None, b"x")] * 10)
    spot = topic_name, 1
    end = 0 if at in ("earliest", 1) else 10

    assert view.offsets([spot], at) == {spot: end}
    lose_next_response(line)
    assert view.offsets([spot], at) == {spot: end}, "the request is repeated"
    with no_responses(line):
        assert view.offsets([spot], at) == {}
    with no_responses(line), pytest.raises(Unreachable, match="does not respond"):
        view.all_offsets([spot], at)
    assert view.offsets([spot], now_ms() + 60_000) == {spot: 10}, "from now on"


def test_a_ledger_whose_end_is_not_known_is_asked_again(line: ProxiedCluster, view: ClusterView) -> None:
    """Taken for empty, it would have everything replicated once more."""
    ensure_topics(view, "no-response", 1, 1)
    source = SourcePartition("c", "t", 0)
    position = Position(source, "id", 0, 7, -1, Place("t", "id", 0), 0, 7, 1, now_ms())
    key, value = encode(position)
    fill(line, ledger_topic("no-response"), (key, value))
    lose_next_response(line)

    image = read_image(view.cluster, "no-response")

    assert image.positions[source].offset == 7


def test_a_ledger_is_not_created_while_it_is_unknown_whether_there_was_one(
    line: ProxiedCluster, view: ClusterView
) -> None:
    ensure_topics(view, "lost", 1, 1)
    fill(line, "__causeway.lost.offsets", (b"c|t|0", b"{}"))
    view._admin.client.delete_topics([ledger_topic("lost")])[ledger_topic("lost")].result()

    with no_responses(line), pytest.raises(Unreachable, match="does not respond"):
        ensure_topics(view, "lost", 1, 1)

    assert not view.describe([ledger_topic("lost")])


def test_settings_without_a_response_are_requested_again(
    line: ProxiedCluster, view: ClusterView, topic_name: str
) -> None:
    """Running mirrors ask every few seconds: what was lost on the way must not look like an outage."""
    assert view.create_topic(topic_name, 1, 1, {"message.timestamp.type": "LogAppendTime"})
    lose_next_response(line, DESCRIBE_CONFIGS)

    assert view.configs([topic_name])[topic_name]["message.timestamp.type"] == "LogAppendTime"
