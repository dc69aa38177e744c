"""What needs which token, on this machine's address and on others. Every route is asked, new ones too."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterator

import pytest
from starlette.routing import BaseRoute, Mount, Route
from starlette.testclient import TestClient

from causeway.web import access
from causeway.web.access import NO_TOKEN_TO_READ, WRONG, Access
from causeway.web.app import application
from causeway.web.health import WITH_TOKEN
from web import made
from web.made import LOCAL, NOW, TOKEN, Shown

METRICS_TOKEN = "a-token-of-prometheus"
OPEN = {"/", "/livez", "/readyz", "/startupz", "/static/main.js"}
STREAM = "/api/v1/stream"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "WRONG_SECONDS", 0.0)


def client(shown: Shown, access: Access) -> TestClient:
    return TestClient(application(shown, access, now=lambda: NOW), LOCAL)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def paths(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Method and path of every route of the application."""
    for route in routes:
        if isinstance(route, Route):
            path = prefix + route.path.replace("{name}", "paris-to-tokyo").replace("{id}", "1")
            yield from ((method, path) for method in route.methods or ())
        elif isinstance(route, Mount) and route.path == "/static":
            yield "GET", "/static/main.js"
        elif isinstance(route, Mount):
            yield from paths(list(route.routes), prefix + route.path)


ROUTES = sorted(set(paths(application(Shown(made.healthy())).routes)))


def test_all_routes_are_known_here() -> None:
    assert len(ROUTES) > 30
    assert {path for _, path in ROUTES} >= OPEN | {STREAM, "/metrics", "/api/v1/mirrors"}


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_where_reading_is_private_every_route_needs_the_token(shown: Shown, method: str, path: str) -> None:
    private = client(shown, Access(TOKEN, private=True, metrics_token=METRICS_TOKEN))
    without = private.request(method, path)
    if path in OPEN:
        assert without.status_code == 200
        return
    assert without.status_code == 401
    assert without.headers["www-authenticate"] == "Bearer"
    assert private.request(method, path, headers=bearer("wrong")).status_code == 403
    of_metrics = private.request(method, path, headers=bearer(METRICS_TOKEN))
    assert of_metrics.status_code == (200 if path == "/metrics" else 403), "it reads the metrics alone"
    assert shown.asked == []
    if (method, path) != ("GET", STREAM):  # it does not end
        assert private.request(method, path, headers=bearer(TOKEN)).status_code in (200, 202, 400, 404)


def test_the_page_without_the_token_has_no_data(shown: Shown) -> None:
    shown.view = made.stopped()
    page = client(shown, Access(TOKEN, private=True)).get("/")
    assert page.status_code == 200
    for word in ("orders", "paris", "tokyo", "mirror-1", "4711", "offsets skip"):
        assert word not in page.text
    assert "Enter the token" in page.text
    assert 'data-private="token"' in page.text


def test_probes_give_their_reasons_to_clients_with_the_token(shown: Shown) -> None:
    shown.view = made.waiting()
    private = client(shown, Access(TOKEN, private=True))
    assert private.get("/readyz").json() == {"ready": False, "reasons": [WITH_TOKEN]}
    assert private.get("/readyz").status_code == 503
    assert "paris" in private.get("/readyz", headers=bearer(TOKEN)).json()["reasons"][0]
    assert "paris" in client(shown, Access(TOKEN)).get("/readyz").json()["reasons"][0]
    shown.view = made.starting()
    assert private.get("/startupz").json() == {"started": False, "reasons": [WITH_TOKEN]}


@pytest.mark.parametrize(
    ("access", "sent", "code"),
    [
        (Access(), None, 200),
        (Access(TOKEN), None, 200),
        (Access(TOKEN, metrics_token=METRICS_TOKEN), None, 401),
        (Access(TOKEN, metrics_token=METRICS_TOKEN), TOKEN, 200),
        (Access(TOKEN, metrics_token=METRICS_TOKEN), METRICS_TOKEN, 200),
        (Access(metrics_token=METRICS_TOKEN), "wrong", 403),
        (Access(TOKEN, private=True), None, 401),
        (Access(TOKEN, private=True), TOKEN, 200),
        (Access(TOKEN, private=True, metrics_public=True), None, 200),
        (Access(private=True, metrics_public=True), None, 200),
        (Access(private=True), None, 403),
    ],
)
def test_the_metrics(shown: Shown, access: Access, sent: str | None, code: int) -> None:
    response = client(shown, access).get("/metrics", headers=bearer(sent) if sent else {})
    assert response.status_code == code


def test_the_token_of_the_metrics_changes_nothing(shown: Shown) -> None:
    local = client(shown, Access(TOKEN, metrics_token=METRICS_TOKEN))
    response = local.post("/api/v1/mirrors/paris-to-tokyo/pause", headers=bearer(METRICS_TOKEN))
    assert (response.status_code, response.json()["error"]) == (403, WRONG)
    assert shown.asked == []


def test_without_a_token_a_private_address_shows_nothing_and_says_why(shown: Shown) -> None:
    """The compat commands serve /metrics like this, where the tool did, until a token is set."""
    private = client(shown, Access(private=True, metrics_public=True))
    for sent in ({}, bearer(""), bearer("x")):
        response = private.get("/api/v1/mirrors", headers=sent)
        assert (response.status_code, response.json()["error"]) == (403, NO_TOKEN_TO_READ)
    assert NO_TOKEN_TO_READ.split(":")[0] in private.get("/").text
    assert 'data-private="not configured"' in private.get("/").text


def test_a_wrong_token_is_delayed_and_nobody_is_locked_out(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []

    async def sleep(seconds: float) -> None:
        delays.append(seconds)

    monkeypatch.setattr(access, "WRONG_SECONDS", 7.0)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    private = client(shown, Access(TOKEN, private=True))
    for _ in range(50):
        assert private.get("/api/v1/mirrors", headers=bearer("guess")).status_code == 403
    assert delays == [7.0] * 50
    assert private.get("/api/v1/mirrors", headers=bearer(TOKEN)).status_code == 200
    assert len(delays) == 50


def test_tokens_are_compared_in_constant_time(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hmac.compare_digest, and of equal lengths: of digests, whatever was sent."""
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def noted(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    private = client(shown, Access(TOKEN, private=True))
    for sent in ("x", TOKEN[:-1], TOKEN, "y" * 10_000):
        private.get("/api/v1/mirrors", headers=bearer(sent))
    assert len(compared) == 4
    assert {len(each) for pair in compared for each in pair} == {32}


def test_tokens_are_not_in_the_repr() -> None:
    assert TOKEN not in repr(Access(TOKEN, True, TOKEN))
