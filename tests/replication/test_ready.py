"""When a mirror reports that it is ready and healthy: not before every shard has sent a heartbeat."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from support.process import Causeway
from support.world import World


def asked(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


class Seen:
    """The API's responses, from the start on."""

    def __init__(self, run: Causeway, mirror: str) -> None:
        self._url = run.page()
        self._api = f"{self._url}/api/v1/mirrors"
        self._mirror = mirror

    def ready(self) -> tuple[int, Any]:
        return asked(f"{self._url}/readyz")

    def level(self) -> str:
        return str(asked(self._api)[1]["findings"][0]["level"])

    def mirror(self) -> Any:
        return asked(f"{self._api}/{self._mirror}")[1]

    def rows(self, what: str) -> Any:
        return asked(f"{self._api}/{self._mirror}/{what}")[1][what]


def test_a_mirror_is_ready_and_healthy_when_every_shard_has_sent_a_heartbeat(world: World) -> None:
    topic = world.topic("t", 4)
    world.produce(topic, world.numbers(3_000, 4))
    run = world.run(world.config([topic], shards=2))
    seen = Seen(run, world.mirror)
    early: list[tuple[int, str, str, str]] = []

    def ready() -> bool:
        code, reply = seen.ready()
        if code == 200:
            return True
        heartbeats = [shard["heartbeat_at"] for shard in seen.rows("shards")]
        mirror, level = seen.mirror(), seen.level()
        if None in heartbeats and mirror["state"] == "starting":
            early.append((code, " ".join(reply["reasons"]), level, mirror["catch_up"]["text"]))
        return False

    run.until(ready, "it is ready", 90)
    assert all(shard["heartbeat_at"] for shard in seen.rows("shards"))
    assert seen.mirror()["state"] == "running"
    assert early, "the API was not read before"
    assert {level for _, _, level, _ in early} == {"notice"}
    assert {words for *_, words in early} == {"not known yet"}
    assert "is starting: no heartbeat yet from shard" in early[-1][1]

    def all_there() -> bool:
        """All values of a partition are of the same moment."""
        rows = seen.rows("partitions")
        assert [row for row in rows if row["position"] is not None and row["position"] > row["log_end"]] == []
        return sum(int(row["delivered"]) for row in rows) == 6_000

    world.produce(topic, world.numbers(3_000, 4, 3_000))
    run.until(all_there, "all of it is there", 60)
    run.until(lambda: seen.level() == "ok", "it is healthy", 30)
    assert run.stop() == 0, run.output


def test_topics_that_match_nothing_are_reported_with_the_nearest_name(world: World, tmp_path: Path) -> None:
    topic = world.topic("orders")
    config = world.config([topic.replace("orders", "oders")])
    run = world.run(config)
    seen = Seen(run, world.mirror)
    run.until(lambda: seen.mirror()["state"] == "running", "it runs", 90)

    status = Causeway("status", config, "--url", run.page(), log=tmp_path / "status.log")

    assert status.wait() == 3, status.output
    assert "warning  No topic matches" in status.output
    assert f"the nearest is {topic}." in status.output
    assert seen.ready() == (200, {"ready": True, "reasons": []}), (
        "a topic that is still to come is no failure"
    )
    assert run.stop() == 0, run.output
    assert f"the nearest is {topic}" in run.output
