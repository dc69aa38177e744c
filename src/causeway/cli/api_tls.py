"""Which certificates a command trusts, and shows, where a process serves its API."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

from causeway.cli.api_address import ApiOptions
from causeway.config import WebSettings
from causeway.errors import ConfigError


def tls_context(web: WebSettings, options: ApiOptions) -> ssl.SSLContext:
    """Trusts `--ca`; otherwise this machine's authorities, or the very certificate that [web.tls] names.

    That one is trusted whatever its names and its authority are: the configuration says that it is the
    server's, and its names may not include 127.0.0.1.
    """
    if options.url is None and options.ca is None and web.tls is not None:
        context = _context(web.tls.certificate, "[web.tls] certificate", _first)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    else:
        context = _context(options.ca, "--ca", str)
    if options.cert is not None:
        with _usable("--cert", options.cert):
            context.load_cert_chain(options.cert, password=lambda: "")
    return context


def _context(trusted: str | Path | None, option: str, chosen: Callable[[str], str]) -> ssl.SSLContext:
    if trusted is None:
        return ssl.create_default_context()
    with _usable(option, trusted):
        return ssl.create_default_context(cadata=chosen(Path(trusted).read_text()))


def _first(chain: str) -> str:
    """The server's own certificate, without those of its authorities: others of theirs are not meant."""
    begin, end = chain.find("-----BEGIN CERT"), chain.find("-----END CERTIFICATE-----")
    return chain[begin:end] + "-----END CERTIFICATE-----\n"


@contextlib.contextmanager
def _usable(option: str, path: str | Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = "it is not in PEM format, or the key is missing or encrypted"
        if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
            why = error.strerror or str(error)
        raise ConfigError(
            "a certificate cannot be used",
            where=f"{option} {path}",
            why=why,
            todo="--ca and --cert take PEM files; the file of --cert also has its key, not encrypted",
        ) from None
