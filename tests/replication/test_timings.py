"""Timings beside replicated records, with both carriers, and without transactions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from causeway.rules.timings import CONSUMED, PRODUCED
from faults.mirrors import failing
from support.records import Rec, read_all
from support.verifying import run_verify
from support.world import World, now_ms

MOST = 50
COUNT = 400


def timings(world: World, topic: str) -> list[dict[str, Any]]:
    """What the topic for timings has, in its order."""
    (records,) = world.read(f"timings_{topic}").values()
    values = [json.loads(rec.value or b"") for rec in records]
    for rec, value in zip(records, values, strict=True):
        assert rec.key == f"{value['cluster']}|{value['topic']}|{value['partition']}".encode()
        assert not rec.headers
    return values


def covered(of_topic: list[dict[str, Any]], partition: int) -> list[int]:
    """The source offsets of a partition that the timings name, in their order."""
    mine = [each for each in of_topic if each["partition"] == partition]
    for each in mine:
        begin, end = each["offsets"]
        assert each["count"] == end - begin + 1
    return [offset for each in mine for offset in range(each["offsets"][0], each["offsets"][1] + 1)]


@pytest.mark.parametrize(
    ("replicated", "point"),
    [
        ({"carrier": "native"}, "after-ledger"),
        ({"carrier": "object"}, "after-ledger"),
        pytest.param({"delivery": "at-least-once"}, "after-map", marks=pytest.mark.long),
    ],
    ids=["native", "object", "at-least-once"],
)
def test_each_transaction_has_its_timings_and_an_aborted_one_has_none(
    world: World, tmp_path: Path, replicated: Mapping[str, str], point: str
) -> None:
    """The worker is killed after it has written timings, before the transaction is committed."""
    began = now_ms()
    topic = world.topic("t", 2)
    to = f"eu.{topic}"
    records = world.numbers(COUNT, 2)
    world.produce(topic, records)
    flag = tmp_path / "flag"
    config = world.config(
        [topic], prefix="eu.", timings="topic", shards=1, max_transaction_records=MOST, queue_records=MOST,
        **replicated,
    )  # fmt: skip
    world.carry_all(config, env=failing(point, 3, "kill", flag))

    assert flag.exists(), "no worker was killed"
    every = timings(world, to)
    cluster = {each["cluster"] for each in every}
    offsets = [covered(every, partition) for partition in range(2)]
    if point == "after-map":
        assert [sorted(set(of_one)) for of_one in offsets] == [list(range(COUNT // 2))] * 2
        assert sum(map(len, offsets)) > COUNT, "what was repeated has timings twice"
    else:
        assert offsets == [list(range(COUNT // 2))] * 2, "timings of an aborted transaction"
        assert run_verify(config).exit_code == 0
        (uncommitted,) = read_all(world.servers["destination"], f"timings_{to}", committed=False).values()
        assert len(uncommitted) > len(every), "no timings were aborted"
        assert sum(each["bytes"] for each in every) == sum(
            len(rec.key or b"") + len(rec.value or b"") for _, rec in records
        )
    stamps = {rec.timestamp for _, rec in records}
    assert {stamp for each in every for stamp in each["timestamps"]} == stamps
    assert all(began <= each["fetched"] <= each["committed"] <= now_ms() for each in every)
    assert {(each["v"], each["mirror"], each["topic"], each["to"]) for each in every} == {
        (1, world.mirror, topic, to)
    }
    assert len(cluster) == 1
    assert {source.topic for source in world.ledger().positions} == {topic}


def test_inside_one_cluster_timings_are_not_replicated_again(world: World) -> None:
    """With a pattern, records of timings would cause others without end. A deleted topic is created again."""
    topic = world.topic("t", on="destination")
    world.produce(topic, world.numbers(20), on="destination")
    pattern = f"(timings_)?{world.mirror}\\..*"
    config = world.config(
        [pattern], source="dst", prefix=f"{world.mirror}.copy-", timings="topic", refresh="500ms"
    )
    run = world.run(config)
    to = f"{world.mirror}.copy-{topic}"
    run.until(lambda: world.carried() == 20, "the topic is replicated")
    world.produce(topic, world.numbers(20, start=20), on="destination")
    run.until(lambda: world.carried() == 40, "and what came later")
    assert sum(each["count"] for each in timings(world, to)) == 40
    (deleted,) = world.admin("destination").delete_topics([f"timings_{to}"]).values()
    deleted.result()
    produced = 40

    def has_timings_again() -> bool:
        nonlocal produced
        if world.carried() == produced:
            world.produce(topic, world.numbers(20, start=produced), on="destination")
            produced += 20
        exists = f"timings_{to}" in world.admin("destination").list_topics(timeout=10).topics
        return exists and world.count(f"timings_{to}", "destination") > 0

    run.until(has_timings_again, "replication goes on, and the topic is created again")
    run.until(lambda: world.carried() == produced, "everything is replicated")
    assert run.stop() == 0, run.output

    assert 0 < sum(each["count"] for each in timings(world, to)) <= produced - 40
    topics = {
        name for name in world.admin("destination").list_topics(timeout=10).topics if world.mirror in name
    }
    assert {name for name in topics if not name.startswith("__")} == {topic, to, f"timings_{to}"}


def test_times_in_headers_are_added_and_verify_knows_them(world: World) -> None:
    began = now_ms()
    topic = world.topic("t", 2)
    odd = [
        (0, Rec(b"k", b"hop", ((CONSUMED, b"1"), ("h", b"v"), (PRODUCED, b"2"), ("h", None)), began)),
        (1, Rec(None, None, (), began)),
    ]
    world.produce(topic, [*odd, *world.numbers(COUNT, 2)])
    config = world.config([topic], timings="headers")
    run = world.carry_all(config)

    assert "records at the destination are not bit for bit" in run.output
    here, there = world.read(topic, "source"), world.read(topic)
    for partition in range(2):
        for before, after in zip(here[partition], there[partition], strict=True):
            assert after[:2] == before[:2]
            assert after.timestamp == before.timestamp
            others = tuple(header for header in before.headers if header[0] not in (CONSUMED, PRODUCED))
            *kept, (consumed, consumed_at), (produced, produced_at) = after.headers
            assert tuple(kept) == others
            assert (consumed, produced) == (CONSUMED, PRODUCED)
            assert began <= int(consumed_at or b"") <= int(produced_at or b"") <= now_ms()
    outcome = run_verify(config)
    assert outcome.exit_code == 0, outcome.stdout + outcome.stderr
    assert f"{CONSUMED} and {PRODUCED} are not compared" in outcome.stdout + outcome.stderr
    without = run_verify(world.config([topic]))
    assert without.exit_code == 9, "the mirror has no timings now, so these headers are a difference"
