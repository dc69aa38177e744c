"""The page over TLS: its certificate, clients' certificates, renewal, and clients that do not speak it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import pytest

from causeway.errors import ConfigError
from causeway.web import connections
from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.serve import Server
from causeway.web.tls import Certificate, CertificateFiles
from support.certificates import Authority, KeyFiles, replace_file
from support.process import eventually
from web.made import TOKEN, Shown

SECONDS = 20.0
Start = Callable[..., Server]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ours")


@pytest.fixture
def start(shown: Shown) -> Iterator[Start]:
    with ExitStack() as running:

        def started(files: KeyFiles | Path, **more: str) -> Server:
            chosen = (files.certificate, files.key) if isinstance(files, KeyFiles) else (files, "")
            certificate = Certificate(CertificateFiles(*map(str, chosen), **more))
            server = Server(application(shown, Access(TOKEN)), port=0, certificate=certificate)
            running.callback(server.stop)
            server.start()
            return server

        yield started


def trusting(authority: Authority, certificate: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.file)
    if certificate is not None:
        context.load_cert_chain(certificate)
    return context


def port(server: Server) -> int:
    return int(server.address.rpartition(":")[2])


def open_connections(server: Server) -> int:
    return len(server._server.server_state.connections)


def read(server: Server, context: ssl.SSLContext) -> int:
    return httpx.get(f"{server.address}/livez", verify=context, timeout=SECONDS).status_code


def test_it_is_served_over_tls_alone(authority: Authority, start: Start) -> None:
    server = start(authority.server("page"))
    assert server.address.startswith("https://127.0.0.1:")
    assert read(server, trusting(authority)) == 200
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://127.0.0.1:{port(server)}/livez", timeout=SECONDS)
    with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        httpx.get(f"{server.address}/livez", timeout=SECONDS)
    eventually(lambda: open_connections(server) == 0, "no connection is left", SECONDS)


def test_many_requests_and_the_stream(authority: Authority, start: Start, shown: Shown) -> None:
    server = start(authority.server("page"))
    with httpx.Client(base_url=server.address, verify=trusting(authority), timeout=SECONDS) as client:
        for _ in range(20):
            assert client.get("/static/uplot/uPlot.iife.min.js").status_code == 200
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert client.post("/api/v1/mirrors/paris-to-tokyo/pause", headers=bearer).status_code == 202
        with client.stream("GET", "/api/v1/stream") as response:
            lines = response.iter_lines()
            assert next(line for line in lines if line.startswith("data: "))
    assert len(shown.asked) == 1


def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered_encrypted(
    authority: Authority, start: Start
) -> None:
    """A TLS 1.3 client may send both at once: byte by byte, nothing but TLS comes back."""
    server = start(authority.server("page"))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trusting(authority).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with closing(socket.create_connection(("127.0.0.1", port(server)), SECONDS)) as client:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.sendall(outgoing.read())
                incoming.write(client.recv(65_536))
        tls.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.sendall(outgoing.read())  # the last message of the handshake and the request
        received = b""
        response = b""
        while not response.endswith(b'{"live":true}'):
            data = client.recv(65_536)
            assert data, "it has hung up"
            received += data
            incoming.write(data)
            with suppress(ssl.SSLWantReadError):
                response += tls.read(65_536)
    assert b"HTTP/1.1" not in received
    assert response.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("together", [False, True])
def test_a_key_may_be_encrypted_or_in_the_same_file(
    authority: Authority, start: Start, together: bool
) -> None:
    if together:
        server = start(authority.server("page").both)
    else:
        server = start(authority.server("page", password="päss"), key_password="päss")
    assert read(server, trusting(authority)) == 200


def test_clients_need_a_certificate_of_the_client_authority(
    authority: Authority, start: Start, tmp_path: Path
) -> None:
    clients = Authority(tmp_path / "clients")
    server = start(authority.server("page"), client_ca=str(clients.file))
    assert read(server, trusting(authority, clients.client("ann").both)) == 200
    for other in (None, authority.client("eve").both):
        with pytest.raises(httpx.HTTPError):
            read(server, trusting(authority, other))


def test_a_renewed_certificate_is_used_without_a_restart(authority: Authority) -> None:
    old, new = authority.server("old"), authority.server("new")
    certificate = Certificate(CertificateFiles(str(old.certificate), str(old.key)))
    first = certificate.context()
    assert certificate.context() is first

    replace_file(old.certificate, new.certificate.read_bytes())
    assert certificate.context() is first, "the key does not fit it yet"
    old.key.unlink()
    assert certificate.context() is first, "there is no key at the moment"
    replace_file(old.key, new.key.read_bytes())
    second = certificate.context()
    assert second is not first
    assert certificate.context() is second


def test_new_connections_get_the_renewed_certificate(
    authority: Authority, start: Start, tmp_path: Path
) -> None:
    files = authority.server("page")
    server = start(files)
    other = Authority(tmp_path / "other")
    for path, renewed in zip(files, other.server("page"), strict=True):
        replace_file(path, renewed.read_bytes())
    assert read(server, trusting(other)) == 200
    with pytest.raises(httpx.ConnectError):
        read(server, trusting(authority))


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        ("missing", "No such file or directory"),
        ("no password", "`key_password` does not decrypt the key"),
        ("wrong password", "`key_password` does not decrypt the key"),
        ("other key", "key values mismatch"),
        ("no pem", "is not in PEM format"),
        ("no authority", "No such file or directory"),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_start(authority: Authority, spoil: str, why: str) -> None:
    files = authority.server("page")
    key, certificate, _ = map(str, files)
    password, client_ca = "", ""
    match spoil:
        case "missing":
            certificate += ".gone"
        case "no password" | "wrong password":
            key, certificate, _ = map(str, authority.server("page", password="s3cret"))
            password = "cAnArY" if spoil == "wrong password" else ""
        case "other key":
            key = str(authority.server("other").key)
        case "no pem":
            Path(certificate).write_text("cAnArY")
        case "no authority":
            client_ca = "/no/such/file"
    with pytest.raises(ConfigError) as error:
        Certificate(CertificateFiles(certificate, key, password, client_ca))
    assert error.value.exit_code == 3
    assert why in error.value.why
    assert error.value.where in (certificate, client_ca)
    assert "cAnArY" not in "".join(error.value.lines())


@pytest.mark.parametrize(
    "said", [b"", b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\x02"]
)
def test_a_client_that_does_not_finish_the_handshake_is_disconnected(
    authority: Authority, start: Start, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    server = start(authority.server("page"))
    with closing(socket.create_connection(("127.0.0.1", port(server)), SECONDS)) as client:
        client.sendall(said)
        received = b""
        while data := client.recv(1024):  # until the server hangs up
            received += data
    assert b"HTTP" not in received
    eventually(lambda: open_connections(server) == 0, "it is forgotten", SECONDS)


def test_handshakes_count_as_connections(
    authority: Authority, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS", 3)
    server = start(authority.server("page"))
    with ExitStack() as several:
        held = [
            several.enter_context(closing(socket.create_connection(("127.0.0.1", port(server)), SECONDS)))
            for _ in range(3)
        ]
        eventually(lambda: open_connections(server) == 3, "they are connected", SECONDS)
        with pytest.raises(httpx.HTTPError):
            read(server, trusting(authority))
        for one in held:
            one.close()
        eventually(lambda: open_connections(server) == 0, "they have gone", SECONDS)
        assert read(server, trusting(authority)) == 200


def test_stop_ends_handshakes(authority: Authority, start: Start) -> None:
    server = start(authority.server("page"))
    with closing(socket.create_connection(("127.0.0.1", port(server)), SECONDS)) as client:
        eventually(lambda: open_connections(server) == 1, "it is connected", SECONDS)
        server.stop()
        assert client.recv(1) == b""
    assert open_connections(server) == 0
