"""The two clusters and their topics, which are deleted between runs."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from causeway.local_kafka import EmbeddedCluster, ListenerSecurity
from support.certificates import Authority
from support.process import eventually
from support.world import UNBOUNDED

BROKERS = {
    # A run's data is deleted before the next one begins.
    "log.segment.delete.delay.ms": "500",
    "message.max.bytes": "10000000",
    # Every partition maps two indices of 10 MB by default; growth has thousands of partitions.
    "log.index.size.max.bytes": "1048576",
}
JVM = "-Xms1G -Xmx1G -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35"
"""As in Kafka's own start script: with longer GC pauses p99 would measure nothing else."""
TLS = "TLS"  # the name of the listener
_KAFKAS_OWN = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
_ONE_REQUEST = 200  # topics per create or delete request


@dataclass
class Side:
    """A cluster with its admin client. The client is kept: futures of a closed client never complete."""

    servers: str
    admin: AdminClient = field(init=False)

    def __post_init__(self) -> None:
        # The client outlives the cluster for a moment; its errors then are irrelevant.
        self.admin = AdminClient(
            {"bootstrap.servers": self.servers, "log_level": 0, "error_cb": print_nothing}
        )

    def create(self, topics: Mapping[str, int]) -> None:
        """Topics by name, with their number of partitions; no retention."""
        names = list(topics)
        for at in range(0, len(names), _ONE_REQUEST):
            asked = [
                NewTopic(name, topics[name], 1, config=UNBOUNDED) for name in names[at : at + _ONE_REQUEST]
            ]
            for future in self.admin.create_topics(asked, operation_timeout=60).values():
                future.result()

    def names(self) -> set[str]:
        return {name for name in self.admin.list_topics(timeout=20).topics if name not in _KAFKAS_OWN}

    def delete(self, names: Sequence[str]) -> None:
        for at in range(0, len(names), _ONE_REQUEST):
            asked = self.admin.delete_topics(list(names[at : at + _ONE_REQUEST]), operation_timeout=60)
            for future in asked.values():
                future.result()
        eventually(lambda: not self.names() & set(names), "topics are deleted", 120)

    def ends(self, topic: str, partitions: int) -> list[int]:
        """The last stable offsets; zeros for a topic that does not exist yet."""
        asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
        futures = self.admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED)
        try:
            ends = {place.partition: future.result().offset for place, future in futures.items()}
        except KafkaException:
            # list_offsets does not refresh the client's metadata: a topic that was missing would stay so.
            self.admin.list_topics(topic, timeout=20)
            return [0] * partitions
        return [ends[number] for number in range(partitions)]


def print_nothing(_error: object) -> None:
    """Ignore errors of a client whose cluster is stopping."""


@dataclass(frozen=True)
class Encrypted:
    """The same brokers by their listeners with TLS."""

    source: str  # servers
    destination: str
    ca: Path


@dataclass(frozen=True)
class Stage:
    source: Side
    destination: Side
    directory: Path
    say: Callable[[str], None]
    encrypted: Encrypted

    def place(self, *names: object) -> Path:
        """A directory for a run's logs and settings."""
        return self.directory.joinpath(*("-".join(str(name).split()) for name in names))

    def name(self, what: str) -> str:
        return f"{what}-{uuid.uuid4().hex[:6]}"

    def clean(self, keep: Sequence[str] = ()) -> None:
        """Delete all topics except `keep` on the source, and flush the disk."""
        self.destination.delete(sorted(self.destination.names()))
        self.source.delete(sorted(self.source.names() - set(keep)))
        os.sync()


@contextmanager
def set_up(directory: Path, say: Callable[[str], None]) -> Iterator[Stage]:
    """Start two clusters of one broker each; stop and delete them at the end."""
    say("starting two Kafka clusters")
    # Not under /tmp, which is a tmpfs on some machines.
    places = [directory / "clusters" / name for name in ("source", "destination")]
    for place in places:
        place.mkdir(parents=True)
    authority = Authority(directory / "keys")
    listeners = {TLS: ListenerSecurity().with_tls(authority.server("brokers").both)}
    shared: dict[str, Any] = {"config": BROKERS, "java_options": JVM, "listeners": listeners}
    with (
        EmbeddedCluster.start("source", directory=places[0], **shared) as source,
        EmbeddedCluster.start("destination", directory=places[1], **shared) as there,
    ):
        sides = Side(source.bootstrap_servers), Side(there.bootstrap_servers)
        encrypted = Encrypted(source.servers_of(TLS), there.servers_of(TLS), authority.file)
        yield Stage(*sides, directory, say, encrypted)
