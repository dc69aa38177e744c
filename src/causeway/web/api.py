"""Everything on the page as JSON, for programs. docs/api.md lists every route."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from causeway.core.snapshot import MirrorView
from causeway.web import api_schema
from causeway.web.source import Source
from causeway.web.stream import Feed

LIMIT = 1_000


class Api:
    def __init__(self, source: Source, feed: Feed) -> None:
        self._source = source
        self._feed = feed

    def routes(self) -> list[BaseRoute]:
        """Relative to `/api/v1`."""
        one = "/mirrors/{name}"
        return [
            Route("/mirrors", self.mirrors),
            Route(one, self.mirror),
            Route(f"{one}/layout", self.layout),
            Route(f"{one}/partitions", self.partitions),
            Route(f"{one}/shards", self.shards),
            Route(f"{one}/events", self.events),
            Route(f"{one}/gaps", self.gaps),
            Route(f"{one}/configuration", self.configuration),
            Route("/history", self.history),
            Route("/jobs/{id}", self.job),
            Route("/stream", self._feed.stream, methods=["GET"]),
        ]

    async def mirrors(self, request: Request) -> Response:
        return JSONResponse(
            api_schema.overview(self._source.snapshot(), self._feed.history, self._feed.now())
        )

    async def mirror(self, request: Request) -> Response:
        return JSONResponse(api_schema.detail(self._asked(request), self._feed.history, self._feed.now()))

    async def layout(self, request: Request) -> Response:
        return JSONResponse({"partitions": api_schema.layout(self._asked(request))})

    async def partitions(self, request: Request) -> Response:
        order = request.query_params.get("order", "name")
        if order not in ("name", "lag"):
            raise HTTPException(400, "order is name or lag")
        text = request.query_params.get("q", "")
        return JSONResponse(api_schema.partitions(self._asked(request), text, order, _limit(request)))

    async def shards(self, request: Request) -> Response:
        now = self._feed.now()
        return JSONResponse({"shards": [api_schema.shard(one, now) for one in self._asked(request).shards]})

    async def events(self, request: Request) -> Response:
        latest = self._asked(request).events[: _limit(request)]
        return JSONResponse({"events": [api_schema.event(one) for one in latest]})

    async def gaps(self, request: Request) -> Response:
        gaps = self._asked(request).gaps
        shown = [api_schema.gap(one) for one in gaps[: _limit(request)]]
        return JSONResponse({"total": len(gaps), "gaps": shown})

    async def configuration(self, request: Request) -> Response:
        return JSONResponse({"configuration": self._asked(request).configuration})

    async def history(self, request: Request) -> Response:
        mirror = self._named(request.query_params.get("mirror", ""))
        since = _number(request, "since", 0)
        return JSONResponse({"mirror": mirror.name, **self._feed.history.series(mirror.name, since)})

    async def job(self, request: Request) -> Response:
        job = await run_in_threadpool(self._source.job, request.path_params["id"])
        if job is None:
            raise HTTPException(404, "there is no job of this id")
        return JSONResponse(api_schema.job(job))

    def _asked(self, request: Request) -> MirrorView:
        return self._named(request.path_params["name"])

    def _named(self, name: str) -> MirrorView:
        return mirror_of(self._source, name)


def mirror_of(source: Source, name: str) -> MirrorView:
    """The current view of this mirror; 404 if this process has none of this name."""
    for one in source.snapshot().mirrors:
        if one.name == name:
            return one
    raise HTTPException(404, "there is no mirror of this name")


def _limit(request: Request) -> int:
    return _number(request, "limit", LIMIT)


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, str(default))
    if not given.isascii() or not given.isdigit() or len(given) > 15:
        raise HTTPException(400, f"{name} is a whole number")
    return int(given)
