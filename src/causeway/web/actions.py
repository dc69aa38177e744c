"""Pause, resume, verify, failover: the requests that change something. POST only, with the token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from causeway.web.access import Access
from causeway.web.api import find_mirror
from causeway.web.api_schema import ApiAccepted
from causeway.web.json_model import JsonModel
from causeway.web.source import Source

BODY_BYTES = 4_096
BODY_SECONDS = 5.0
"""A body is a name at most: a client that takes longer gets a 408."""
BY_LENGTH = 100
FAILOVER = {"pool": "", "node": "", "force": False}


class Actions:
    def __init__(self, source: Source, access: Access) -> None:
        self._source = source
        self._access = access

    def routes(self) -> list[BaseRoute]:
        mirror = "/mirrors/{name}"
        return [
            Route(f"{mirror}/pause", self.pause, methods=["POST"]),
            Route(f"{mirror}/resume", self.resume, methods=["POST"]),
            Route(f"{mirror}/failover", self.failover, methods=["POST"]),
            Route(f"{mirror}/verify", self.verify, methods=["POST"]),
        ]

    async def pause(self, request: Request) -> Response:
        name, by, _ = await self._allowed(request)
        await run_in_threadpool(self._source.pause, name, by)
        return JsonModel(ApiAccepted(mirror=name, action="pause", by=by), 202)

    async def resume(self, request: Request) -> Response:
        name, by, _ = await self._allowed(request)
        await run_in_threadpool(self._source.resume, name, by)
        return JsonModel(ApiAccepted(mirror=name, action="resume", by=by), 202)

    async def failover(self, request: Request) -> Response:
        name, by, given = await self._allowed(request)
        pool, node, force = (given.get(key, default) for key, default in FAILOVER.items())
        if not isinstance(pool, str) or not isinstance(node, str) or not isinstance(force, bool):
            raise HTTPException(400, '"pool" and "node" must be names, and "force" true or false')
        at = await run_in_threadpool(self._source.failover, name, pool, node, by, force=force)
        return JsonModel(ApiAccepted(mirror=name, action="failover", by=by, request=at), 202)

    async def verify(self, request: Request) -> Response:
        name, by, _ = await self._allowed(request)
        job = await run_in_threadpool(self._source.verify, name)
        return JsonModel(ApiAccepted(mirror=name, action="verify", by=by, job=job), 202)

    async def _allowed(self, request: Request) -> tuple[str, str, Mapping[str, Any]]:
        """The mirror, who requests it, and the whole body.

        Checks the token first: without it a client learns nothing.
        """
        await self._access.check_action(request.headers)
        given = _given(await _body(request))
        by = _by(given) or f"a client at {request.client.host if request.client else '?'}"
        return find_mirror(self._source, request.path_params["name"]).name, by, given


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > BODY_BYTES:
                    raise HTTPException(413, f"the body is larger than {BODY_BYTES:,} bytes")
    except TimeoutError:
        raise HTTPException(408, f"the body did not arrive within {BODY_SECONDS:.0f} s") from None
    except ClientDisconnect:
        raise HTTPException(400, "the client closed the connection before the end of its body") from None
    return body


def _given(body: bytes) -> Mapping[str, Any]:
    if not body:
        return {}
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    return given if isinstance(given, dict) else {"by": None}


def _by(given: Mapping[str, Any]) -> str:
    """Who requests it, as given by the client; printable characters only."""
    by = given.get("by", "")
    if not isinstance(by, str):
        raise HTTPException(400, 'the body must be {"by": "your name"}, or empty')
    return "".join(character for character in by if character.isprintable()).strip()[:BY_LENGTH]
