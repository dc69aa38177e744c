"""Clusters that one writer feeds with the same records in the same order: a source pool."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewPartitions, NewTopic

from causeway.local_kafka import EmbeddedCluster
from causeway.local_kafka.ports import free_ports
from support.process import eventually
from support.proxy import Proxy
from support.records import Rec, end_offsets
from support.shared_brokers import SHARED_BROKER
from support.world import UNBOUNDED, World

NAMES = ("n1", "n2", "n3")
TWO = ("n1", "n2")
POOL = "exchange"
Records = Sequence[tuple[int, Rec]]


@contextmanager
def proxies_of(names: Sequence[str]) -> Iterator[dict[str, Proxy]]:
    with ExitStack() as stack:
        proxies = {name: Proxy(port) for name, port in zip(names, free_ports(len(names)), strict=True)}
        for proxy in proxies.values():
            stack.callback(proxy.close)
        yield proxies


@contextmanager
def started_nodes(
    directory: Path, names: Sequence[str] = NAMES, proxies: Mapping[str, Proxy] | None = None
) -> Iterator[dict[str, EmbeddedCluster]]:
    """With `proxies` they are in front of the nodes, at `proxied_servers`."""
    with ExitStack() as stack:
        nodes = {}
        for name in names:
            proxy = (proxies or {}).get(name)
            nodes[name] = stack.enter_context(
                EmbeddedCluster.start(
                    name,
                    directory=directory / name,
                    proxied={0: proxy.port} if proxy else None,
                    config=SHARED_BROKER,
                )
            )
            if proxy:
                proxy.target(nodes[name].brokers[0].proxy_target_port or 0)
        yield nodes


class Feed:
    """Writes records to one node, in order, as fast as the node takes them; the rest when it is back."""

    def __init__(self, servers: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.max.ms": 200,
                "queue.buffering.max.messages": 1_000_000,
                "error_cb": lambda _error: None,
                "log_level": 0,
            }
        )

    def add(self, topic: str, records: Records) -> None:
        for partition, rec in records:
            eventually(partial(self._taken, topic, partition, rec), "the client knows the partition")
        self._producer.poll(0)

    def _taken(self, topic: str, partition: int, rec: Rec) -> bool:
        headers = list(rec.headers) or None
        try:
            self._producer.produce(
                topic, rec.value, rec.key, partition, timestamp=rec.timestamp, headers=headers
            )
        except KafkaException as exception:  # a partition that is new
            assert exception.args[0].code() == KafkaError._UNKNOWN_PARTITION
            self._producer.list_topics(topic, timeout=10)
            return False
        return True

    def finish(self, seconds: float = 30.0) -> None:
        assert self._producer.flush(seconds) == 0


class NodePool:
    """The nodes, the mirror that reads from them, and what was written."""

    def __init__(
        self, nodes: Mapping[str, EmbeddedCluster], destination: EmbeddedCluster, directory: Path
    ) -> None:
        self.nodes = nodes
        self.world = World(nodes["n1"], destination, directory)
        self.world.servers = {
            "destination": destination.bootstrap_servers,
            **{name: node.bootstrap_servers for name, node in nodes.items()},
        }
        self.written: dict[str, list[tuple[int, Rec]]] = {}
        self._missing: dict[str, list[tuple[str, tuple[int, Rec]]]] = {name: [] for name in nodes}
        self._feeds = {name: Feed(node.bootstrap_servers) for name, node in nodes.items()}

    def topic(self, suffix: str = "t", partitions: int = 2) -> str:
        name = self.world.name(suffix)
        for node in self.nodes:
            topic = NewTopic(name, partitions, 1, config=UNBOUNDED)
            for future in self.world.admin(node).create_topics([topic]).values():
                future.result()
        self.written[name] = []
        return name

    def config(self, topics: Sequence[str], pool: Mapping[str, str] | None = None, **mirror: Any) -> Path:
        settings = {
            "nodes": json.dumps(list(self.nodes)), "healthcheck_interval": '"1s"', "request_timeout": '"1s"',
            "hysteresis": '"2s"', "backoff_min": '"500ms"', **(pool or {}),
        }  # fmt: skip
        path = self.world.config(topics, source=POOL, **mirror)
        lines = [f"[pools.{POOL}]", *(f"{key} = {value}" for key, value in settings.items())]
        path.write_text(path.read_text() + "\n".join(lines) + "\n")
        return path

    def write(self, topic: str, records: Records, to: Sequence[str] = ()) -> None:
        """Write to these nodes, or all, and wait until they have it; `catch_up` writes it to the others."""
        self.send(topic, records, to)
        for name in to or self.nodes:
            self._feeds[name].finish()

    def send(self, topic: str, records: Records, to: Sequence[str] = ()) -> None:
        """Like `write`, without waiting."""
        self.written[topic] += records
        for name in self.nodes:
            self._missing[name] += [(topic, record) for record in records]
            if not to or name in to:
                self.catch_up(name)

    def catch_up(self, node: str) -> None:
        """Write to a node what it has not got yet."""
        for topic, record in self._missing[node]:
            self._feeds[node].add(topic, [record])
        self._missing[node] = []

    def only(self, topic: str, records: Records, to: str) -> None:
        """Write to one node what the pool need not have."""
        self._missing[to] = [each for each in self._missing[to] if each[0] != topic]
        self._feeds[to].add(topic, records)
        self.finish(to)

    def finish(self, node: str) -> None:
        self._feeds[node].finish()

    def grow(self, topic: str, partitions: int, node: str) -> None:
        for future in self.world.admin(node).create_partitions([NewPartitions(topic, partitions)]).values():
            future.result()

    def delete_records(self, topic: str, node: str, before: Mapping[int, int]) -> None:
        wanted = [TopicPartition(topic, number, offset) for number, offset in before.items()]
        for future in self.world.admin(node).delete_records(wanted).values():
            future.result()

    @contextmanager
    def suspended(self, node: str, seconds: float = 0.5) -> Iterator[None]:
        """The node does not respond for a moment."""
        self.pause(node)
        try:
            time.sleep(seconds)  # the fault itself: shorter than what counts as dead
            yield
        finally:
            self.nodes[node].brokers[0].resume()

    def ends(self, topic: str, node: str) -> dict[int, int]:
        partitions = self.world.admin(node).list_topics(topic, timeout=10).topics[topic].partitions
        return end_offsets(self.world.servers[node], topic, len(partitions))

    def delivered(self) -> int:
        return self.world.carried()

    def assert_delivered(self, topic: str) -> None:
        """Each record that was written, once, in order, unchanged."""
        wanted: dict[int, list[Rec]] = {}
        for partition, rec in self.written[topic]:
            wanted.setdefault(partition, []).append(rec)
        arrived = self.world.read(topic)
        for partition, records in wanted.items():
            found = arrived[partition]
            if found != records:
                pairs = zip(records, found, strict=False)
                at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(found), len(records)))
                raise AssertionError(
                    f"{topic}[{partition}]: {len(records)} written, {len(found)} delivered,"
                    f" first difference at {at}: {records[at : at + 1]} became {found[at : at + 1]}"
                )
        for source, position in self.world.ledger().positions.items():
            assert position.offset - position.start == position.tally.offsets, f"{source}: {position}"

    def reading_from(self) -> set[str]:
        """The nodes that the shards read from, by the ledger."""
        beats = self.world.ledger().heartbeats.values()
        return {node for beat in beats for node in beat.nodes.values()}

    def kill(self, node: str) -> None:
        self.nodes[node].brokers[0].kill()

    def pause(self, node: str) -> None:
        self.nodes[node].brokers[0].pause()

    def restore(self) -> None:
        """Every node runs again."""
        for node in self.nodes.values():
            if node.brokers[0].is_up:
                node.brokers[0].resume()
            else:
                node.start_brokers()

    def close(self) -> None:
        self.world.close()
        self.restore()


class Traffic:
    """Writes 1,000 records/s in the background, to all nodes or to those in `to`, until it is ended."""

    def __init__(
        self, pool: NodePool, topic: str, start: int = 0, make: Callable[[int, int], Records] | None = None
    ) -> None:
        """`make`: the records, by their count and the number of the first one."""
        self._make = make or (lambda count, first: pool.world.numbers(count, 2, first))
        self.to: Sequence[str] = ()  # empty: all
        self.next = start  # number of the next record
        self._pool, self._topic = pool, topic
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        while not self._ending.wait(0.02):
            records = self._make(20, self.next)
            self.next += 20
            self._pool.send(self._topic, records, self.to)

    def end(self) -> int:
        """Returns how many records were written to the topic."""
        self._ending.set()
        self._thread.join()
        return len(self._pool.written[self._topic])
