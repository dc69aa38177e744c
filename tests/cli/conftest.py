"""A fake process that serves its API, configurations with its address, and commands as they are typed."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from causeway.cli.main import main
from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.serve import Server
from web.made import NOW, TOKEN, Shown

Serve = Callable[[Shown], str]
Type = Callable[..., "CommandResult"]
Configure = Callable[..., Path]
Foreign = Callable[..., str]


class CommandResult(NamedTuple):
    code: object
    out: str
    err: str


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve a snapshot, with the token of the tests; returns the address."""
    with contextlib.ExitStack() as running:

        def started(shown: Shown) -> str:
            server = Server(application(shown, Access(TOKEN), now=lambda: NOW), port=0)
            running.callback(server.stop)
            server.start()
            return server.address

        yield started


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """A configuration of mirrors with these names, and lines of its `[web]`."""

    def written(*names: str, web: str = "", token: str = TOKEN) -> Path:
        config = tmp_path / "mirror.toml"
        config.write_text(
            '[clusters.paris]\nbootstrap_servers = "127.0.0.1:1"\n'
            '[clusters.tokyo]\nbootstrap_servers = "127.0.0.1:1"\n'
            f'[web]\ntoken = "{token}"\n{web}\n'
            + "".join(
                f'[[mirrors]]\nname = "{name}"\nsource = "paris"\ndestination = "tokyo"\n'
                f'topics = ["{name}"]\n'
                for name in names or ("paris-to-tokyo",)
            )
        )
        return config

    return written


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Type:
    """Run a command as it is typed; returns its exit code and output."""

    def run(*arguments: str | Path) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["causeway", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        assert "Traceback" not in output.err
        return CommandResult(ended.value.code or 0, output.out, output.err)

    return run


@pytest.fixture
def foreign() -> Iterator[Foreign]:
    """Another program that serves HTTP; `asked` collects the requests."""
    with contextlib.ExitStack() as running:

        def started(
            body: bytes,
            code: int = 200,
            headers: dict[str, str] | None = None,
            asked: list[str] | None = None,
        ) -> str:
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    if asked is not None:
                        asked.append(f"{self.command} {self.path} {self.headers.get('Authorization', '')}")
                    self.send_response(code)
                    for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)

                do_POST = do_GET

                def log_message(self, *_: object) -> None: ...

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            thread = threading.Thread(target=server.serve_forever, args=(0.05,))
            thread.start()
            running.callback(server.server_close)
            running.callback(thread.join)
            running.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        yield started


@pytest.fixture
def unreachable() -> str:
    """An address at which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"
