"""Asks a broker's listener what it speaks, with sockets of our own, after a client got no connection.

librdkafka reports that a certificate could not be verified, not why, and can only guess that it speaks TLS to
a listener without it. So the handshake is repeated here, with the client's own files. A SaslHandshake request
then tells which mechanisms the listener accepts.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from causeway.kafka.certificates import validity

SECONDS = 1.5
LATE_ALERT_SECONDS = 0.5
"""With TLS 1.3 a broker refuses a client's certificate after the client has completed its handshake."""

_SASL_HANDSHAKE, _VERSION = 17, 1
_ILLEGAL_SASL_STATE = 34
_MOST_BYTES = 65_536
_MOST_MECHANISMS = 64


@dataclass(frozen=True, slots=True)
class ListenerFacts:
    """What a listener speaks. None where it could not be found out."""

    tls: bool | None = None
    certificate_refused: str = ""  # why this client refuses the broker's certificate, in OpenSSL's words
    certificate_valid: tuple[datetime, datetime] | None = None  # of the broker's certificate
    client_refused: str = ""  # the alert with which the broker refuses this client's certificate
    other_tls_error: str = ""
    mechanisms: tuple[str, ...] | None = None  # of SASL; empty where the listener expects no SASL


def probe(host: str, port: int, properties: Mapping[str, str]) -> ListenerFacts:
    """Connect with the client's TLS settings, and report what comes of it. Never raises."""
    try:
        with _connected(host, port) as plain:
            return _shake_hands(plain, host, port, properties)
    except (OSError, ValueError):  # not reachable, or no such host
        return ListenerFacts()


def _connected(host: str, port: int) -> socket.socket:
    connection = socket.create_connection((host, port), timeout=SECONDS)
    connection.settimeout(SECONDS)
    return connection


def _shake_hands(plain: socket.socket, host: str, port: int, properties: Mapping[str, str]) -> ListenerFacts:
    try:
        context = _context(properties)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        return ListenerFacts(other_tls_error=f"the TLS files cannot be used: {error}")
    try:
        with context.wrap_socket(plain, server_hostname=host) as shaken:
            return _after_handshake(shaken)
    except ssl.SSLCertVerificationError as error:
        return replace(_unverified(host, port), tls=True, certificate_refused=error.verify_message)
    except ssl.SSLError as error:
        if error.reason in ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", None):
            return _without_tls(host, port)
        if "ALERT" in (error.reason or ""):
            return ListenerFacts(tls=True, client_refused=_alert(error))
        return ListenerFacts(other_tls_error=_alert(error))
    except (ConnectionError, TimeoutError):
        return _without_tls(host, port)


def _after_handshake(shaken: ssl.SSLSocket) -> ListenerFacts:
    """The broker speaks first only to refuse the client's certificate."""
    shaken.settimeout(LATE_ALERT_SECONDS)
    try:
        shaken.recv(1)
    except TimeoutError:
        pass
    except ssl.SSLError as error:
        return ListenerFacts(tls=True, client_refused=_alert(error))
    except OSError:
        return ListenerFacts(tls=True)
    shaken.settimeout(SECONDS)
    return ListenerFacts(tls=True, mechanisms=_mechanisms(shaken))


def _without_tls(host: str, port: int) -> ListenerFacts:
    """The listener closes the connection at the first bytes of TLS: does it speak Kafka without TLS?"""
    with contextlib.suppress(OSError), _connected(host, port) as plain:
        mechanisms = _mechanisms(plain)
        return ListenerFacts(tls=None if mechanisms is None else False, mechanisms=mechanisms)
    return ListenerFacts()


def _mechanisms(connection: socket.socket) -> tuple[str, ...] | None:
    """Ask for no mechanism at all: a listener with SASL lists its own, any other has no SASL state."""
    client = b"causeway"
    request = struct.pack(">hhih", _SASL_HANDSHAKE, _VERSION, 0, len(client)) + client + struct.pack(">h", 0)
    until = time.monotonic() + SECONDS
    try:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _exactly(connection, 4, until))
        if not 10 <= size <= _MOST_BYTES:
            return None
        response = _exactly(connection, size, until)
    except OSError:
        return None
    return _parsed(response)


def _parsed(response: bytes) -> tuple[str, ...] | None:
    """None for what no broker sends: whoever listens there may be anything."""
    _, error, count = struct.unpack_from(">ihi", response)
    if error == _ILLEGAL_SASL_STATE:
        return ()
    if count > _MOST_MECHANISMS:
        return None
    names, at = [], 10
    try:
        for _ in range(count):
            (length,) = struct.unpack_from(">H", response, at)
            at += 2 + length
            if at > len(response):
                return None
            names.append(response[at - length : at].decode())
    except (struct.error, UnicodeDecodeError):
        return None
    return tuple(names)


def _exactly(connection: socket.socket, size: int, until: float) -> bytes:
    """Raises OSError if they have not all come in time, one by one though they may."""
    received = b""
    while len(received) < size:
        connection.settimeout(max(0.001, until - time.monotonic()))
        more = connection.recv(size - len(received))
        if not more:
            raise ConnectionResetError
        received += more
    return received


def _unverified(host: str, port: int) -> ListenerFacts:
    """Look at the certificate that was refused, and ask what needs no secret."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        contextlib.suppress(OSError, ValueError),
        _connected(host, port) as plain,
        context.wrap_socket(plain, server_hostname=host) as shaken,
    ):
        valid = validity(shaken.getpeercert(binary_form=True) or b"")
        return ListenerFacts(certificate_valid=valid, mechanisms=_mechanisms(shaken))
    return ListenerFacts()


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """As librdkafka would do it, without a client certificate as text or PKCS #12: Python cannot load it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https") != "none"
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if location := properties.get("ssl.ca.location"):
        context.load_verify_locations(cafile=location)
    elif pem := properties.get("ssl.ca.pem"):
        context.load_verify_locations(cadata=pem)
    else:
        context.load_default_certs()
    if certificate := properties.get("ssl.certificate.location"):
        password = properties.get("ssl.key.password", "")
        context.load_cert_chain(certificate, properties.get("ssl.key.location"), password)
    return context


def _alert(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
