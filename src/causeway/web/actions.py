"""Pause, resume, verify: the requests that change something. POST only, with the token.

The token is sent in a header, which another site's form or image cannot send: there is nothing to forge. The
page keeps the token in sessionStorage, and no cookie is ever set.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from causeway.web.api import mirror_of
from causeway.web.source import Source

NO_TOKEN = (
    "there is no token, so nothing can be changed from here: "
    'set `token = "${env:CAUSEWAY_TOKEN}"` under [web] in the configuration, and start again'
)
BODY_BYTES = 4_096
BODY_SECONDS = 5.0
"""A body is a name at most: a slower client gets a 408."""
BY_LENGTH = 100


class Actions:
    def __init__(self, source: Source, token: str) -> None:
        self._source = source
        self._token = token.encode()

    def routes(self) -> list[BaseRoute]:
        one = "/mirrors/{name}"
        return [
            Route(f"{one}/pause", self.pause, methods=["POST"]),
            Route(f"{one}/resume", self.resume, methods=["POST"]),
            Route(f"{one}/verify", self.verify, methods=["POST"]),
        ]

    async def pause(self, request: Request) -> Response:
        name, by = await self._allowed(request)
        await run_in_threadpool(self._source.pause, name, by)
        return JSONResponse({"mirror": name, "asked": "pause", "by": by}, 202)

    async def resume(self, request: Request) -> Response:
        name, by = await self._allowed(request)
        await run_in_threadpool(self._source.resume, name, by)
        return JSONResponse({"mirror": name, "asked": "resume", "by": by}, 202)

    async def verify(self, request: Request) -> Response:
        name, _ = await self._allowed(request)
        job = await run_in_threadpool(self._source.verify, name)
        return JSONResponse({"mirror": name, "asked": "verify", "job": job}, 202)

    async def _allowed(self, request: Request) -> tuple[str, str]:
        """The mirror and who asks. Checks the token first: without it a client learns nothing."""
        self._admit(request.headers)
        by = _by(await _body(request)) or f"somebody at {request.client.host if request.client else '?'}"
        return mirror_of(self._source, request.path_params["name"]).name, by

    def _admit(self, headers: Mapping[str, str]) -> None:
        if not self._token:
            raise HTTPException(403, NO_TOKEN)
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not sent:
            raise HTTPException(
                401, "this needs the token: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"}
            )
        if not hmac.compare_digest(sent.strip().encode("latin-1"), self._token):
            raise HTTPException(403, "this is not the token")


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > BODY_BYTES:
                    raise HTTPException(413, f"the body may have {BODY_BYTES:,} bytes")
    except TimeoutError:
        raise HTTPException(408, f"the body did not come within {BODY_SECONDS:.0f} s") from None
    except ClientDisconnect:
        raise HTTPException(400, "the client hung up before the end of its body") from None
    return body


def _by(body: bytes) -> str:
    """Who asks, as given by the client, for people to read; printable characters only."""
    if not body:
        return ""
    try:
        given = json.loads(body)
    except ValueError:
        raise HTTPException(400, "the body is not JSON") from None
    by = given.get("by", "") if isinstance(given, dict) else None
    if not isinstance(by, str):
        raise HTTPException(400, 'the body is {"by": "who asks"}, or nothing')
    return "".join(sign for sign in by if sign.isprintable()).strip()[:BY_LENGTH]
