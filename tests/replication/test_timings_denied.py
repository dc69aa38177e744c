"""A user that loses the permission to write timings: replication goes on, and says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation

from causeway.core.choices import Delivery
from causeway.local_kafka import EmbeddedCluster
from support.rights import Rights, cluster_with_rights, world_with
from support.world import World


@pytest.fixture(scope="module")
def rights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rights]:
    with cluster_with_rights("rights", tmp_path_factory.mktemp("rights")) as rights_cluster:
        yield rights_cluster


@pytest.fixture
def world(source: EmbeddedCluster, rights: Rights, tmp_path: Path) -> Iterator[World]:
    with world_with(rights, source, tmp_path) as world:
        yield world


def config_of(world: World, rights: Rights, **more: Any) -> Path:
    config = world.config(timings="topic", create_topics=True, shards=1, **more)
    login = {name: value for name, value in rights.login.items() if name != "bootstrap.servers"}
    properties = "\n".join(f'"{name}" = "{value}"' for name, value in login.items())
    text = config.read_text().replace(rights.cluster.internal_servers, rights.cluster.bootstrap_servers)
    config.write_text(
        f"{text}\n[clusters.dst.sasl]\nunsafe = true\n[clusters.dst.properties]\n{properties}\n"
    )
    return config


def timed(world: World, topic: str) -> int:
    """Records that the timings count."""
    (records,) = world.read(f"timings_{topic}").values()
    return sum(json.loads(rec.value or b"")["count"] for rec in records)


@pytest.mark.parametrize("delivery", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.long)])
def test_without_the_permission_records_are_replicated_without_timings(
    world: World, rights: Rights, delivery: Delivery
) -> None:
    topic = world.topic("t")
    world.produce(topic, world.numbers(10))
    run = world.run(config_of(world, rights, delivery=delivery))
    run.until(lambda: world.carried() == 10, "the first records are replicated")
    assert timed(world, topic) == 10

    rights.deny(f"timings_{topic}", AclOperation.WRITE)
    world.produce(topic, world.numbers(10, start=10))
    run.until(lambda: world.carried() == 20, "replication goes on")
    why = f"no timings are written to topic timings_{topic} on dst: this user has no WRITE permission for it"
    run.until(lambda: why in run.output, "the missing permission is reported")
    assert timed(world, topic) == 10

    rights.grant(f"timings_{topic}")
    total = 20

    def has_timings_again() -> bool:
        nonlocal total
        if world.carried() == total:
            world.produce(topic, world.numbers(10, start=total))
            total += 10
        return timed(world, topic) > 10

    run.until(has_timings_again, "timings are written again")
    run.until(lambda: world.carried() == total, "everything is replicated")
    assert run.stop() == 0, run.output
    world.assert_mirrored(topic)


def test_a_new_topic_is_refused_and_the_topics_for_timings_are_named(world: World, rights: Rights) -> None:
    topic = world.topic("t")
    rights.deny(f"timings_{topic}", AclOperation.CREATE)
    run = world.run(config_of(world, rights))
    assert run.wait() == 4, run.output
    assert f"creating topic timings_{topic}" in run.output
