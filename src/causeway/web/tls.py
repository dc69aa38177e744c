"""The page's certificate. A renewed one is used for new connections, without a restart."""

from __future__ import annotations

import logging
import os
import ssl
from dataclasses import dataclass, field

from causeway.errors import ConfigError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CertificateFiles:
    """PEM files; the key may be in `certificate`. With `client_ca`, clients need a certificate of theirs."""

    certificate: str
    key: str = ""
    key_password: str = field(default="", repr=False)
    client_ca: str = ""

    def read(self) -> ssl.SSLContext:
        """Raises OSError (with ssl.SSLError) if a file cannot be used."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        # Without a password OpenSSL would ask for one on the terminal.
        context.load_cert_chain(self.certificate, self.key or None, lambda: self.key_password)
        if self.client_ca:
            context.load_verify_locations(self.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def versions(self) -> tuple[tuple[int, int, int], ...]:
        """What changes when a file is replaced. Raises OSError if one is missing."""
        files = [os.stat(name) for name in (self.certificate, self.key, self.client_ca) if name]  # noqa: PTH116
        return tuple((facts.st_ino, facts.st_mtime_ns, facts.st_size) for facts in files)


class Certificate:
    """The certificate as it is now. Raises ConfigError if it cannot be used at the start."""

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        try:
            self._versions = files.versions()
            self._context = files.read()
        except OSError as error:
            raise ConfigError(
                "the page's certificate cannot be used",
                where=str(error.filename or files.certificate),
                why=_why(error),
                todo="correct `certificate`, `key`, `key_password` or `client_ca` under [web.tls]",
            ) from None

    def context(self) -> ssl.SSLContext:
        """For a new connection; the one before if the files cannot be used at the moment."""
        try:
            versions = self._files.versions()
            if versions != self._versions:
                self._context = self._files.read()
                self._versions = versions
        except OSError as error:
            # Certificate and key are replaced one after the other: the next connection tries again.
            log.debug("the page's certificate was not renewed: %s", _why(error))
        return self._context


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        # OpenSSL does not say which of them it is.
        unread = "the certificate or the key is not in PEM format, or `key_password` does not decrypt the key"
        return error.reason.replace("_", " ").lower() if error.reason else unread
    return error.strerror or str(error)
