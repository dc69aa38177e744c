"""Certificates that a test makes: for servers, for clients, and with each fault that a client must refuse."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import NamedTuple

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import load_pem_x509_certificate

_DAY = datetime.timedelta(days=1)


class KeyFiles(NamedTuple):
    """A private key and its certificate: in a file each, and both in one, as Kafka's brokers read them."""

    key: Path
    certificate: Path
    both: Path


class Authority:
    """A certificate authority; its own certificate is in `file`."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.name = name
        self.file = directory / f"{name}.pem"
        self._ca = trustme.CA(organization_name=name)
        self._ca.cert_pem.write_to_path(str(self.file))

    def server(
        self, name: str, host: str = "127.0.0.1", *, since: int = -1, until: int = 365, password: str = ""
    ) -> KeyFiles:
        """A server's certificate, valid between two days counted from today."""
        today = datetime.datetime.now(datetime.UTC)
        issued = self._ca.issue_cert(host, not_before=today + since * _DAY, not_after=today + until * _DAY)
        return self._write(name, issued, password)

    def client(self, name: str, *, password: str = "", until: int = 365) -> KeyFiles:
        """A client's certificate, with its name as the common name."""
        today = datetime.datetime.now(datetime.UTC)
        issued = self._ca.issue_cert(
            f"{name}@clients.example",  # Java rejects a certificate whose list of names is empty
            common_name=name,
            not_before=today - 2 * _DAY,
            not_after=today + until * _DAY,
        )
        return self._write(name, issued, password)

    def _write(self, name: str, issued: trustme.LeafCert, password: str = "") -> KeyFiles:
        key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
        encryption = (
            serialization.BestAvailableEncryption(password.encode())
            if password
            else serialization.NoEncryption()
        )
        # PKCS #8: the only format that Java reads.
        key_pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        chain = b"".join(pem.bytes() for pem in issued.cert_chain_pems)
        files = KeyFiles(*(self.directory / f"{name}.{kind}.pem" for kind in ("key", "crt", "both")))
        for file, content in zip(files, (key_pem, chain, key_pem + chain), strict=True):
            replace_file(file, content)
        return files


def replace_file(file: Path, content: bytes) -> None:
    """As secrets are rotated: no reader sees half of it."""
    new = file.with_suffix(".new")
    new.write_bytes(content)
    new.replace(file)


def as_pkcs12(files: KeyFiles, into: Path, password: str) -> Path:
    """The same key and certificate in one PKCS #12 file."""
    key = serialization.load_pem_private_key(files.key.read_bytes(), None)
    certificate = load_pem_x509_certificate(files.certificate.read_bytes())
    content = pkcs12.serialize_key_and_certificates(
        b"client",
        key,  # type: ignore[arg-type]
        certificate,
        None,
        serialization.BestAvailableEncryption(password.encode()),
    )
    into.write_bytes(content)
    return into
