"""Kafka REO's configuration between real clusters, without the tool's defects."""

from __future__ import annotations

import pytest

from support.door import committed, door
from support.placing import assert_all_in_order, java
from support.process import eventually, without_spark
from support.records import Rec, end_offsets
from support.world import World, now_ms

PARTITIONS = 3

YAML = """\
application:
  name: "{name}"
kafka:
  clusters:
    source:
      topic: "overridden-by-the-environment"
    destination:
      topic-proxy: "{name}-between"
  config:
    consumer:
      fetch-min-bytes: "1048576"
      auto-reset: "earliest"
    producer:
      linger-ms: "10"
      compression-type: "gzip"
      delivery-timeout-ms: "604800000"
      acks: "all"
streams:
  replication-factor: "1"
  num-standby-replicas: "0"
  num-stream-threads: "3"
  buffer-config:
    max-bytes: "268435456"
"""


def records(start: int, count: int) -> list[tuple[int, Rec]]:
    """Keys unrelated to the source's partitions, and all records that the tool drops or crashes on."""
    at = now_ms() - 86_400_000
    made: list[tuple[int, Rec]] = []
    for n in range(start, start + count):
        key = None if n % 7 == 3 else f"k{n % 50}".encode()
        value = None if n % 11 == 5 else f"value {n}".encode()
        headers = (("n", str(n).encode()), ("n", None)) if n % 2 or value is None else ()
        made.append((n % PARTITIONS, Rec(key, value, headers, at + n)))
    return made


@pytest.mark.spark
def test_the_tools_configuration_replicates_every_record_once(world: World) -> None:
    topic, copy = world.topic("in", PARTITIONS), world.name("copy")
    world.produce(topic, records(0, 600))
    file = world.directory / "config.yaml"
    file.write_text(YAML.format(name=world.mirror))
    host, _, port = world.servers["source"].rpartition(":")
    environ = {
        "KAFKA_CLUSTERS_SOURCE_BOOTSTRAP_SERVERS": f"{host}:{port}",
        "KAFKA_CLUSTERS_SOURCE_TOPIC": topic,
        "KAFKA_CLUSTERS_DESTINATION_BOOTSTRAP_SERVERS": world.servers["destination"],
        "KAFKA_CLUSTERS_DESTINATION_TOPIC": copy,
    }

    with door(world.directory, "reo", f"--config={file}", "--stop-at-end", env=environ) as reo:
        assert reo.wait() == 0, reo.output
        assert f'"{world.mirror}-between" is neither read nor written\n' in reo.output

    here, there = world.read(topic, "source"), world.read(copy)
    assert_all_in_order(here, there)
    firsts = {recs[0] for recs in here.values()}
    assert firsts <= {rec for recs in there.values() for rec in recs}, "offset 0 is lost"
    assert f"{world.mirror}-between" not in world.admin("destination").list_topics(timeout=10).topics

    # The same cluster under other addresses, in another order, one of them twice.
    other = "localhost" if host == "127.0.0.1" else "127.0.0.1"
    environ["KAFKA_CLUSTERS_SOURCE_BOOTSTRAP_SERVERS"] = f"{other}:{port},{host}:{port},{other}:{port}"
    world.produce(topic, records(600, 60))
    with (
        without_spark(),
        door(world.directory, "reo", f"--config={file}", "--stop-at-end", env=environ) as again,
    ):
        assert again.wait() == 0, again.output

    arrived = world.read(copy)
    assert_all_in_order(world.read(topic, "source"), arrived)
    assert len(arrived) == PARTITIONS
    for partition, recs in arrived.items():
        for rec in recs:
            assert rec.key is None or java(rec.key, PARTITIONS) == partition, rec
    ends = end_offsets(world.servers["source"], topic, PARTITIONS)
    eventually(
        lambda: committed(world.servers["source"], world.mirror, topic, PARTITIONS) == ends,
        "the tool's own group shows no lag",
    )
