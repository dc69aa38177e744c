"""The web application: every route, and what all responses have in common."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from causeway.errors import CausewayError
from causeway.web import api_responses
from causeway.web.access import CLOSED, METRICS, NO_TOKEN, NO_TOKEN_TO_READ, Access, TokenCheck
from causeway.web.actions import Actions
from causeway.web.api import Api
from causeway.web.api_schema import ApiFinding
from causeway.web.headers import SecurityHeaders
from causeway.web.health import Health
from causeway.web.hosts import HostCheck
from causeway.web.rejections import bug, impossible, rejected
from causeway.web.source import Source
from causeway.web.stream import Feed, clock

HERE = Path(__file__).parent
EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


def application(
    source: Source, access: Access = CLOSED, hosts: Sequence[str] = (), now: Callable[[], int] = clock
) -> Starlette:
    """The page, the API, the metrics and the probes over a source.

    `hosts`: the names that it responds to, besides IP addresses and localhost.
    """
    feed = Feed(source, now)
    health = Health(source, access, now)
    pages = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)

    async def page(request: Request) -> Response:
        template = pages.get_template("page.html")
        no_token = "" if access.token else NO_TOKEN
        if access.private:
            return HTMLResponse(template.render(_without_data(access), no_token=no_token))
        status = api_responses.process(source.snapshot(), feed.history, now())
        return HTMLResponse(template.render(dict(status), no_token=no_token))

    async def metrics(request: Request) -> Response:
        return Response(await run_in_threadpool(source.metrics), media_type=EXPOSITION)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        snapshots = asyncio.create_task(feed.run())
        yield
        snapshots.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await snapshots

    app = Starlette(
        routes=[
            Route("/", page),
            Route(METRICS, metrics),
            Route("/livez", health.livez),
            Route("/readyz", health.readyz),
            Route("/startupz", health.startupz),
            Mount("/api/v1", routes=[*Api(source, feed).routes(), *Actions(source, access).routes()]),
            Mount("/static", Files(directory=HERE / "static")),
        ],
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(HostCheck, allowed=hosts),
            Middleware(TokenCheck, access=access),
        ],
        exception_handlers={HTTPException: rejected, CausewayError: impossible, Exception: bug},
        lifespan=lifespan,
    )
    app.state.feed = feed
    return app


def _without_data(access: Access) -> dict[str, Any]:
    """The page as anyone may load it: it asks for the token, and then for the data."""
    what = "Enter the token to see the mirrors." if access.token else NO_TOKEN_TO_READ
    finding = ApiFinding(level="notice", what=what, todo="", mirror="")
    return {"private": "token" if access.token else "not configured", "findings": [finding], "mirrors": []}


class Files(StaticFiles):
    """Revalidated on every request: a new version's page never runs with an old version's script."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response
