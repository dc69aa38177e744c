"""Many sources into one topic, within one cluster, in both directions; and refused loops."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest

from causeway.rules.provenance import HEADER
from support.records import Rec
from support.world import World

from .test_routes import assert_merged


def test_two_clusters_and_one_cluster_into_one_topic(world: World, tmp_path: Any) -> None:
    """`here` on the source and `there` on the destination arrive in `all`, exactly, despite a kill."""
    here, there, everything = (
        world.topic("here", 2),
        world.topic("there", 2, on="destination"),
        world.name("all"),
    )
    world.produce(here, world.numbers(4_000, 2))
    world.produce(there, world.numbers(4_000, 2, start=1_000_000), on="destination")
    config = world.config(
        [here],
        source=["src", "dst"],
        per_source={"dst": {"topics": [there], "rename": {there: everything}, "source_group_name": "other"}},
        rename={here: everything},
        merge=True,
        max_transaction_records=300,
        shards=2,
    )
    first = world.run(config, env={"CAUSEWAY_FAILPOINT": f"after-flush:4:driver:{tmp_path / 'flag'}"})
    assert first.wait() == -9, first.output
    world.produce(here, world.numbers(500, 2, start=4_000))
    world.carry_all(config)

    arrived = world.read(everything)
    originals = world.read(here, "source"), world.read(there)
    assert sum(map(len, arrived.values())) == 8_500
    for sources in originals:
        mine = {rec for recs in sources.values() for rec in recs}
        merged = {number: [rec for rec in recs if rec in mine] for number, recs in arrived.items()}
        assert_merged(sources, merged, {0: 0, 1: 1})


def test_a_prefix_within_one_cluster_does_not_replicate_its_own_output(world: World) -> None:
    """`.*` with a prefix, refreshed repeatedly: copies are not copied again."""
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(100, 2))
    prefix = f"{world.mirror}.copy-"
    config = world.config([f"{world.mirror}\\..*"], destination="src", prefix=prefix)
    run = world.run(config)
    names = world.admin("source").list_topics
    run.until(lambda: world.ledger(on="source").positions, "it has begun")

    def delivered() -> int:
        return sum(position.tally.delivered for position in world.ledger(on="source").positions.values())

    run.until(lambda: delivered() == 100, "the topic is copied")
    late = world.topic("late", 1)
    world.produce(late, world.numbers(50))
    run.until(lambda: delivered() == 150, "a topic that came later is copied, and nothing else is")

    assert run.stop() == 0, run.output
    mine = {name for name in names(timeout=10).topics if name.startswith(world.mirror)}
    assert mine == {topic, late, f"{prefix}{topic}", f"{prefix}{late}"}
    assert world.read(f"{prefix}{topic}", "source") == world.read(topic, "source")


def test_both_directions_with_provenance(world: World) -> None:
    """Equal names, both directions at once: each record arrives on the other side once and stays there."""
    topic = world.topic("t", 2)
    world.topic("t", 2, on="destination")
    both = {"topics": [topic], "provenance": True, "on_existing_records": "append"}
    config = world.mirrors(both, {**both, "source": "dst", "destination": "src"})
    run = world.run(config)
    run.until(lambda: world.ledger().positions, "the way there has begun")
    run.until(lambda: world.ledger(f"{world.mirror}-1", on="source").positions, "so has the way back")

    def filtered(mirror: str, on: str) -> int:
        return sum(position.tally.filtered for position in world.ledger(mirror, on).positions.values())

    world.produce(topic, world.numbers(300, 2))
    world.produce(topic, world.numbers(200, 2, start=1_000_000), on="destination")
    run.until(lambda: filtered(f"{world.mirror}-1", "source") == 300, "what came from there is not sent back")
    run.until(lambda: filtered(world.mirror, "destination") == 200, "nor what came from here")

    assert run.stop() == 0, run.output
    counts = {"source": world.read(topic, "source"), "destination": world.read(topic)}
    for on, started in (("source", 300), ("destination", 200)):
        recs = [rec for recs in counts[on].values() for rec in recs]
        assert len(recs) == 500
        assert len({rec.value for rec in recs}) == 500
        assert sum(1 for rec in recs if not rec.headers) == started
        assert all([name for name, _ in rec.headers] in ([], [HEADER]) for rec in recs)
    # A mark is set once: a record that is replicated further keeps it.
    marks = {value for recs in counts["destination"].values() for rec in recs for _, value in rec.headers}
    assert len(marks) == 1


@pytest.mark.parametrize(
    ("mirrors", "why"),
    [
        ([{"topics": ["T"], "destination": "src"}], "it would be replicated to itself, in the same cluster"),
        (
            [{"topics": ["T"]}, {"topics": ["T"], "source": "dst", "destination": "src"}],
            "its records would come back to it in a loop (T → T → T)",
        ),
        (
            [
                {"topics": ["T"], "provenance": True},
                {"topics": ["T"], "source": "dst", "destination": "src", "on_existing_records": "append"},
            ],
            "set provenance = true on all mirrors of the loop",
        ),
        (
            [{"topics": ["T", "U"], "destination": "src", "rename": {"T": "U", "U": "T"}}],
            "its records would come back to it in a loop (T → U → T)",
        ),
        (
            [{"topics": ["T", "U"], "rename": {"T": "U"}}],
            "src:U would be written to the destination topic U as well; give it another name",
        ),
        ([{"topics": ["T"], "rename": {"T": "few"}}], "topic few has 1 partition, 2 are needed"),
        (
            [{"topics": ["T"], "rename": {"T": "few"}, "partition_map": {"T": 3}}],
            "--alter --topic few --partitions 4 (or modulo = true to fold them",
        ),
        ([{"topics": ["T"], "source": ["src", "too"]}], 'the sources "src" and "too" are the same cluster'),
    ],
)
def test_routes_that_cannot_be_replicated_are_refused_with_what_to_change(
    world: World, mirrors: list[dict[str, Any]], why: str
) -> None:
    names = {short: world.name(short) for short in ("T", "U", "few")}
    for short in ("T", "U"):
        world.topic(short, 2)
    world.topic("few", 1, on="destination")
    if "too" in str(mirrors):
        world.servers["too"] = world.servers["source"]

    def spelled(value: Any) -> Any:
        if isinstance(value, dict):
            return {spelled(key): spelled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [spelled(inner) for inner in value]
        return names.get(value, value)

    config = world.mirrors(*({key: spelled(value) for key, value in mirror.items()} for mirror in mirrors))
    for short, name in names.items():
        why = (
            why.replace(f"{short} ", f"{name} ")
            .replace(f" {short})", f" {name})")
            .replace(f":{short}", f":{name}")
        )

    run = world.run(config, "--stop-at-end")

    assert run.wait() == 3, run.output
    assert why in run.output
    assert "Traceback" not in run.output


def test_another_name_for_a_replicated_topic_is_refused(world: World) -> None:
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(10))
    world.carry_all(world.config([topic]))

    run = world.run(world.config([topic], prefix="new."), "--stop-at-end")

    assert run.wait() == 6, run.output
    was, now = f"it was replicated to topic {topic} until now", f"the configuration has new.{topic}"
    assert f"{was}, and {now}" in run.output


def test_another_cluster_in_place_of_a_source_is_refused(world: World) -> None:
    """Same names, same mirror, another cluster: its records need not be the replicated ones."""
    topic, to = world.topic("t", 1), world.name("to")
    world.topic("t", 1, on="destination")
    for on in ("source", "destination"):
        world.produce(topic, world.numbers(10), on=on)
    world.carry_all(world.config([topic], rename={topic: to}))

    run = world.run(world.config([topic], rename={topic: to}, source="dst"), "--stop-at-end")

    assert run.wait() == 6, run.output
    assert f"topic {to} has records replicated from {topic} of the cluster with the id" in run.output
    assert len(world.read(to)[0]) == 10


def test_a_limit_holds(world: World) -> None:
    """It must take at least the time that the limit requires; there is no upper bound."""
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(600, 2))
    run = world.run(world.config([topic], max_records_per_second=200, max_bytes_per_second="1MB"))
    run.until(lambda: world.carried() > 0, "it has begun")
    began, done = time.monotonic(), world.carried()
    run.until(lambda: world.carried() == 600, "everything is replicated")
    took = time.monotonic() - began

    assert run.stop() == 0, run.output
    assert (600 - done) / took < 250
    world.assert_mirrored(topic)


def is_replicated(world: World, records: int) -> bool:
    return world.carried() == records


def test_null_keys_are_spread_and_keys_stay_together(world: World) -> None:
    topic = world.topic("t", 1)
    run = world.run(
        world.config([topic], prefix="by.", partitions="by-key", rename={topic: world.name("to")})
    )
    to = world.topic("to", 4, on="destination")
    for round_number in range(12):
        records = [(0, Rec(None, f"{round_number}-{n}".encode(), (), 1_700_000_000_000)) for n in range(20)]
        world.produce(topic, records)
        run.until(partial(is_replicated, world, 20 * (round_number + 1)), "the round is replicated")

    assert run.stop() == 0, run.output
    arrived = world.read(to)
    assert sum(map(len, arrived.values())) == 240
    assert sum(1 for recs in arrived.values() if recs) > 1
