"""Commands that ask a process over TLS, and with a token where reading needs one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from causeway.web import access
from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.serve import Server
from causeway.web.tls import Certificate, CertificateFiles
from cli.conftest import Configure, Foreign, Type
from support.certificates import Authority, KeyFiles
from web import made
from web.made import NOW, TOKEN, Shown

Start = Callable[..., Server]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "WRONG_SECONDS", 0.0)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ours")


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as running:

        def started(files: KeyFiles | None = None, client_ca: Path | str = "") -> Server:
            certificate = None
            if files is not None:
                chosen = CertificateFiles(str(files.certificate), str(files.key), client_ca=str(client_ca))
                certificate = Certificate(chosen)
            access = Access(TOKEN, private=True)
            app = application(Shown(made.healthy()), access, now=lambda: NOW)
            server = Server(app, port=0, certificate=certificate)
            running.callback(server.stop)
            server.start()
            return server

        yield started


def port(server: Server) -> str:
    return server.address.rpartition(":")[2]


def tls(certificate: Path) -> str:
    return f'[web.tls]\ncertificate = "{certificate}"\n'


def test_the_token_is_sent_where_reading_needs_it(start: Start, configure: Configure, typed: Type) -> None:
    result = typed("status", configure(), "--url", start().address)
    assert (result.code, "Healthy" in result.out) == (0, True), result.err


def test_a_wrong_token_or_none_is_a_line_and_4(start: Start, configure: Configure, typed: Type) -> None:
    address = start().address
    for token, why in (("another", "the token is wrong"), ("", "the token is missing")):
        result = typed("status", configure(token=token), "--url", address)
        assert (result.code, why in result.err) == (4, True), result.err
        assert "`token` under [web]" in result.err


def test_the_token_is_not_sent_where_reading_needs_none(
    foreign: Foreign, configure: Configure, typed: Type
) -> None:
    asked: list[str] = []
    typed("status", configure(), "--url", foreign(b"{}", asked=asked))
    assert asked == ["GET /api/v1/mirrors "]


def test_the_certificate_of_the_configuration_is_trusted_whatever_its_name(
    authority: Authority, start: Start, configure: Configure, typed: Type
) -> None:
    """Its names may lack 127.0.0.1, where the command connects."""
    files = authority.server("page", "mirror.example.com")
    server = start(files)
    result = typed("status", configure(web=f"port = {port(server)}\n{tls(files.certificate)}"))
    assert (result.code, "Healthy" in result.out) == (0, True), result.err


def test_no_other_certificate_is_trusted_there(
    authority: Authority, start: Start, configure: Configure, typed: Type
) -> None:
    """Not even of the same authority: another user of this machine may have one, and listen on the port."""
    ours = authority.server("ours").certificate
    ours.write_bytes(ours.read_bytes() + authority.file.read_bytes())  # a chain
    server = start(authority.server("other"))
    result = typed("status", configure(web=f"port = {port(server)}\n{tls(ours)}"))
    assert (result.code, "error: the certificate is not trusted" in result.err) == (4, True), result.err
    result = typed("pause", configure(web=f"port = {port(server)}\n{tls(ours)}"))
    assert result.code == 4, "it is not taken for a mirror that does not run"


def test_an_url_needs_a_name_and_an_authority_that_fit(
    authority: Authority, start: Start, configure: Configure, typed: Type, tmp_path: Path
) -> None:
    server = start(authority.server("page"))
    config, url = configure(), ("--url", server.address)
    assert typed("status", config, *url, "--ca", authority.file).code == 0
    other = start(authority.server("other", "mirror.example.com"))
    for options in (
        url,
        (*url, "--ca", Authority(tmp_path / "other").file),
        ("--url", other.address, "--ca", authority.file),
    ):
        result = typed("status", config, *options)
        assert result.code == 4, result
        assert result.err.startswith("error: the certificate is not trusted\nwhere: https://127.0.0.1:")
        assert "--ca" in result.err


def test_a_client_certificate(
    authority: Authority, start: Start, configure: Configure, typed: Type, tmp_path: Path
) -> None:
    clients = Authority(tmp_path / "clients")
    server = start(authority.server("page"), client_ca=clients.file)
    command = ("status", configure(), "--url", server.address, "--ca", authority.file)
    assert typed(*command, "--cert", clients.client("ann").both).code == 0
    for options in ((), ("--cert", authority.client("eve").both)):
        result = typed(*command, *options)
        assert result.code in (4, 5), result
        assert len(result.err.splitlines()) in (3, 4)


@pytest.mark.parametrize("option", ["--ca", "--cert"])
def test_files_that_are_no_certificates_are_a_line(
    configure: Configure, typed: Type, tmp_path: Path, option: str
) -> None:
    (tmp_path / "no.pem").write_text("cAnArY")
    for file, why in (("no.pem", "not in PEM format"), ("missing", "No such file or directory")):
        result = typed("status", configure(), "--url", "https://127.0.0.1:1", option, tmp_path / file)
        assert (result.code, why in result.err) == (3, True), result.err
        assert "cAnArY" not in result.err


def test_a_server_without_tls_is_recognized(start: Start, configure: Configure, typed: Type) -> None:
    result = typed("status", configure(), "--url", start().address.replace("http:", "https:"))
    assert (result.code, "it does not speak TLS" in result.err) == (5, True), result.err


def test_a_password_in_an_url_is_refused_and_not_repeated(configure: Configure, typed: Type) -> None:
    result = typed("status", configure(), "--url", "http://me:cAnArY@127.0.0.1:7081")
    assert (result.code, "cAnArY" in result.err) == (2, False), result.err
