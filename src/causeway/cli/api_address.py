"""Where a command finds the API of a running process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from causeway.config import WebSettings, secrets
from causeway.config.observability import PORT
from causeway.errors import Unreachable, UsageError

REMEDY = (
    "does the mirror run? `[web]` (enabled, host, port) must be the same there and here; otherwise give its"
    " address with --url. `causeway offsets show CONFIG` reads the ledger without a running mirror"
)
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""A server on a wildcard address listens on the loopback address too."""


@dataclass(frozen=True)
class ApiOptions:
    """`--url`, `--ca` and `--cert`."""

    url: str | None = None
    ca: Path | None = None
    cert: Path | None = None


def address_of(web: WebSettings, url: str | None) -> str:
    """The URL of the process that runs this configuration. Raises Unreachable if it cannot be known."""
    if url is not None:
        return _checked(url)
    if not web.enabled:
        raise Unreachable("the mirror does not serve its API", where="[web] enabled = false", todo=REMEDY)
    if web.port == 0:
        raise Unreachable(
            "the mirror serves on any free port, which is not known here",
            where="[web] port = 0",
            todo="give its address with --url: `causeway run` prints it in its first lines",
        )
    host = WILDCARDS.get(web.host, web.host)
    scheme = "https" if web.tls else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{web.port or PORT}"


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if valid and "@" in parts.netloc:
        # Not repeated: it may be a password.
        raise UsageError("--url: must not have a user or a password; the token is `token` under [web]")
    if not valid or parts.query or parts.fragment or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"--url {secrets.redact('url', url)}: must be like http://127.0.0.1:{PORT}")
    return url.rstrip("/")
