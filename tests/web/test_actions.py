"""What changes something: by POST, with the token, and in no other way."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

from causeway.web.access import NO_TOKEN, Access
from causeway.web.actions import BODY_BYTES
from causeway.web.app import application
from web.made import LOCAL, NOW, TOKEN, Shown, refusal

ONE = "/api/v1/mirrors/paris-to-tokyo"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ACTIONS = ("pause", "resume", "verify", "failover")
READS = (
    "/", "/metrics", "/livez", "/readyz", "/startupz", "/api/v1/mirrors", ONE, f"{ONE}/partitions",
    f"{ONE}/layout", f"{ONE}/shards", f"{ONE}/events", f"{ONE}/gaps", f"{ONE}/configuration",
    "/api/v1/history?mirror=paris-to-tokyo", "/api/v1/jobs/1",
)  # fmt: skip


@pytest.mark.parametrize("what", ["pause", "resume"])
def test_pause_and_resume(client: TestClient, shown: Shown, what: str) -> None:
    response = client.post(f"{ONE}/{what}", headers=BEARER, json={"by": "ann"})
    assert response.status_code == 202
    assert response.json() == {
        "mirror": "paris-to-tokyo",
        "action": what,
        "by": "ann",
        "job": None,
        "request": None,
    }
    assert shown.asked == [(what, "paris-to-tokyo", "ann")]


def test_verify_returns_the_job_that_it_started(client: TestClient, shown: Shown) -> None:
    response = client.post(f"{ONE}/verify", headers=BEARER)
    assert response.status_code == 202
    assert client.get(f"/api/v1/jobs/{response.json()['job']}").json()["state"] == "running"
    assert shown.asked == [("verify", "paris-to-tokyo")]


def test_failover_requests_a_node_and_returns_the_time_of_the_request(
    client: TestClient, shown: Shown
) -> None:
    body = {"by": "ann", "pool": "paris", "node": "paris-b", "force": True}
    response = client.post(f"{ONE}/failover", headers=BEARER, json=body)
    assert (response.status_code, response.json()["request"]) == (202, NOW)
    assert client.post(f"{ONE}/failover", headers=BEARER).status_code == 202
    assert shown.asked == [
        ("failover", "paris-to-tokyo", "paris", "paris-b", "ann", "force"),
        ("failover", "paris-to-tokyo", "", "", "a client at testclient", ""),
    ]


@pytest.mark.parametrize("body", [{"pool": 1}, {"node": None}, {"force": "yes"}])
def test_a_failover_with_other_types_is_refused(
    client: TestClient, shown: Shown, body: dict[str, object]
) -> None:
    assert client.post(f"{ONE}/failover", headers=BEARER, json=body).status_code == 400
    assert shown.asked == []


def test_a_client_without_a_name_is_known_by_its_address(client: TestClient, shown: Shown) -> None:
    assert client.post(f"{ONE}/pause", headers=BEARER).status_code == 202
    assert shown.asked == [("pause", "paris-to-tokyo", "a client at testclient")]


@pytest.mark.parametrize("what", ACTIONS)
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Basic YTph"}, 401),
        ({"Cookie": f"token={TOKEN}"}, 401),
        ({"Authorization": "Bearer wrong"}, 403),
        ({"Authorization": f"Bearer {TOKEN}x"}, 403),
        ({"Authorization": f"Bearer {TOKEN[:-1]}"}, 403),
        ({"Authorization": b"Bearer \xff\xfe"}, 403),
    ],
)
def test_nothing_without_the_token(
    client: TestClient, shown: Shown, what: str, headers: dict[str, str], code: int
) -> None:
    response = client.post(f"{ONE}/{what}", headers=headers)
    assert response.status_code == code
    assert response.json()["error"]
    assert ("www-authenticate" in response.headers) == (code == 401)
    assert shown.asked == []


def test_without_the_token_mirror_names_are_not_revealed(client: TestClient) -> None:
    assert client.post("/api/v1/mirrors/unknown/pause").status_code == 401
    assert client.post("/api/v1/mirrors/unknown/pause", headers=BEARER).status_code == 404


@pytest.mark.parametrize("what", ACTIONS)
@pytest.mark.parametrize("sent", ["", "Bearer ", "Bearer x"])
def test_without_a_configured_token_every_action_is_rejected_with_a_remedy(
    shown: Shown, what: str, sent: str
) -> None:
    client = TestClient(application(shown), LOCAL)
    response = client.post(f"{ONE}/{what}", headers={"Authorization": sent})
    assert response.status_code == 403
    assert response.json()["error"] == NO_TOKEN
    assert "[web]" in NO_TOKEN
    assert shown.asked == []


@pytest.mark.parametrize("what", ACTIONS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_change_nothing(client: TestClient, shown: Shown, what: str, method: str) -> None:
    assert client.request(method, f"{ONE}/{what}", headers=BEARER).status_code == 405
    assert shown.asked == []


def test_reading_changes_nothing(client: TestClient, shown: Shown) -> None:
    for path in READS:
        client.get(path, headers=BEARER)
        client.head(path, headers=BEARER)
        assert client.post(path, headers=BEARER).status_code == 405
    assert shown.asked == []


def test_another_site_is_not_let_in(client: TestClient, shown: Shown) -> None:
    """A form of another site has no header; a script of it would have to ask first, and gets no leave."""
    elsewhere = {"Origin": "https://evil.example"}
    assert client.post(f"{ONE}/pause", headers=elsewhere, data={"token": TOKEN}).status_code == 403
    assert client.post(f"{ONE}/pause", headers={**elsewhere, **BEARER}).status_code == 403
    asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    response = client.options(f"{ONE}/pause", headers={**elsewhere, **asking})
    assert response.status_code == 403
    assert not [name for name in response.headers if name.startswith("access-control")]
    assert shown.asked == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"by": 1}', 400),
        (b"\xff", 400),
        (b"[" * BODY_BYTES, 400),
        (b" " * (BODY_BYTES + 1), 413),
        (b"{}", 202),
    ],
)
def test_bodies_are_small_and_make_sense(client: TestClient, shown: Shown, body: bytes, code: int) -> None:
    assert client.post(f"{ONE}/pause", headers=BEARER, content=body).status_code == code
    assert len(shown.asked) == (1 if code == 202 else 0)


def test_a_name_is_short_and_has_no_control_characters(client: TestClient, shown: Shown) -> None:
    client.post(f"{ONE}/pause", headers=BEARER, content=json.dumps({"by": "a\x1b[31m\nb" + "c" * 500}))
    by = shown.asked[0][2]
    assert by.startswith("a[31mbccc")
    assert len(by) == 100


def test_an_impossible_action_is_a_409_with_a_remedy(client: TestClient, shown: Shown) -> None:
    shown.error = refusal()
    response = client.post(f"{ONE}/pause", headers=BEARER)
    assert response.status_code == 409
    assert response.json() == {"error": "the mirror is about to end", "todo": "start it again"}


def test_a_bug_is_a_500_without_details(shown: Shown) -> None:
    shown.error = ValueError("secret")
    client = TestClient(application(shown, Access(TOKEN)), LOCAL, raise_server_exceptions=False)
    response = client.post(f"{ONE}/pause", headers=BEARER)
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "Content-Security-Policy" in response.headers
