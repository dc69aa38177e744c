"""Who may read and who may change something: a bearer token in a header, compared in constant time.

Another site's form or image cannot send the header: there is nothing to forge. The page keeps the token in
sessionStorage, and no cookie is ever set. Every path needs the token unless it is listed here as open.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from causeway.web.rejections import rejected

NO_TOKEN = (
    "no token is configured, so actions are disabled: "
    'set `token = "${env:CAUSEWAY_TOKEN}"` under [web] in the configuration, and restart'
)
NO_TOKEN_TO_READ = (
    "reading needs a token on this address, and none is configured: "
    'set `token = "${env:CAUSEWAY_TOKEN}"` under [web] in the configuration, and restart'
)
MISSING = "the token is missing: Authorization: Bearer …"
WRONG = "the token is wrong"
WRONG_SECONDS = 1.0
"""Delay of the response to a wrong token. It limits guesses; no client is locked out by those of another."""

METRICS = "/metrics"
PROBES = ("/livez", "/readyz", "/startupz")
OPEN = ("/", *PROBES)
"""The page without its data, and the probes, which give their reasons to clients with the token alone."""
FILES = "/static/"


@dataclass(frozen=True)
class Access:
    """`private`: reading needs the token too. `metrics_token` reads the metrics and nothing else."""

    token: str = field(default="", repr=False)
    private: bool = False
    metrics_token: str = field(default="", repr=False)
    metrics_public: bool = False

    async def check_action(self, headers: Mapping[str, str]) -> None:
        """Raises HTTPException without the token."""
        await self._check(headers, (self.token,), NO_TOKEN)

    async def check_reading(self, path: str, headers: Mapping[str, str]) -> None:
        """The same for a path that is read."""
        if path in OPEN or path.startswith(FILES):
            return
        if path == METRICS:
            if not self.metrics_public and (self.private or self.metrics_token):
                await self._check(headers, (self.token, self.metrics_token), NO_TOKEN_TO_READ)
        elif self.private:
            await self._check(headers, (self.token,), NO_TOKEN_TO_READ)

    def shows_reasons(self, headers: Mapping[str, str]) -> bool:
        """Whether a probe may give its reasons, which name topics."""
        return not self.private or _matches(_bearer(headers), (self.token,))

    async def _check(self, headers: Mapping[str, str], tokens: tuple[str, ...], none: str) -> None:
        if not any(tokens):
            raise HTTPException(403, none)
        sent = _bearer(headers)
        if not sent:
            raise HTTPException(401, MISSING, {"WWW-Authenticate": "Bearer"})
        if not _matches(sent, tokens):
            await asyncio.sleep(WRONG_SECONDS)
            raise HTTPException(403, WRONG)


CLOSED = Access()
"""Whoever reaches the address may read; nothing can be changed."""


class TokenCheck:
    """Rejects requests without the token that they need, before they reach a route."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            try:
                await self._access.check_reading(scope["path"], request.headers)
            except HTTPException as error:
                await (await rejected(request, error))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _bearer(headers: Mapping[str, str]) -> bytes:
    """The token that was sent, in the bytes that were sent; empty if there is none."""
    scheme, _, sent = headers.get("authorization", "").partition(" ")
    return sent.strip().encode("latin-1") if scheme.lower() == "bearer" else b""


def _matches(sent: bytes, tokens: tuple[str, ...]) -> bool:
    """Compares digests, so that the time shows not even a token's length."""
    digest = hashlib.sha256(sent).digest()
    known = [hashlib.sha256(token.encode()).digest() for token in tokens if token]
    return any(hmac.compare_digest(digest, other) for other in known)
