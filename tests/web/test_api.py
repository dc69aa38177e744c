"""What the routes return; test_api_schema.py compares them with the schema."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from causeway.core.job import Job
from support.process import eventually
from web import made
from web.made import MARKUP, NOW, Shown, mirror, partition, snapshot

ONE = "/api/v1/mirrors/paris-to-tokyo"


def test_mirrors(client: TestClient) -> None:
    content = client.get("/api/v1/mirrors").json()

    assert (content["at"], content["host"], content["pid"]) == (NOW, "mirror-1", 4711)
    assert content["findings"][0]["what"] == "Healthy: 1,234 records/s, lag 0.4 s."
    assert content["rpo"] == "If the source were lost now, 6 records (0.4 s) would be lost."
    (one,) = content["mirrors"]
    assert (one["name"], one["lag_records"], one["partitions"]) == ("paris-to-tokyo", 6, 2)
    assert one["catch_up"] == {"seconds": 0.0, "text": "caught up"}


def test_a_mirror(client: TestClient) -> None:
    content = client.get(ONE).json()

    assert content["lease"] == 7
    assert len(content["latency"]["counts"]) == len(content["latency"]["bounds_ms"]) + 1


def test_partitions(client: TestClient, shown: Shown) -> None:
    shown.view = made.thousand()

    content = client.get(f"{ONE}/partitions", params={"q": "TOPIC-4[5", "limit": 3}).json()

    assert (content["total"], content["matching"], len(content["partitions"])) == (1_000, 11, 3)
    assert content["partitions"][0]["name"] == "topic-4[5]"
    assert len(client.get(f"{ONE}/partitions").json()["partitions"]) == 1_000


def test_stopped_partitions_come_first_then_those_with_the_largest_lag(
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
    assert (shard["heartbeat_at"], shard["heartbeat_age_seconds"]) == (None, None)


def test_shards_events_gaps_and_configuration(client: TestClient, shown: Shown) -> None:
    shown.view = made.stopped()

    shards = client.get(f"{ONE}/shards").json()["shards"]
    events = client.get(f"{ONE}/events").json()["events"]
    gaps = client.get(f"{ONE}/gaps").json()

    assert shards[0]["heartbeat_age_seconds"] == 0.9
    assert events[0]["todo"].startswith("causeway offsets skip")
    assert gaps["total"] == 1
    gap = gaps["gaps"][0]
    assert (gap["offsets"], gap["skipped"], gap["why"]) == (10, 10, "retention was two days")
    assert client.get(f"{ONE}/configuration").json() == {"configuration": made.CONFIGURATION}


def test_a_lag_that_is_not_known_is_null(client: TestClient, shown: Shown) -> None:
    """Without a log end, a lag of 0 would look like a mirror that has caught up."""
    shown.view = made.unknown_ends()

    (one,) = client.get(f"{ONE}/partitions").json()["partitions"]
    assert [one[name] for name in ("log_end", "lag_records", "lag_bytes", "lag_seconds")] == [None] * 4
    process = client.get("/api/v1/mirrors").json()
    (summary,) = process["mirrors"]
    assert (summary["lag_records"], summary["lag_seconds"]) == (None, None)
    assert summary["catch_up"] == {"seconds": None, "text": "not known yet"}
    assert "not known yet" in process["rpo"]
    assert process["findings"][0]["what"] == "Healthy: 1,234 records/s, lag not known yet."


def test_a_partition_lags_by_the_rule_of_the_health_line(client: TestClient, shown: Shown) -> None:
    """A healthy mirror has no lagging partition, although records are always on their way."""
    young, old = partition(0, lag_seconds=9.9), partition(1, lag_seconds=10.0)
    before = partition(2, lag_seconds=0.1, lag_older=True)
    shown.view = snapshot(mirror([young, old, before, partition(3, lag_records=0, lag_seconds=0.0)]))
    rows = client.get(f"{ONE}/partitions").json()["partitions"]
    assert [row["lagging"] for row in rows] == [False, True, True, False]


def test_a_stopped_partition_has_its_offsets(client: TestClient, shown: Shown) -> None:
    shown.view = made.stopped()

    (stopped,) = client.get(f"{ONE}/partitions", params={"q": "stopped"}).json()["partitions"]
    (event,) = client.get(f"{ONE}/events").json()["events"]

    for told in (stopped, event):
        assert (told["expected"], told["found"], told["gone"]) == (50, 70, 20)


def test_history_has_a_column_for_each_field(client: TestClient) -> None:
    def content() -> dict[str, list[int]]:
        found: dict[str, list[int]] = client.get("/api/v1/history?mirror=paris-to-tokyo").json()
        return found

    eventually(lambda: content()["at"], "the first sample is there")

    assert content()["at"] == [NOW]
    assert client.get(f"/api/v1/history?mirror=paris-to-tokyo&since={NOW + 1}").json()["at"] == []


def test_a_job(client: TestClient, shown: Shown) -> None:
    shown.jobs["7"] = Job("7", "paris-to-tokyo", "different", NOW, NOW + 1, ("orders[0]: missing: 1",))

    content = client.get("/api/v1/jobs/7").json()

    assert (content["state"], content["lines"]) == ("different", ["orders[0]: missing: 1"])
    assert client.get("/api/v1/jobs/8").status_code == 404


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/v1/mirrors/unknown", 404),
        ("/api/v1/mirrors/unknown/partitions", 404),
        ("/api/v1/history", 404),
        ("/api/v1/nothing", 404),
        ("/nothing", 404),
        (f"{ONE}/partitions?limit=x", 400),
        (f"{ONE}/partitions?limit=-1", 400),
        (f"{ONE}/partitions?order=size", 400),
        ("/api/v1/history?mirror=paris-to-tokyo&since=²", 400),
    ],
)
def test_errors_have_a_reason(client: TestClient, path: str, code: int) -> None:
    response = client.get(path)
    assert response.status_code == code
    assert set(response.json()) == {"error", "todo"}
    assert response.json()["error"]


def test_metrics_come_from_the_source(client: TestClient) -> None:
    response = client.get("/metrics")
    assert response.content == b"causeway_records_total 1\n"
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_names_with_markup_are_data(client: TestClient, shown: Shown) -> None:
    shown.view = made.markup()
    assert client.get("/api/v1/mirrors").json()["mirrors"][0]["name"] == MARKUP
    assert client.get("/api/v1/mirrors").headers["content-type"] == "application/json"
