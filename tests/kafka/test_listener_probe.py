"""Whatever listens at a broker's address: the look at it ends soon, takes little memory and never raises."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.core.cluster import Cluster
from causeway.errors import AccessDenied
from causeway.kafka import listener_probe
from causeway.kafka.admin import ClusterView
from causeway.kafka.certificates import first_validity, validity
from causeway.kafka.listener_probe import ListenerFacts, probe
from support.certificates import Authority
from support.process import eventually

Serve = Callable[[socket.socket], None]
MEBIBYTE = 2**20


def response(error: int, *names: bytes, count: int | None = None) -> bytes:
    listed = b"".join(struct.pack(">H", len(name)) + name for name in names)
    return struct.pack(">ihi", 0, error, len(names) if count is None else count) + listed


@contextlib.contextmanager
def listening(serve: Serve) -> Iterator[int]:
    """A server that does this with each connection; returns its port."""
    server = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def accept() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                threading.Thread(target=each, args=(connection,), daemon=True).start()

    def each(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            serve(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield int(server.getsockname()[1])
    ended.set()
    socket.create_connection(server.getsockname()).close()
    server.close()
    thread.join()


def test_what_a_broker_responds() -> None:
    assert listener_probe._parsed(response(33, b"PLAIN", b"SCRAM-SHA-512")) == ("PLAIN", "SCRAM-SHA-512")
    assert listener_probe._parsed(response(34)) == ()
    assert listener_probe._parsed(response(33, b"\xff")) is None
    assert listener_probe._parsed(response(33, b"PLAIN", count=2)) is None


@pytest.mark.parametrize("length", [b"\xff\xfe", b"\xff\xff", b"\0\0", b"\x80\0"])
def test_a_number_of_mechanisms_that_no_broker_has_takes_no_memory(length: bytes) -> None:
    hostile = response(33, count=2**31 - 1) + length * 30_000
    tracemalloc.start()
    try:
        assert listener_probe._parsed(hostile) is None
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MEBIBYTE


@settings(max_examples=200)
@given(st.binary(min_size=10, max_size=200) | st.builds(response, st.integers(-9, 99), st.binary(max_size=9)))
def test_any_response_is_read_or_refused(content: bytes) -> None:
    names = listener_probe._parsed(content)
    assert names is None or sum(map(len, names)) <= len(content)


@settings(max_examples=300)
@given(st.binary(max_size=120), st.text(max_size=60))
def test_any_certificate_is_read_or_refused(der: bytes, text: str) -> None:
    assert validity(der) is None
    nested = b"0\x82\xff\xff" * 30 + der
    assert validity(nested) is None
    assert first_validity(f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----") is None


def _drip(connection: socket.socket) -> None:
    connection.sendall(struct.pack(">i", 60_000))
    while True:
        connection.sendall(b"\0")
        time.sleep(0.05)


def _flood(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"\x7f\xff\xff\xff" * 16_384)


def _silent(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def _half_tls(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"\x16\x03\x03\x40\x00" + b"\x02" * 100)
    _silent(connection)


@pytest.mark.parametrize("serve", [_drip, _flood, _silent, _half_tls, lambda connection: None])
def test_a_listener_that_is_no_broker(serve: Serve) -> None:
    facts: list[ListenerFacts] = []
    with listening(serve) as port:
        look = threading.Thread(target=lambda: facts.append(probe("127.0.0.1", port, {})), daemon=True)
        look.start()
        eventually(lambda: not look.is_alive(), "the look at the listener has ended", 30)
    assert len(facts) == 1
    assert not facts[0].mechanisms


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Authority]:
    """The one that signed the listener's certificate, and another one."""
    directory = tmp_path_factory.mktemp("keys")
    return Authority(directory / "signing"), Authority(directory / "other", "other")


@pytest.mark.parametrize("form", ["file", "text", "PEM truststore", "truststore of a type to find out"])
def test_an_unknown_authority_is_the_reason_in_whatever_form_the_known_ones_are_given(
    authorities: tuple[Authority, Authority], form: str
) -> None:
    signing, other = authorities
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(signing.server("listener").both)

    def serve(connection: socket.socket) -> None:
        with server.wrap_socket(connection, server_side=True) as encrypted:
            _silent(encrypted)

    with listening(serve) as port, pytest.raises(AccessDenied) as caught:
        given: dict[str, dict[str, str]] = {
            "file": {"ssl.ca.location": str(other.file)},
            "text": {"ssl.ca.location": other.file.read_text()},
            "PEM truststore": {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(other.file)},
            "truststore of a type to find out": {"ssl.truststore.location": str(other.file)},
        }
        connection = {"bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": "SSL"}
        ClusterView(Cluster("paris", {**connection, **given[form]})).connect()
    assert "is not signed by an authority that this client trusts: " in caught.value.why
    assert caught.value.why.endswith("not contain it")
    assert "BEGIN" not in str(caught.value.lines())
