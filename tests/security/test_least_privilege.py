"""A mirror under exactly the permissions that `causeway check --print-acls` prints, with every feature."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import NewPartitions

from causeway.core.task_order import quarantine_topic
from support.least_privilege import LeastPrivilege
from support.poison import TOO_LARGE
from support.secure_cluster import SecureCluster
from support.typed import causeway
from support.verifying import run_verify
from support.world import World


@pytest.fixture
def least(
    secure_world: World, secure: SecureCluster, secure_destination: SecureCluster
) -> Iterator[LeastPrivilege]:
    yield LeastPrivilege(secure_world, secure, secure_destination)


FEATURES: dict[str, dict[str, Any]] = {
    "exactly-once, native": {"delivery": "exactly-once", "carrier": "native", "timings": "topic"},
    "at-least-once, object": {
        "delivery": "at-least-once", "carrier": "object", "source_group": False, "provenance": True,
    },
}  # fmt: skip


@pytest.mark.parametrize("settings", FEATURES.values(), ids=FEATURES)
def test_every_feature_under_exactly_what_is_printed(least: LeastPrivilege, settings: dict[str, Any]) -> None:
    world = least.world
    config = world.config(on_poison="quarantine", shards=2, **settings)
    granted = least.grant(config)
    if not settings.get("source_group", True):
        assert {(one.resource, one.operation) for one in granted["source"]} == {
            ("topic", "READ"), ("topic", "DESCRIBE_CONFIGS"),
        }  # fmt: skip
    created, rejecting = world.topic("created", 2), world.topic("rejecting")
    world.topic("rejecting", on="destination", config=TOO_LARGE.config)
    world.produce(created, world.numbers(100, 2))
    world.produce(rejecting, [(0, TOO_LARGE.record()), *world.numbers(9)])
    least.until_complete(config)
    assert least.check(config)["exit_code"] == 0

    run = world.run(config)
    run.until(lambda: world.carried() == 109, "records are replicated, into a created topic too")
    assert world.count(quarantine_topic(world.mirror)) >= 1
    if settings.get("timings"):
        assert world.count(f"timings_{created}") >= 1
    (growing,) = world.admin().create_partitions([NewPartitions(created, 3)]).values()
    growing.result()
    world.produce(created, [(2, record) for _, record in world.numbers(10)])
    run.until(lambda: world.carried() == 119, "the topic grows at the destination, too")
    later = world.topic("later")
    world.produce(later, world.numbers(10))
    run.until(lambda: world.carried() == 129, "a topic that appears later is found")
    assert not least.remarks(config, "source") + least.remarks(config, "destination")
    if settings.get("source_group", True):
        run.until(lambda: _committed(world) == 130, "the consumer group on the source advances")
    assert run.stop() == 0, run.output
    assert "uthorization" not in run.output, run.output

    _operate(world, config, created)
    verified = run_verify(config, "-o", "json")
    different = {kind for kind, count in verified.report["counts"].items() if count}
    if settings["delivery"] == "at-least-once":
        different -= {"duplicated"}  # the rejected record failed its whole batch
    assert not different, verified.stdout + verified.stderr
    if settings["delivery"] == "exactly-once":
        _adopt(least)


def _committed(world: World) -> int:
    """The sum of the offsets that the mirror's group has committed on the source."""
    group = f"causeway.{world.mirror}"
    (response,) = world.admin().list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    return sum(partition.offset for partition in response.result().topic_partitions)


def _operate(world: World, config: Path, topic: str) -> None:
    """Show, pause, resume, skip, and replicate on: the mirror does not run meanwhile, then to its end."""
    shown = causeway("offsets", "show", config)
    assert (shown.returncode, topic in shown.stdout) == (0, True), shown.stderr
    for command in ("pause", "resume"):
        done = causeway(command, config)
        assert done.returncode == 0, done.stderr
    world.produce(topic, world.numbers(4, 2, 1_000))
    skip = ("--topic", topic, "--partition", "0", "--to", "52", "--yes")
    skipped = causeway("offsets", "skip", config, *skip)
    assert skipped.returncode == 0, skipped.stderr
    world.carry_all(config)
    assert {rec.value for rec in world.read(topic)[1]} >= {b"1001" + b"." * 16, b"1003" + b"." * 16}


def _adopt(least: LeastPrivilege) -> None:
    """Take over from another tool, for a mirror of its own."""
    world = least.world
    old, name = world.topic("old"), f"{world.mirror}-adopting"
    world.topic("old", on="destination")
    records = world.numbers(50)
    for on in ("source", "destination"):
        world.produce(old, records, on=on)
    world.produce(old, world.numbers(5, 1, 50))
    config = world.mirrors({"name": name, "topics": [old]})
    least.grant(config)
    least.until_complete(config)
    adopted = causeway("adopt", config, "--from", "destination-end", "--yes")
    assert adopted.returncode == 0, adopted.stdout + adopted.stderr
    world.carry_all(config)
    assert world.read(old) == world.read(old, "source")
