"""The web application: every route, and what all responses have in common."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from causeway.errors import CausewayError
from causeway.web import api_responses
from causeway.web.actions import NO_TOKEN, Actions
from causeway.web.api import Api, JsonModel
from causeway.web.api_schema import ApiError
from causeway.web.headers import HEADERS, SecurityHeaders
from causeway.web.health import Health
from causeway.web.source import Source
from causeway.web.stream import Feed, clock

HERE = Path(__file__).parent
EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


def application(
    source: Source, token: str = "", hosts: Sequence[str] = (), now: Callable[[], int] = clock
) -> Starlette:
    """The page, the API, the metrics and the probes over a source.

    Without a token nothing can be changed. `hosts`: the only host names it responds to, if given; this stops
    DNS rebinding, where another site's name resolves to this machine.
    """
    feed = Feed(source, now)
    health = Health(source, now)
    names = (
        [Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)] if hosts else []
    )
    pages = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)

    async def page(request: Request) -> Response:
        status = api_responses.process(source.snapshot(), feed.history, now())
        template = pages.get_template("page.html")
        return HTMLResponse(template.render(dict(status), no_token="" if token else NO_TOKEN))

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
            Route("/metrics", metrics),
            Route("/livez", health.livez),
            Route("/readyz", health.readyz),
            Route("/startupz", health.startupz),
            Mount("/api/v1", routes=[*Api(source, feed).routes(), *Actions(source, token).routes()]),
            Mount("/static", Files(directory=HERE / "static")),
        ],
        middleware=[Middleware(SecurityHeaders), *names],
        exception_handlers={HTTPException: _rejected, CausewayError: _impossible, Exception: _bug},
        lifespan=lifespan,
    )
    app.state.feed = feed
    return app


class Files(StaticFiles):
    """Revalidated on every request: a new version's page never runs with an old version's script."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


async def _rejected(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = JsonModel(ApiError(error=error.detail, todo=""), error.status_code)
    response.headers.update(error.headers or {})
    return response


async def _impossible(request: Request, error: Exception) -> Response:
    assert isinstance(error, CausewayError)
    return JsonModel(ApiError(error=str(error), todo=error.todo), 409)


async def _bug(request: Request, error: Exception) -> Response:
    # Runs outside of the middleware, so it sets the headers itself.
    response = JsonModel(ApiError(error="this is a bug: see the log of the process", todo=""), 500)
    response.headers.update(HEADERS)
    return response
