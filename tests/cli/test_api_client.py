"""The address of the API, and the error when nothing responds there, or another program does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from causeway.cli import api_client
from causeway.cli.api_address import address_of
from causeway.config import WebSettings
from causeway.errors import Unreachable
from cli.conftest import Configure, Foreign, Serve, Type
from web import made
from web.made import Shown


def test_no_process_responds(typed: Type, configure: Configure, unreachable: str) -> None:
    port = unreachable.rpartition(":")[2]
    result = typed("status", configure(web=f"port = {port}"))
    assert result.code == 5
    assert result.err.splitlines()[:3] == [
        "error: no mirror responds",
        f"where: {unreachable}",
        "why: Connection refused",
    ]
    for remedy in ("does the mirror run?", "[web]", "--url", "causeway offsets show CONFIG"):
        assert remedy in result.err


@pytest.mark.parametrize(
    ("body", "code", "why"),
    [
        (b"<html><h1>It works!</h1></html>", 200, "it returns text/html (HTTP 200), not JSON"),
        (b"not found", 404, "it returns text/html (HTTP 404), not JSON"),
        (b"[]", 200, "its response does not match Causeway's API"),
        (b"{}", 200, "its response does not match Causeway's API"),
        (b'{"mirrors": 3, "findings": []}', 200, "its response does not match Causeway's API"),
        (b'{"message": "unauthorized"}', 401, "it returns HTTP 401"),
        (b"\xff\xfe", 200, "it returns text/html (HTTP 200), not JSON"),
        (b"[" * 100_000, 200, "it returns text/html (HTTP 200), not JSON"),
    ],
)
def test_another_program_on_that_port_is_one_line(
    foreign: Foreign, typed: Type, configure: Configure, body: bytes, code: int, why: str
) -> None:
    address = foreign(body, code, {"Content-Type": "text/html; charset=utf-8"})
    result = typed("status", configure(), "--url", address)
    assert result.code == 5
    assert result.err.splitlines()[:3] == [
        "error: another program responds there, not Causeway",
        f"where: {address}",
        f"why: {why}",
    ]
    assert len(result.err.splitlines()) == 4


def test_a_process_whose_mirrors_lack_fields_is_not_ours(
    foreign: Foreign, typed: Type, configure: Configure, serve: Serve
) -> None:
    response = httpx.get(f"{serve(Shown(made.healthy()))}/api/v1/mirrors").json()
    for broken in (
        {**response, "mirrors": [{"name": "paris-to-tokyo"}]},
        {**response, "mirrors": ["paris-to-tokyo"]},
        {**response, "findings": []},
        {**response, "findings": [{"level": "ok"}]},
        {name: value for name, value in response.items() if name != "rpo"},
    ):
        result = typed("status", configure(), "--url", foreign(json.dumps(broken).encode()))
        assert (result.code, "not Causeway" in result.err) == (5, True), broken


def test_a_redirect_to_another_server_is_not_followed(
    foreign: Foreign, typed: Type, configure: Configure
) -> None:
    asked: list[str] = []
    other = foreign(b"{}", asked=asked)
    result = typed("status", configure(), "--url", foreign(b"", 302, {"Location": f"{other}/login"}))
    assert result.code == 5
    assert f"why: HTTP 302 to {other}/login" in result.err
    assert asked == []


@pytest.fixture
def raw() -> Iterator[Callable[[bytes, bytes], str]]:
    """A port without a web server: sends `first` at once, and then `again` repeatedly."""
    done = threading.Event()
    threads: list[threading.Thread] = []

    def listen(first: bytes, again: bytes) -> str:
        server = socket.create_server(("127.0.0.1", 0))

        def talk() -> None:
            with server, server.accept()[0] as client:
                try:
                    client.recv(65_536)
                    client.sendall(first)
                    while not done.wait(0.02):
                        client.sendall(again)
                except OSError:
                    pass

        threads.append(threading.Thread(target=talk))
        threads[-1].start()
        return f"http://127.0.0.1:{server.getsockname()[1]}"

    yield listen
    done.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("first", "again", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"", "why: it does not speak HTTP"),
        (b"", b"", "why: timed out"),
        (b"HTTP/1.1 200 OK\r\n\r\n{", b" ", "why: the response does not end"),
    ],
)
def test_every_response_has_a_timeout(
    raw: Callable[[bytes, bytes], str],
    typed: Type,
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    first: bytes,
    again: bytes,
    words: str,
) -> None:
    monkeypatch.setattr(api_client, "SECONDS", 0.3)
    result = typed("status", configure(), "--url", raw(first, again))
    assert (result.code, words in result.err) == (5, True), result.err


@pytest.mark.parametrize(
    ("web", "address"),
    [
        ({}, "http://127.0.0.1:7081"),
        ({"port": "auto"}, "http://127.0.0.1:7081"),
        ({"host": "0.0.0.0", "port": 8080}, "http://127.0.0.1:8080"),
        ({"host": "::", "port": 8080}, "http://[::1]:8080"),
        ({"host": "mirror-1"}, "http://mirror-1:7081"),
        ({"host": "::1"}, "http://[::1]:7081"),
    ],
)
def test_the_address_is_the_one_of_the_web_section(web: dict[str, Any], address: str) -> None:
    assert address_of(WebSettings(**web), None) == address


def test_without_an_address_in_the_web_section_url_gives_it() -> None:
    for web in (WebSettings(enabled=False), WebSettings(port=0)):
        with pytest.raises(Unreachable) as error:
            address_of(web, None)
        assert "--url" in error.value.todo
        assert address_of(web, "https://mirror-1/causeway/") == "https://mirror-1/causeway"


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:7081", "file:///etc/passwd", "ftp://a", "http://", "http://a:b", "http://a b", "http://a?x"],
)
def test_an_invalid_url_is_a_usage_error(typed: Type, configure: Configure, url: str) -> None:
    result = typed("status", configure(), "--url", url)
    assert (result.code, f"--url {url}: must be like http://" in result.err) == (2, True), result.err


def test_a_proxy_is_not_used_for_this_machine(serve: Serve, configure: Configure, unreachable: str) -> None:
    address = serve(Shown(made.healthy()))
    command = [sys.executable, "-m", "causeway", "status", str(configure()), "--url", address]
    env = {**os.environ, "http_proxy": unreachable, "HTTP_PROXY": unreachable}
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
