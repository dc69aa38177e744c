"""A real server on a real port: start, stop, the stream, and clients that go."""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from itertools import islice
from typing import Any

import httpx
import pytest

from causeway.core.snapshot import Snapshot
from causeway.errors import SetupError
from causeway.web import actions, connections, stream
from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.serve import HOST, PORT, Server
from causeway.web.stream import Feed
from support.process import eventually
from web import made
from web.made import TOKEN, Shown

SECONDS = 20.0


@pytest.fixture
def server(shown: Shown) -> Iterator[Server]:
    server = Server(application(shown), port=0)
    server.start()
    yield server
    server.stop()


def feed(server: Server) -> Feed:
    found = server._application.state.feed
    assert isinstance(found, Feed)
    return found


def events(response: httpx.Response) -> Iterator[dict[str, str]]:
    """Server-sent events as they come."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield fields
            fields = {}


def test_by_default_it_is_for_this_machine_alone() -> None:
    assert (HOST, PORT) == ("127.0.0.1", 7081)


def test_the_address_has_the_actual_port(server: Server) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    assert not server.address.endswith(":0")
    assert httpx.get(f"{server.address}/livez").json() == {"live": True}


def test_a_path_that_leaves_the_files_leads_nowhere(server: Server) -> None:
    """Other clients tidy a path before they send it; this one sends what it is given."""
    for path in ("/static/../app.py", "/static/../../errors.py", "/static/uplot/../../serve.py"):
        with closing(HTTPConnection(server.address.removeprefix("http://"), timeout=SECONDS)) as raw:
            raw.request("GET", path)
            assert raw.getresponse().status == 404


def test_a_port_that_is_taken_is_one_line_and_a_remedy(server: Server, shown: Shown) -> None:
    port = int(server.address.rpartition(":")[2])
    other = Server(application(shown), port=port)
    with pytest.raises(SetupError) as error:
        other.start()
    assert error.value.lines() == [
        "error: the page's port is in use",
        f"where: 127.0.0.1:{port}",
        "do: set another `port` under [web] (0: any free port), or stop the program that uses it",
    ]
    other.stop()


def test_a_host_that_is_not_ours_is_refused_too(shown: Shown) -> None:
    with pytest.raises(SetupError, match="cannot be served on this address"):
        Server(application(shown), host="203.0.113.1", port=0).start()


def test_after_stop_the_port_is_free_and_the_thread_gone(shown: Shown) -> None:
    server = Server(application(shown), port=0)
    server.start()
    port = int(server.address.rpartition(":")[2])
    server.stop()
    server.stop()

    with closing(socket.create_server(("127.0.0.1", port))):
        pass
    assert not [one for one in threading.enumerate() if one.name == "web"]


def test_signals_and_logs_are_left_alone(shown: Shown, capfd: pytest.CaptureFixture[str]) -> None:
    def ours(_number: int, _frame: object) -> None: ...

    # Handlers of this test: SIGINT is ignored where a shell started the tests in the background.
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, ours) for number in numbers}
    server = Server(application(shown), port=0)
    try:
        server.start()
        httpx.get(f"{server.address}/livez")
        assert {signal.getsignal(number) for number in numbers} == {ours}
    finally:
        server.stop()
        for number, handler in before.items():
            signal.signal(number, handler)
    assert not logging.getLogger("uvicorn").handlers
    said = capfd.readouterr()
    # Kafka clients of other tests in this process may still log that their brokers are gone.
    assert (said.out, [line for line in said.err.splitlines() if "|rdkafka#" not in line]) == ("", [])


def test_the_stream_gives_moments_with_ids_and_says_when_to_come_back(server: Server) -> None:
    with httpx.stream("GET", f"{server.address}/api/v1/stream", timeout=SECONDS) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        first, *moments = islice(events(response), 4)

    assert first == {"retry": "2000"}
    assert [one["event"] for one in moments] == ["status"] * 3
    ids = [int(one["id"]) for one in moments]
    assert ids == sorted(set(ids))
    assert json.loads(moments[0]["data"])["mirrors"][0]["name"] == "paris-to-tokyo"


def test_the_stream_shows_what_changes(server: Server, shown: Shown) -> None:
    with httpx.stream("GET", f"{server.address}/api/v1/stream", timeout=SECONDS) as response:
        coming = events(response)
        next(coming)
        next(coming)
        shown.view = made.stopped()
        for _, moment in zip(range(20), coming, strict=False):
            if json.loads(moment["data"])["findings"][0]["level"] == "error":
                return
    raise AssertionError("the stopped partition never came")


def test_a_client_that_disconnects_is_forgotten(server: Server) -> None:
    for _ in range(3):
        with httpx.stream("GET", f"{server.address}/api/v1/stream", timeout=SECONDS) as response:
            coming = events(response)  # kept: a generator without a reference closes the connection
            next(coming)
            assert feed(server).clients > 0
    eventually(lambda: feed(server).clients == 0, "no client is connected", SECONDS)


def test_not_more_watch_than_there_is_room_for(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CLIENTS", 1)
    with httpx.stream("GET", f"{server.address}/api/v1/stream", timeout=SECONDS) as response:
        coming = events(response)
        next(coming)
        refused = httpx.get(f"{server.address}/api/v1/stream", timeout=SECONDS)
        assert refused.status_code == 503
        assert "close some" in refused.json()["error"]


def test_asking_for_the_headers_alone_does_not_watch(server: Server) -> None:
    response = httpx.head(f"{server.address}/api/v1/stream", timeout=SECONDS)
    assert response.status_code == 200
    assert feed(server).clients == 0


def test_stop_ends_streams_that_are_open(shown: Shown) -> None:
    server = Server(application(shown), port=0)
    server.start()
    with httpx.stream("GET", f"{server.address}/api/v1/stream", timeout=SECONDS) as response:
        coming = events(response)
        next(coming)
        server.stop()
        list(coming)  # it ends
    assert feed(server).clients == 0


def test_stop_disconnects_a_client_that_does_not_read(shown: Shown) -> None:
    server = Server(application(shown), port=0)
    server.start()
    with closing(socket.socket()) as client:
        client.settimeout(SECONDS)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", int(server.address.rpartition(":")[2])))
        client.sendall(b"GET /static/uplot/uPlot.iife.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500)
        connections: set[Any] = server._server.server_state.connections
        eventually(lambda: any(one.flow.write_paused for one in connections), "it does not read", SECONDS)
        server.stop()

        with contextlib.suppress(ConnectionResetError):
            while client.recv(1 << 20):
                pass


def connected(server: Server) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2])), SECONDS)
    client.settimeout(SECONDS)
    return client


def open_connections(server: Server) -> int:
    return len(server._server.server_state.connections)


POST = b"POST /api/v1/mirrors/paris-to-tokyo/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n"
SLOW = {
    "head": b"GET /livez HTTP/1.1\r\nHost: loc",
    "nothing": b"",
    "body": POST + f"Authorization: Bearer {TOKEN}\r\n\r\n{{".encode(),
    "body of a refused request": POST + b"\r\n{",
    "second request": b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /livez",
}


@pytest.mark.parametrize("slow", SLOW)
def test_a_client_that_does_not_finish_its_request_is_disconnected(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    """Also one that sends byte by byte. It holds no thread, and a mirror can be paused meanwhile."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 1.0)
    server = Server(application(shown, Access(TOKEN)), port=0)
    server.start()
    threads = threading.active_count()
    try:
        with closing(connected(server)) as client:
            client.sendall(SLOW[slow])
            eventually(lambda: open_connections(server) == 1, "it is connected", SECONDS)
            bearer = {"Authorization": f"Bearer {TOKEN}"}
            url = f"{server.address}/api/v1/mirrors/paris-to-tokyo/pause"
            assert httpx.post(url, headers=bearer, json={"by": "ann"}, timeout=SECONDS).status_code == 202
            assert threading.active_count() <= threads + 1, "the one that paused"

            def hung_up() -> bool:
                if slow != "nothing":
                    client.send(b" ")
                return open_connections(server) == 0

            with contextlib.suppress(ConnectionError):
                eventually(hung_up, "the server has hung up", SECONDS)
            eventually(lambda: open_connections(server) == 0, "the server has hung up", SECONDS)
        assert shown.asked == [("pause", "paris-to-tokyo", "ann")]
    finally:
        server.stop()


