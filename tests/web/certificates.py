"""Certificates for tests, made on the spot."""

from __future__ import annotations

from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization


class Authority:
    """An authority, and PEM files of what it issues."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._authority = trustme.CA()
        self.file = directory / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self.file))

    def issue(self, name: str, file: str = "", *, password: str = "") -> tuple[Path, Path]:
        """A certificate for a host name or an address, and its key, which may be encrypted."""
        issued = self._authority.issue_cert(name)
        certificate, key = (self._directory / f"{file or name}.{kind}" for kind in ("pem", "key"))
        certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        key.write_bytes(_encrypted(issued.private_key_pem.bytes(), password))
        return certificate, key

    def issue_together(self, name: str) -> Path:
        """The certificate and its key in one file."""
        certificate, key = self.issue(name)
        both = self._directory / f"{name}.both.pem"
        both.write_bytes(key.read_bytes() + certificate.read_bytes())
        return both


def _encrypted(key: bytes, password: str) -> bytes:
    if not password:
        return key
    return serialization.load_pem_private_key(key, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password.encode()),
    )
