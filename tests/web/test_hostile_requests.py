"""Any path, query, header and body: never a 500, never a traceback, and no change without the token."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from causeway.web import access
from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.serve import Server
from support.hostile import NASTY, TEXTS
from support.process import eventually
from web import made
from web.made import LOCAL, NOW, TOKEN, Shown

SECONDS = 20.0
ONE = "/api/v1/mirrors/paris-to-tokyo"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
KNOWN = (
    "/", "/metrics", "/livez", "/readyz", "/startupz", "/api/v1/mirrors", ONE, f"{ONE}/partitions",
    f"{ONE}/layout", f"{ONE}/events", f"{ONE}/gaps", f"{ONE}/node-lags", f"{ONE}/pause", f"{ONE}/resume",
    f"{ONE}/verify", f"{ONE}/failover", "/api/v1/history", "/api/v1/jobs/1", "/static/main.js", "/api/v1",
)  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "GETT")
LATIN = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\x00"), max_size=40)
SEGMENT = NASTY | st.sampled_from(("..", ".", "%2e%2e", "paris-to-tokyo", "pause", "%00", "%ff", "//", ";a"))
PATHS = st.sampled_from(KNOWN) | st.lists(SEGMENT, max_size=5).map(lambda parts: "/" + "/".join(parts)) | (
    st.tuples(st.sampled_from(KNOWN), SEGMENT).map("/".join)
)  # fmt: skip
QUERIES = st.dictionaries(
    st.sampled_from(("limit", "q", "order", "since", "mirror")) | NASTY, NASTY, max_size=3
)
NUMBERS: st.SearchStrategy[Any] = st.sampled_from(
    (-1, 0, 2**63, 1e400, None, True, [], {}, [[]], "x" * 5_000)
)
BODIES = (
    st.binary(max_size=200)
    | st.recursive(NUMBERS | NASTY, lambda inner: st.lists(inner, max_size=3), max_leaves=8).map(json.dumps)
    | st.dictionaries(
        st.sampled_from(("by", "pool", "node", "force")) | NASTY, NUMBERS | NASTY | st.booleans(), max_size=4
    ).map(json.dumps)
    | st.sampled_from((b"[" * 4_000, b'{"by":' * 600, b"\xef\xbb\xbf{}", b'{"by":"\xff"}', b"1" * 4_096))
)
HEADERS = st.dictionaries(
    st.sampled_from((
        "Authorization", "Cookie", "Origin", "Content-Type", "Accept", "Range", "If-None-Match", "Referer",
        "X-Forwarded-For", "X-HTTP-Method-Override", "Sec-Fetch-Site", "If-Modified-Since",
    )),
    LATIN | st.sampled_from(("Bearer", "Bearer ", "bearer \xff", "Bearer wrong", "bytes=0-", "POST", "null")),
    max_size=3,
)  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "WRONG_SECONDS", 0.0)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.no_cover
@given(
    method=st.sampled_from(METHODS), path=PATHS, query=QUERIES, headers=HEADERS, body=BODIES,
    token=st.booleans(), private=st.booleans(),
)  # fmt: skip
def test_whatever_is_requested(
    caplog: pytest.LogCaptureFixture, method: str, path: str, query: dict[str, str], headers: dict[str, str],
    body: Any, token: bool, private: bool,
) -> None:  # fmt: skip
    shown = Shown(made.stopped())
    client = TestClient(application(shown, Access(TOKEN, private), now=lambda: NOW), LOCAL)
    request = client.build_request(
        method, LOCAL, headers={**{name: value.encode("latin-1") for name, value in headers.items()},
                                **(BEARER if token else {})},
        content=body,
    )  # fmt: skip
    raw = path.encode(errors="surrogatepass").replace(b"?", b"%3f").replace(b"#", b"%23")
    asked = "&".join(f"{name}={value}" for name, value in query.items()).encode(errors="surrogatepass")
    request.url = request.url.copy_with(raw_path=_quoted(raw) + b"?" + _quoted(asked.replace(b"#", b"%23")))
    if raw.rstrip(b"/").endswith(b"/stream"):
        return  # it does not end
    response = client.send(request)

    assert response.status_code < 500 or (response.status_code == 503 and path.endswith("z")), response.text
    assert "Traceback" not in response.text
    assert "Content-Security-Policy" in response.headers
    assert not caplog.records
    acted = method == "POST" and response.status_code == 202
    assert bool(shown.asked) == acted
    assert token or not acted


def _quoted(raw: bytes) -> bytes:
    """Only what cannot be in a request line at all."""
    return b"".join(b"%%%02x" % byte if byte <= 32 or byte >= 127 else bytes([byte]) for byte in raw)


@pytest.fixture(scope="module")
def serving() -> Iterator[tuple[Server, Shown]]:
    shown = Shown(made.stopped())
    server = Server(application(shown, Access(TOKEN), now=lambda: NOW), port=0)
    server.start()
    yield server, shown
    server.stop()


HEAD = b"POST " + ONE.encode() + b"/pause HTTP/1.1\r\nHost: localhost\r\n"
RAW = (
    b"\x00" * 100, b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET  /  HTTP/1.1\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX\x00: y\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: local\xffhost\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /static/../../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", HEAD + b"Content-Length: -1\r\n\r\n",
    HEAD + b"Content-Length: 99999999999999999999\r\n\r\n", HEAD + b"Content-Length: \xb2\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", HEAD + b"Transfer-Encoding: x\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", HEAD + b"Expect: 100-continue\r\n\r\n",
    HEAD + b"Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n",
    HEAD + b"Cookie: token=" + TOKEN.encode() + b"\r\n\r\n",
    HEAD + b"Authorization: Bearer " + b"x" * 9_000 + b"\r\n\r\n",
)  # fmt: skip


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2])), SECONDS)


def exchange(server: Server, sent: bytes) -> bytes:
    """Everything that comes back for these bytes; the server, or we, hang up after that."""
    received = b""
    with closing(connected(server)) as client, suppress(ConnectionError):
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        while data := client.recv(65_536):
            received += data
    return received


def check_exchange(serving: tuple[Server, Shown], caplog: pytest.LogCaptureFixture, sent: bytes) -> None:
    server, shown = serving
    received = exchange(server, sent)
    assert b"HTTP/1.1 5" not in received
    assert b"Traceback" not in received
    assert b"root:" not in received
    assert shown.asked == []
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


@pytest.mark.parametrize("sent", RAW, ids=lambda sent: ascii(sent[:40]))
def test_bytes_that_are_no_proper_request(
    serving: tuple[Server, Shown], caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    check_exchange(serving, caplog, sent)
    connections = serving[0]._server.server_state.connections
    eventually(lambda: not connections, "no connection is left", SECONDS)


@pytest.mark.parametrize("chunk", [b"-1\r\n\r\n", b"zz\r\n", b"1\r\nxx"])
def test_a_body_that_proves_malformed_after_the_response(
    serving: tuple[Server, Shown], caplog: pytest.LogCaptureFixture, chunk: bytes
) -> None:
    server, _ = serving
    with closing(connected(server)) as client, suppress(ConnectionError):
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        assert client.recv(65_536).startswith(b"HTTP/1.1 401 ")
        client.sendall(chunk)
        while client.recv(65_536):
            pass
    assert not caplog.records


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.no_cover
@given(
    begin=st.sampled_from((b"", HEAD, b"GET / HTTP/1.1\r\n", b"GET /metrics HTTP/1.0\r\n", b"POST ")),
    lines=st.lists(st.binary(max_size=60), max_size=6),
    end=st.sampled_from((b"", b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n{}", b"\r\n\r\n" + HEAD + b"\r\n")),
)
def test_any_bytes(
    serving: tuple[Server, Shown],
    caplog: pytest.LogCaptureFixture,
    begin: bytes,
    lines: list[bytes],
    end: bytes,
) -> None:
    check_exchange(serving, caplog, begin + b"\r\n".join(lines) + end)


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_who_requests_it_is_a_short_text(client: TestClient, shown: Shown, text: str) -> None:
    response = client.post(f"{ONE}/pause", headers=BEARER, content=json.dumps({"by": text[:300]}))
    assert response.status_code == 202
    by = shown.asked[0][2]
    assert by.isprintable()
    assert 0 < len(by) <= 100
