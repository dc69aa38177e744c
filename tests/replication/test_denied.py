"""A user that loses all rights on one destination topic while the mirror runs, and at its next start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation

from causeway.local_kafka import EmbeddedCluster
from support.rights import Rights, cluster_with_rights, world_with
from support.world import World


@pytest.fixture
def rights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rights]:
    with cluster_with_rights("rights", tmp_path_factory.mktemp("rights")) as rights_cluster:
        yield rights_cluster


@pytest.fixture
def world(source: EmbeddedCluster, rights: Rights, tmp_path: Path) -> Iterator[World]:
    with world_with(rights, source, tmp_path) as world:
        yield world


def test_a_topic_that_may_not_even_be_described_stops_alone(world: World, rights: Rights) -> None:
    closed, open_ = (world.topic(name) for name in ("closed", "open"))
    for topic in (closed, open_):
        world.produce(topic, world.numbers(10))
    config = world.config(create_topics=True, refresh="1s", slice="5s")
    login = {name: value for name, value in rights.login.items() if name != "bootstrap.servers"}
    properties = "\n".join(f'"{name}" = "{value}"' for name, value in login.items())
    text = config.read_text().replace(rights.cluster.internal_servers, rights.cluster.bootstrap_servers)
    config.write_text(
        f"{text}\n[clusters.dst.sasl]\nunsafe = true\n[clusters.dst.properties]\n{properties}\n"
    )
    run = world.run(config)
    run.until(lambda: world.carried() == 20, "both are mirrored")

    rights.deny(closed, AclOperation.ALL)
    for topic in (closed, open_):
        world.produce(topic, world.numbers(10, 1, 10))
    run.until(lambda: "no DESCRIBE permission" in run.output, "the topic stops")
    later = world.topic("later")
    world.produce(later, world.numbers(10))
    run.until(lambda: world.carried() == 40, "the others continue, new ones too")
    assert run.stop() == 0, run.output
    assert "waiting for a response" not in run.output

    again = world.run(config)
    world.produce(open_, world.numbers(10, 1, 20))
    again.until(lambda: world.carried() == 50, "a restart is no reason to stop the others")
    rights.grant(closed)
    again.until(lambda: world.carried() == 60, "it resumes by itself")
    assert again.stop() == 0, again.output
    world.assert_mirrored(closed, open_, later)
