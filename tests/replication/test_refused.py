"""A part that cannot be replicated is reported everywhere, and the rest continues."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka.admin import NewPartitions

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.plan import Refusal
from causeway.core.route import Placement, Route
from causeway.core.topic import TopicFacts
from causeway.errors import AccessDenied
from causeway.kafka.admin import ClusterView
from causeway.planning import survey
from causeway.planning.plan import plan_of, prepare
from causeway.planning.rules.selection import select
from causeway.planning.rules.topics import Grow
from causeway.planning.survey import Survey
from causeway.replication.start_checks import refuse_at_start
from support.process import Causeway
from support.world import World


def grow(world: World, topic: str, partitions: int, on: str = "source") -> None:
    (future,) = world.admin(on).create_partitions([NewPartitions(topic, partitions)]).values()
    future.result()


def asked(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def lags(run: Causeway, topic: str) -> dict[int, int]:
    """`causeway_lag_records` by partition."""
    with urllib.request.urlopen(f"{run.page()}/metrics", timeout=30) as response:
        text = response.read().decode()
    series = re.findall(
        rf'causeway_lag_records{{.*topic="{re.escape(topic)}",partition="(\d+)"}} (\d+)', text
    )
    return {int(partition): int(float(value)) for partition, value in series}


def delivered(world: World) -> dict[int, int]:
    positions = world.ledger().positions
    return {source.partition: position.tally.delivered for source, position in positions.items()}


def grown(world: World) -> tuple[str, Path, Causeway]:
    """A mirror whose source grew from two partitions to three; the destination, of two, is not ours."""
    topic = world.topic("t", 2)
    world.topic("t", 2, on="destination")
    world.produce(topic, world.numbers(20, 2))
    config = world.config([topic], shards=1)
    run = world.run(config)
    run.until(lambda: delivered(world) == {0: 10, 1: 10}, "the mirror tails", 90)
    grow(world, topic, 3)
    run.until(lambda: "not replicated" in run.output, "it is logged", 30)
    world.produce(topic, world.numbers(30, 3))
    return topic, config, run


def test_partitions_with_a_place_continue_and_the_others_are_reported(world: World, tmp_path: Path) -> None:
    topic, config, run = grown(world)
    api = f"{run.page()}/api/v1/mirrors/{world.mirror}"

    run.until(lambda: delivered(world) == {0: 20, 1: 20}, "those with a place continue", 60)
    run.until(lambda: lags(run, topic) == {0: 0, 1: 0, 2: 10}, "each has its lag", 30)
    why = f"topic {topic} has 2 partitions, 3 are needed"
    assert asked(f"{run.page()}/readyz") == (
        503,
        {"ready": False, "reasons": [f"{world.mirror} does not replicate {topic}[2]: {why}"]},
    )
    (finding,) = asked(api)[1]["findings"]
    assert (finding["level"], finding["what"]) == ("error", f"{topic}[2] is stopped (unroutable): {why}")
    assert "kafka-topics.sh --alter" in finding["todo"]
    status = Causeway("status", config, "--url", run.page(), log=tmp_path / "status.log")
    assert status.wait() == 6, status.output
    assert "10 records" in status.output, "what would be missing without the source"
    assert run.stop() == 0, run.output
    # With --stop-at-end it would succeed without that partition: it does not start.
    assert world.run(config, "--stop-at-end").wait() == 3


class Destination:
    """A cluster on which topic `t` has two partitions, and may not get more."""

    cluster = Cluster("tokyo", {})

    def grow_topic(self, name: str, partitions: int) -> None:
        raise AccessDenied(f"adding partitions to topic {name}: access denied")


class Source:
    def cluster_id(self) -> str:
        return "paris-id"


def test_a_topic_that_may_not_grow_keeps_the_places_it_has() -> None:
    route = Route("paris", TopicFacts("t", "i", 4, 1), "t")
    there = TopicFacts("t", "u", 2, 1)
    routes = {("paris", "t"): route}
    survey = Survey(routes=dict(routes), every=routes, destinations={"t": there}, actions={"t": Grow(4)})
    destination, source = cast(ClusterView, Destination()), cast(ClusterView, Source())

    assert list(prepare(survey, destination)) == []
    plan = plan_of(survey, {"paris": source})

    assert [lane.source.partition for lane in plan.lanes] == [0, 1]
    (refusal,) = plan.refusals
    assert (refusal.partitions, refusal.partial, refusal.denied) == ((2, 3), True, True)
    assert str(refusal).startswith("paris:t[2, 3]: adding partitions to topic t: access denied; check the")
    refuse_at_start("m", plan.refusals, allow_partial=True)
    with pytest.raises(AccessDenied):
        refuse_at_start("m", plan.refusals)


def test_a_topic_that_may_not_grow_but_has_enough_partitions_is_not_refused() -> None:
    route = Route("paris", TopicFacts("t", "i", 6, 1), "t", Placement(by_key=True))
    there = TopicFacts("t", "u", 4, 1)
    routes = {("paris", "t"): route}
    survey = Survey(routes=dict(routes), every=routes, destinations={"t": there}, actions={"t": Grow(6)})

    assert list(prepare(survey, cast(ClusterView, Destination()))) == []
    plan = plan_of(survey, {"paris": cast(ClusterView, Source())})

    assert len(plan.lanes) == 6
    assert plan.refusals == ()


def test_a_refusal_that_differs_only_in_its_record_count_is_the_same() -> None:
    first = Refusal("paris", "t", "topic t already holds up to 10 records", "adopt it", integrity=True)

    assert first.identity == replace(first, why="topic t already holds up to 11 records").identity
    assert first.identity != replace(first, todo="rename it").identity


def test_named_topics_are_looked_up_and_not_compared_with_every_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []

    def counting(names: Iterable[str], entries: Sequence[str], exclude: Sequence[str] = ()) -> list[str]:
        compared.append(len(set(names)))
        return select(names, entries, exclude)

    monkeypatch.setattr(survey, "select", counting)
    names = {f"t{number}" for number in range(1_000)}
    mirror = MirrorSettings(name="m", source=["paris"], destination="tokyo", topics=sorted(names))

    assert survey._unmatched(mirror, {"paris": names}) == []
    assert set(compared) == {1}


@pytest.mark.deep
def test_a_restart_continues_with_the_rest_and_uses_a_new_partition(world: World) -> None:
    topic, config, run = grown(world)
    run.until(lambda: delivered(world) == {0: 20, 1: 20}, "those with a place continue", 60)
    assert run.stop() == 0, run.output
    run = world.run(config)
    world.produce(topic, world.numbers(30, 3))
    run.until(lambda: delivered(world) == {0: 30, 1: 30}, "those with a place continue again", 90)
    assert f"{topic}[2]: topic {topic} has 2 partitions" in run.output
    grow(world, topic, 3, on="destination")
    run.until(lambda: delivered(world) == {0: 30, 1: 30, 2: 20}, "the place is taken", 90)
    run.until(lambda: asked(f"{run.page()}/readyz")[0] == 200, "it is ready", 30)
    assert run.stop() == 0, run.output
    world.assert_mirrored(topic)
