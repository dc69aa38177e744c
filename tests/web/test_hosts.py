"""Host and Origin: a page of another site reads and changes nothing, whatever its name resolves to."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.hosts import UNKNOWN_HOST
from web.made import LOCAL, NOW, TOKEN, Shown

PAUSE = "/api/v1/mirrors/paris-to-tokyo/pause"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ALLOWED = ("mirror.example.com", "0.0.0.0")


@pytest.fixture
def named(shown: Shown) -> TestClient:
    return TestClient(application(shown, Access(TOKEN), ALLOWED, now=lambda: NOW), LOCAL)


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "localhost:7081", "LOCALHOST", "127.0.0.1:7081", "[::1]:7081", "10.1.2.3", "[fe80::1]:1",
        "mirror.example.com", "Mirror.Example.COM:443", "mirror.example.com.",
    ],
)  # fmt: skip
def test_addresses_and_known_names_are_served(named: TestClient, host: str) -> None:
    assert named.get("/api/v1/mirrors", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "localhost.evil.example", "evil.example:7081", "mirror.example.com.evil.example",
        "xmirror.example.com", "127.0.0.1.evil.example", "localhost:7081:1", "localhost/", "a@localhost",
        "localhost evil", "[::1", "", "*", "0x7f000001", "127.1", "[::1].evil.example", "\xff",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/metrics", "/livez", "/api/v1/mirrors", "/static/main.js", "/none"])
def test_other_names_are_rejected_with_a_remedy(named: TestClient, host: str, path: str) -> None:
    response = named.get(path, headers={"Host": host.encode("latin-1")})
    assert response.status_code == 400
    assert response.json() == {"error": UNKNOWN_HOST, "todo": ""}
    assert "Content-Security-Policy" in response.headers


def test_a_star_allows_every_name_and_still_no_page_of_another_site(shown: Shown) -> None:
    client = TestClient(application(shown, Access(TOKEN), ("*",)), LOCAL)
    assert client.get("/livez", headers={"Host": "kaf-relay:9095"}).status_code == 200
    assert client.get("/livez", headers={"Host": "a/b"}).status_code == 400
    elsewhere = {"Host": "localhost", "Origin": "https://evil.example", **BEARER}
    assert client.post(PAUSE, headers=elsewhere).status_code == 403
    assert shown.asked == []


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:7081", None),
        ("localhost:7081", "http://localhost:7081"),
        ("mirror.example.com", "https://mirror.example.com"),
        ("Mirror.example.com", "https://mirror.example.COM"),
        ("127.0.0.1:7081", "https://mirror.example.com"),  # a proxy has put its own name into Host
    ],
)
def test_the_page_itself_and_programs_may_change_something(
    named: TestClient, shown: Shown, host: str, origin: str | None
) -> None:
    headers = {"Host": host, **BEARER, **({"Origin": origin} if origin else {})}
    assert named.post(PAUSE, headers=headers).status_code == 202
    assert len(shown.asked) == 1


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example", "null", "", "http://localhost", "http://localhost:3000", "http://10.0.0.1",
        "https://mirror.example.com.evil.example", "localhost:7081", "http://[::1", "file://", "\xff",
        "https://evil@mirror.example.com",
    ],
)  # fmt: skip
def test_a_page_of_another_site_changes_nothing_even_with_the_token(
    named: TestClient, shown: Shown, origin: str
) -> None:
    headers = {"Host": "localhost:7081", "Origin": origin.encode("latin-1"), **BEARER}
    assert named.post(PAUSE, headers=headers).status_code == 403
    assert shown.asked == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_the_browser_says_of_the_site_counts(named: TestClient, shown: Shown, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, **BEARER}
    assert named.post(PAUSE, headers=headers).status_code == 403
    assert shown.asked == []
    assert named.post(PAUSE, headers={"Sec-Fetch-Site": "same-origin", **BEARER}).status_code == 202