def test_a_body_that_does_not_arrive_gets_a_408(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(actions, "BODY_SECONDS", 0.2)
    server = Server(application(shown, Access(TOKEN)), port=0)
    server.start()
    try:
        with closing(connected(server)) as client:
            client.sendall(SLOW["body"])
            response = client.recv(65_536)
        assert response.startswith(b"HTTP/1.1 408 "), response
    finally:
        server.stop()
    assert not caplog.records


def test_a_client_that_hangs_up_amid_its_body_is_no_bug(
    shown: Shown, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(application(shown, Access(TOKEN)), port=0)
    server.start()
    try:
        with closing(connected(server)) as client:
            client.sendall(SLOW["body"])
            eventually(lambda: len(server._server.server_state.tasks) == 1, "it is being served", SECONDS)
        eventually(lambda: not server._server.server_state.tasks, "it is forgotten", SECONDS)
    finally:
        server.stop()
    assert not caplog.records


def test_there_is_room_for_so_many_connections(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS", 3)
    with contextlib.ExitStack() as several:
        held = [several.enter_context(closing(connected(server))) for _ in range(3)]
        eventually(lambda: open_connections(server) == 3, "they are connected", SECONDS)
        with closing(connected(server)) as one_more, contextlib.suppress(ConnectionResetError):
            assert one_more.recv(1) == b""
        held.pop().close()
        eventually(lambda: open_connections(server) == 2, "one has gone", SECONDS)
        assert httpx.get(f"{server.address}/livez", timeout=SECONDS).status_code == 200


def test_a_source_that_fails_is_retried(
    server: Server, shown: Shown, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[Any] = []

    def broken() -> Snapshot:
        asked.append(None)
        raise OSError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(shown, "snapshot", broken)
        eventually(lambda: len(asked) > 1, "it was called twice", SECONDS)
    with httpx.stream("GET", f"{server.address}/api/v1/stream", timeout=SECONDS) as response:
        assert len(list(islice(events(response), 3))) == 3
    assert "taking a snapshot failed" in caplog.text


def test_another_host_name_is_rejected(server: Server) -> None:
    """A site whose name is made to mean 127.0.0.1 would otherwise read everything in a visitor's browser."""
    assert httpx.get(f"{server.address}/api/v1/mirrors", headers={"Host": "evil.example"}).status_code == 400
    for name in ("localhost:7081", "127.0.0.1", "[::1]:7081"):
        assert httpx.get(f"{server.address}/livez", headers={"Host": name}).status_code == 200
