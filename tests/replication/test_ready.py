"""When a mirror says that it is ready and well: not before every shard has reported, and not over nothing."""

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
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


class Seen:
    """What the API says, from the first moment on."""

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


def test_a_mirror_is_ready_and_well_when_every_shard_has_reported(world: World) -> None:
    topic = world.topic("t", 4)
    world.produce(topic, world.numbers(3_000, 4))
    run = world.run(world.config([topic], shards=2))
    seen = Seen(run, world.mirror)
    early: list[tuple[int, str, str, str]] = []

    def ready() -> bool:
        code, said = seen.ready()
        if code == 200:
            return True
        heard = [one["heartbeat_at"] for one in seen.rows("shards")]
        mirror, level = seen.mirror(), seen.level()
        if None in heard and mirror["state"] == "starting":
            early.append((code, " ".join(said["reasons"]), level, mirror["catch_up"]["text"]))
        return False

    run.until(ready, "it is ready", 90)
    assert all(one["heartbeat_at"] for one in seen.rows("shards"))
    assert seen.mirror()["state"] == "running"
    assert early, "nobody looked before"
    assert {level for _, _, level, _ in early} == {"notice"}
    assert {words for *_, words in early} == {"not known yet"}
    assert "is starting: no heartbeat yet from shard" in early[-1][1]

    def all_there() -> bool:
        """Whatever is shown of a partition is of one moment."""
        rows = seen.rows("partitions")
        assert [one for one in rows if one["position"] is not None and one["position"] > one["log_end"]] == []
        return sum(int(one["delivered"]) for one in rows) == 6_000

    world.produce(topic, world.numbers(3_000, 4, 3_000))
    run.until(all_there, "all of it is there", 60)
    run.until(lambda: seen.level() == "ok", "it is healthy", 30)
    assert run.stop() == 0, run.output


def test_topics_that_match_nothing_are_told_with_the_nearest(world: World, tmp_path: Path) -> None:
    topic = world.topic("orders")
    config = world.config([topic.replace("orders", "oders")])
    run = world.run(config)
    seen = Seen(run, world.mirror)
    run.until(lambda: seen.mirror()["state"] == "running", "it runs", 90)

    said = Causeway("status", config, "--url", run.page(), log=tmp_path / "status.log")

    assert said.wait() == 3, said.output
    assert "warning  No topic matches" in said.output
    assert f"the nearest is {topic}." in said.output
    assert seen.ready() == (200, {"ready": True, "reasons": []}), (
        "a topic that is still to come is no failure"
    )
    assert run.stop() == 0, run.output
    assert f"the nearest is {topic}" in run.output
