"""Faults of the brokers of a cluster, and how to choose a broker.

Each method waits until the cluster shows its effect: a killed leader has a successor, a restarted broker
is in sync again. So a schedule is a list of calls, without pauses between them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from causeway.local_kafka import Broker, EmbeddedCluster
from support.process import eventually
from support.reassign import reassign

REPLICATED = {"min.insync.replicas": "2"}
TRANSACTION_STATE = "__transaction_state"
SECONDS = 60.0

_NOT_NEEDED = "ELECTION_NOT_NEEDED"  # the preferred replica leads already


class Partition(NamedTuple):
    """A partition's leader (-1: none), replicas (the preferred leader first) and in-sync replicas."""

    leader: int
    replicas: tuple[int, ...]
    in_sync: frozenset[int]


class Brokers:
    """The brokers of one cluster, asked through the listener without a proxy."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.admin = AdminClient(
            {
                "bootstrap.servers": cluster.internal_servers,
                "reconnect.backoff.max.ms": 500,
                # A suspended broker keeps its connections, and requests to it would wait for a minute.
                "socket.timeout.ms": 3_000,
                "log_level": 0,
                "error_cb": lambda _error: None,
            }
        )

    def __getitem__(self, node: int) -> Broker:
        return self.cluster.brokers[node]

    # choosing a broker

    def partitions(self, topics: Iterable[str] = ()) -> dict[tuple[str, int], Partition]:
        """Partitions of these topics, or of all, internal ones included, as the responding broker knows them.

        Raises KafkaException if no broker responds.
        """
        wanted = set(topics)
        # Not DescribeTopics: the client sends that to one broker alone, which may be the dead one.
        known = self.admin.list_topics(timeout=5).topics
        return {
            (name, number): Partition(facts.leader, tuple(facts.replicas), frozenset(facts.isrs))
            for name, topic in known.items()
            if not wanted or name in wanted
            for number, facts in topic.partitions.items()
        }

    def leader(self, topic: str, partition: int = 0) -> Broker:
        """The current leader; waits until there is one."""
        led: list[int] = []

        def known(found: Mapping[tuple[str, int], Partition]) -> bool:
            led[:] = [facts.leader for at, facts in found.items() if at == (topic, partition)]
            return bool(led) and led[0] >= 0

        self._until(known, f"{topic}[{partition}] has a leader", [topic])
        return self[led[0]]

    def coordinator(self, transactional_id: str) -> Broker:
        """The transaction coordinator of a producer: the leader of its partition of `__transaction_state`."""
        count = len(self.partitions([TRANSACTION_STATE]))
        return self.leader(TRANSACTION_STATE, coordinating_partition(transactional_id, count))

    def controller(self) -> Broker:
        """The quorum leader, from the brokers' own metadata: to clients they may name any broker."""
        notes = [
            json.loads(note.read_text())
            for broker in self.cluster.brokers
            for note in broker.directory.glob("data/__cluster_metadata-0/quorum-state")
        ]
        newest = max(notes, key=lambda note: (note["leaderEpoch"], note["leaderId"]))
        assert newest["leaderId"] >= 0, f"the quorum has no leader: {notes}"
        return self[newest["leaderId"]]

    # faults

    def kill(self, broker: Broker) -> None:
        """kill -9; returns when the cluster has noticed."""
        broker.kill()
        self.await_gone(broker)

    def stop(self, broker: Broker) -> None:
        """Controlled shutdown: it hands over its leaderships first."""
        broker.stop()
        self.await_gone(broker)

    def restart(self, broker: Broker) -> None:
        """Start it, and wait until it is in sync."""
        broker.start()
        self.await_in_sync()

    @contextlib.contextmanager
    def without(self, broker: Broker, *, clean: bool = False) -> Iterator[None]:
        """A broker is down during the block."""
        (self.stop if clean else self.kill)(broker)
        try:
            yield
        finally:
            self.restart(broker)

    @contextlib.contextmanager
    def held(self, broker: Broker) -> Iterator[None]:
        """SIGSTOP during the block, which begins when the others have replaced it."""
        broker.pause()
        try:
            self.await_gone(broker)
            yield
        finally:
            broker.resume()
            self.await_in_sync()

    @contextlib.contextmanager
    def none_beside(self, broker: Broker) -> Iterator[None]:
        """The others shut down one after the other: this one leads, with no other replica in sync."""
        for one in self.cluster.brokers:
            if one is not broker:
                self.stop(one)
        try:
            yield
        finally:
            self.heal()

    def reassign(self, topic: str, wanted: Mapping[int, Sequence[int]]) -> None:
        """Reassign partitions; returns when the reassignment is complete."""
        reassign(self.cluster.internal_servers, topic, wanted)
        self._until(
            lambda found: all(
                found[topic, number].replicas == tuple(replicas)
                and found[topic, number].in_sync == set(replicas)
                and found[topic, number].leader in replicas
                for number, replicas in wanted.items()
            ),
            f"{topic} is where it was sent",
            [topic],
        )

    @contextlib.contextmanager
    def moved(self, topic: str) -> Iterator[None]:
        """Move each partition away from its leader during the block, then back, as the last replica."""
        before = {number: facts for (_, number), facts in self.partitions([topic]).items()}
        kept = {n: [one for one in p.replicas if one != p.leader] for n, p in before.items()}
        self.reassign(topic, kept)
        try:
            yield
        finally:
            self.reassign(topic, {n: [*kept[n], p.leader] for n, p in before.items()})

    @contextlib.contextmanager
    def all_away(self) -> Iterator[None]:
        """kill -9 of all brokers at once; after the block they start together."""
        for broker in self.cluster.brokers:
            broker.kill()
        try:
            yield
        finally:
            self.heal()

    def heal(self) -> None:
        """Start and sync all brokers, whatever was done before."""
        self.cluster.start_brokers()
        self.await_in_sync()

    def roll(self) -> None:
        """A rolling restart: the next broker restarts when the last one is in sync again."""
        for broker in self.cluster.brokers:
            self.stop(broker)
            self.restart(broker)

    def elect(self, topics: Iterable[str] = ()) -> int:
        """Elect the preferred leaders, of these topics or of all; returns how many leaders changed."""
        names = list(topics)
        before = self.partitions(names)
        wanted = [TopicPartition(*partition) for partition in before]
        for partition, error in self.admin.elect_leaders(ElectionType.PREFERRED, wanted).result().items():
            if error is not None and error.name() != _NOT_NEEDED:
                raise AssertionError(f"{partition.topic}[{partition.partition}]: {error}")
        self._until(
            lambda found: all(facts.leader == facts.replicas[0] for facts in found.values()),
            "the preferred replicas lead",
            names,
        )
        after = self.partitions(names)
        return sum(after[at].leader != facts.leader for at, facts in before.items() if at in after)

    # conditions

    def await_gone(self, broker: Broker) -> None:
        """Wait until it leads nothing and is in sync nowhere, except for partitions that it alone has."""
        if any(one.is_up for one in self.cluster.brokers):
            self._until(
                lambda found: all(
                    broker.id not in facts.in_sync or len(facts.in_sync) == 1 for facts in found.values()
                ),
                f"the others have replaced broker {broker.id}",
            )

    def await_in_sync(self) -> None:
        """Wait until all replicas on running brokers are in sync, and every partition has a leader."""
        self.cluster.wait_ready(SECONDS)
        up = {one.id for one in self.cluster.brokers if one.is_up}
        self._until(
            lambda found: all(
                facts.leader >= 0 and up & set(facts.replicas) <= facts.in_sync for facts in found.values()
            ),
            "all replicas are in sync",
        )

    def _until(
        self,
        holds: Callable[[Mapping[tuple[str, int], Partition]], bool],
        what: str,
        topics: Iterable[str] = (),
    ) -> None:
        names = list(topics)

        def responded() -> bool:
            with contextlib.suppress(KafkaException):
                return holds(self.partitions(names))
            return False

        eventually(responded, what, SECONDS)

    # topics

    def topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        config: Mapping[str, str] | None = None,
        replicas: Sequence[Sequence[int]] | None = None,
    ) -> str:
        """Create a topic that survives any one broker; `replicas` has the preferred leader first."""
        settings: dict[str, Any] = {"config": {**REPLICATED, **(config or {})}}
        if replicas is None:
            settings["replication_factor"] = len(self.cluster.brokers)
        else:
            settings["replica_assignment"] = [list(one) for one in replicas]
        for future in self.admin.create_topics([NewTopic(name, partitions, **settings)]).values():
            future.result()
        self.await_in_sync()
        return name


def coordinating_partition(transactional_id: str, partitions: int) -> int:
    """The partition of `__transaction_state`, as Kafka chooses it: Java's hash of the id, unsigned."""
    code = 0
    for unit in transactional_id:
        code = (31 * code + ord(unit)) & 0xFFFFFFFF
    signed = code - (1 << 32) if code & 0x80000000 else code
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions
