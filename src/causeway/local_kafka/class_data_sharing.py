"""Class data sharing: Kafka's classes are parsed once and mapped at every start of a broker.

That saves more than a third of the CPU of a start. `python -m causeway.local_kafka.class_data_sharing`
creates the archive, once for each Java and version of Kafka. A JVM that it does not fit, or that finds it
damaged, ignores it and starts without it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from causeway.local_kafka.broker import class_archive
from causeway.local_kafka.cluster import SMALL, EmbeddedCluster
from causeway.local_kafka.jars import kafka_jars
from causeway.local_kafka.java import find_java

_SECONDS = 60.0


def make() -> None:
    """Let a broker do what mirrors need of it, and its JVM archive the classes that it loaded."""
    jars = kafka_jars()
    path = class_archive(find_java(), jars)
    if path.exists():
        return
    with tempfile.TemporaryDirectory(dir=jars.parent, prefix=".classes-") as scratch:
        unfinished = Path(scratch) / path.name
        options = f"{SMALL} -XX:ArchiveClassesAtExit={unfinished}"
        with EmbeddedCluster.start("classes", directory=Path(scratch) / "c", java_options=options) as cluster:
            _use(cluster.bootstrap_servers)
            cluster.stop()  # the JVM writes the archive when it exits
        unfinished.rename(path)


def _use(servers: str) -> None:
    topics = [NewTopic("plain", 1, 1), NewTopic("compact", 1, 1, config={"cleanup.policy": "compact"})]
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics(topics).values():
        future.result(_SECONDS)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "classes"})
    producer.init_transactions(_SECONDS)
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "classes",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    producer.begin_transaction()
    for topic in topics:
        producer.produce(topic.topic, key=b"key", value=b"value")
    producer.commit_transaction(_SECONDS)
    consumer.subscribe([topic.topic for topic in topics])
    consumer.consume(len(topics), _SECONDS)
    consumer.commit(asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    make()
