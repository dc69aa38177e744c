"""Probes: what they return, and what they must not depend on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from causeway.core.plan import Unmatched
from causeway.core.snapshot import Snapshot
from causeway.web.health import unready
from web import made
from web.made import NOW, Shown, mirror, shard, snapshot, stopped_partition


@pytest.mark.parametrize(
    ("view", "reasons"),
    [
        (made.healthy(), []),
        (made.lagging(), []),
        (made.stopped(), []),
        (made.paused(), []),
        (snapshot(mirror(state="done")), []),
        (made.starting(), ["paris-to-tokyo is not prepared"]),
        (snapshot(prepared=False), ["the mirrors are not prepared"]),
        (
            snapshot(mirror(state="starting", shards=(shard(1), shard(2, heartbeat_at=-1)))),
            ["paris-to-tokyo is starting: no heartbeat yet from shard 2"],
        ),
        (snapshot(mirror([], unmatched=(Unmatched("oders", ("paris",), "orders"),))), []),
        (
            snapshot(mirror([stopped_partition(n, verdict="unroutable", what="no place") for n in range(6)])),
            [
                "paris-to-tokyo does not replicate"
                " orders[0], orders[1], orders[2], orders[3], orders[4] and 1 more: no place"
            ],
        ),
        (made.waiting(), ["paris-to-tokyo waits for paris, which does not respond"]),
        (made.pooled(), []),
        (
            made.without_node(),
            [
                "paris-to-tokyo waits: no node of the pool paris can be read from: paris-a is dead (no"
                " response), paris-b is short (orders[0]: the log end 7 is before the position 9)"
            ],
        ),
        (snapshot(mirror(blocked="too few replicas")), ["paris-to-tokyo waits: too few replicas"]),
        (snapshot(mirror(state="failed")), ["paris-to-tokyo has failed"]),
        (snapshot(mirror(state="stopped")), ["paris-to-tokyo has stopped"]),
        (snapshot(mirror(), at=NOW - 30_000), ["no status from the driver for 30 s"]),
    ],
)
def test_ready(client: TestClient, shown: Shown, view: Snapshot, reasons: list[str]) -> None:
    shown.view = view
    response = client.get("/readyz")
    assert response.status_code == (503 if reasons else 200)
    assert response.json() == {"ready": not reasons, "reasons": reasons}


def test_all_reasons_are_listed() -> None:
    view = replace(made.waiting(), prepared=False, at=NOW - 60_000)
    assert len(unready(view, NOW)) == 3


def test_started_once_every_mirror_is_prepared(client: TestClient, shown: Shown) -> None:
    shown.view = made.starting()
    assert client.get("/startupz").status_code == 503
    assert client.get("/startupz").json()["reasons"] == ["paris-to-tokyo is not prepared"]
    shown.view = made.waiting()
    assert client.get("/startupz").status_code == 200


def test_live_whatever_happens_to_the_mirrors(client: TestClient, shown: Shown) -> None:
    for view in (made.waiting(), made.starting(), snapshot(at=0), snapshot(mirror(state="failed"))):
        shown.view = view
        assert client.get("/livez").status_code == 200


def test_live_even_without_a_snapshot(
    shown: Shown, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Snapshot:
        raise OSError("no snapshot")

    monkeypatch.setattr(shown, "snapshot", broken)
    assert client.get("/livez").json() == {"live": True}
