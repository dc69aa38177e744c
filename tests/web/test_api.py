"""Every route answers as docs/api.md says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from causeway.core.job import Job
from causeway.web.history import NAMES
from causeway.web.stream import Feed
from support.process import eventually
from web import made
from web.made import MARKUP, NOW, Shown, mirror, partition, snapshot

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
ONE = "/api/v1/mirrors/paris-to-tokyo"


def documented(heading: str) -> set[str]:
    """The fields in the first table below a heading of the page."""
    below = PAGE.split(f"\n{heading}\n", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    cells = re.findall(r"^\| (`.*?) \|", below, re.M)
    return {name for cell in cells for name in re.findall(r"`([a-z_0-9]+)`", cell)}


def test_mirrors(client: TestClient) -> None:
    answer = client.get("/api/v1/mirrors").json()

    assert set(answer) == documented("### `GET /api/v1/mirrors`")
    assert set(answer["mirrors"][0]) == documented("### A mirror")
    assert (answer["at"], answer["host"], answer["pid"]) == (NOW, "mirror-1", 4711)
    assert answer["findings"][0]["what"] == "All is well: 1,234 records/s, 0.4 s behind."
    assert answer["rpo"] == "If the source vanished now, 6 records / 0.4 s would be missing."
    (one,) = answer["mirrors"]
    assert (one["name"], one["lag_records"], one["partitions"]) == ("paris-to-tokyo", 6, 2)
    assert one["catch_up"] == {"seconds": 0.0, "words": "caught up"}


def test_a_mirror(client: TestClient) -> None:
    answer = client.get(ONE).json()

    more = documented("### `GET /api/v1/mirrors/{name}`")
    assert set(answer) == documented("### A mirror") | more
    assert answer["lease"] == 7
    assert len(answer["latency"]["counts"]) == len(answer["latency"]["bounds_ms"]) + 1


def test_partitions(client: TestClient, shown: Shown) -> None:
    shown.view = made.thousand()

    answer = client.get(f"{ONE}/partitions", params={"q": "TOPIC-4[5", "limit": 3}).json()

    assert (answer["total"], answer["matching"], len(answer["partitions"])) == (1_000, 11, 3)
    assert answer["partitions"][0]["name"] == "topic-4[5]"
    assert set(answer["partitions"][0]) == documented("### A partition")
    assert len(client.get(f"{ONE}/partitions").json()["partitions"]) == 1_000


def test_those_that_stand_still_come_first_then_those_furthest_behind(
    client: TestClient, shown: Shown
) -> None:
    shown.view = made.thousand()
    found = client.get(f"{ONE}/partitions", params={"order": "lag", "limit": 2}).json()["partitions"]
    assert [one["name"] for one in found] == ["topic-4[55]", "topic-9[99]"]
    found = client.get(f"{ONE}/partitions", params={"q": "stopped"}).json()["partitions"]
    assert [one["name"] for one in found] == ["topic-4[55]"]


def test_what_is_not_there_is_null(client: TestClient, shown: Shown) -> None:
    fresh = partition(to_partition=-1, start=-1, position=-1, to_end=-1, committed_at=-1)
    shown.view = snapshot(mirror([fresh], shards=(made.shard(heartbeat_at=-1),)))

    (one,) = client.get(f"{ONE}/partitions").json()["partitions"]
    empty = ("to_partition", "start", "position", "to_end", "committed_at", "expected", "found")
    assert {one[name] for name in empty} == {None}
    (event,) = client.get(f"{ONE}/events").json()["events"]
    assert {event[name] for name in ("partition", "offset", "expected", "found", "gone")} == {None}
    (shard,) = client.get(f"{ONE}/shards").json()["shards"]
    assert (shard["heartbeat_at"], shard["heartbeat_age"]) == (None, None)


def test_shards_events_gaps_and_configuration(client: TestClient, shown: Shown) -> None:
    shown.view = made.stopped()

    shards = client.get(f"{ONE}/shards").json()["shards"]
    events = client.get(f"{ONE}/events").json()["events"]
    gaps = client.get(f"{ONE}/gaps").json()
    layout = client.get(f"{ONE}/layout").json()["partitions"]

    assert set(shards[0]) == documented("### A shard")
    assert shards[0]["heartbeat_age"] == 0.9
    assert set(events[0]) == documented("### An event")
    assert events[0]["todo"].startswith("causeway offsets skip")
    assert gaps["total"] == 1
    assert set(gaps["gaps"][0]) == documented("### A gap")
    gap = gaps["gaps"][0]
    assert (gap["offsets"], gap["skipped"], gap["why"]) == (10, 10, "retention was two days")
    assert set(layout[0]) == documented("### `GET /api/v1/mirrors/{name}/layout`")
    assert client.get(f"{ONE}/configuration").json() == {"configuration": made.CONFIGURATION}


def test_where_a_partition_stands_still_is_told_in_numbers(client: TestClient, shown: Shown) -> None:
    shown.view = made.stopped()

    (stopped,) = client.get(f"{ONE}/partitions", params={"q": "stopped"}).json()["partitions"]
    (event,) = client.get(f"{ONE}/events").json()["events"]

    for told in (stopped, event):
        assert (told["expected"], told["found"], told["gone"]) == (50, 70, 20)


def test_history_has_a_column_for_each_field(client: TestClient) -> None:
    def answer() -> dict[str, list[int]]:
        found: dict[str, list[int]] = client.get("/api/v1/history?mirror=paris-to-tokyo").json()
        return found

    eventually(lambda: answer()["at"], "the first sample is there")

    assert set(answer()) == {"mirror", *NAMES} == documented("### `GET /api/v1/history`")
    assert answer()["at"] == [NOW]
    assert client.get(f"/api/v1/history?mirror=paris-to-tokyo&since={NOW + 1}").json()["at"] == []


def test_a_job(client: TestClient, shown: Shown) -> None:
    shown.jobs["7"] = Job("7", "paris-to-tokyo", "different", NOW, NOW + 1, ("orders[0]: missing: 1",))

    answer = client.get("/api/v1/jobs/7").json()

    assert set(answer) == documented("### `GET /api/v1/jobs/{id}`")
    assert (answer["state"], answer["lines"]) == ("different", ["orders[0]: missing: 1"])
    assert client.get("/api/v1/jobs/8").status_code == 404


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/v1/mirrors/nobody", 404),
        ("/api/v1/mirrors/nobody/partitions", 404),
        ("/api/v1/history", 404),
        ("/api/v1/nothing", 404),
        ("/nothing", 404),
        (f"{ONE}/partitions?limit=x", 400),
        (f"{ONE}/partitions?limit=-1", 400),
        (f"{ONE}/partitions?order=size", 400),
        ("/api/v1/history?mirror=paris-to-tokyo&since=²", 400),
    ],
)
def test_what_cannot_be_answered_says_why(client: TestClient, path: str, code: int) -> None:
    response = client.get(path)
    assert response.status_code == code
    assert set(response.json()) == {"error", "todo"}
    assert response.json()["error"]


def test_metrics_are_handed_on(client: TestClient) -> None:
    response = client.get("/metrics")
    assert response.content == b"causeway_records_total 1\n"
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_a_moment_of_the_stream() -> None:
    feed = Feed(Shown(made.stopped()), lambda: NOW)
    feed.look()

    head, data = feed.event().decode().split("\ndata: ")

    assert head == "id: 1\nevent: moment"
    assert set(json.loads(data)) == documented("### `GET /api/v1/mirrors`")
    (one,) = json.loads(data)["mirrors"]
    assert set(one) == documented("### A mirror") | documented("### `GET /api/v1/stream`")


def test_names_with_markup_are_data(client: TestClient, shown: Shown) -> None:
    shown.view = made.markup()
    assert client.get("/api/v1/mirrors").json()["mirrors"][0]["name"] == MARKUP
    assert client.get("/api/v1/mirrors").headers["content-type"] == "application/json"
