"""Everything on the page as JSON, for programs. docs/api.md lists every route."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from causeway.core.snapshot import MirrorView
from causeway.web import api_responses, pool_responses
from causeway.web.api_schema import ApiConfiguration, ApiEventList, ApiShardList
from causeway.web.json_model import JsonModel
from causeway.web.source import Source
from causeway.web.stream import Feed

LIMIT = 1_000


class Api:
    def __init__(self, source: Source, feed: Feed) -> None:
        self._source = source
        self._feed = feed

    def routes(self) -> list[BaseRoute]:
        """Relative to `/api/v1`."""
        mirror = "/mirrors/{name}"
        return [
            Route("/mirrors", self.mirrors),
            Route(mirror, self.mirror),
            Route(f"{mirror}/layout", self.layout),
            Route(f"{mirror}/partitions", self.partitions),
            Route(f"{mirror}/shards", self.shards),
            Route(f"{mirror}/events", self.events),
            Route(f"{mirror}/gaps", self.gaps),
            Route(f"{mirror}/node-lags", self.node_lags),
            Route(f"{mirror}/configuration", self.configuration),
            Route("/history", self.history),
            Route("/jobs/{id}", self.job),
            Route("/stream", self._feed.stream, methods=["GET"]),
        ]

    async def mirrors(self, request: Request) -> Response:
        snapshot = self._source.snapshot()
        return JsonModel(api_responses.process(snapshot, self._feed.history, self._feed.now()))

    async def mirror(self, request: Request) -> Response:
        view = self._requested(request)
        return JsonModel(api_responses.mirror_detail(view, self._feed.history, self._feed.now()))

    async def layout(self, request: Request) -> Response:
        return JsonModel(api_responses.layout(self._requested(request)))

    async def partitions(self, request: Request) -> Response:
        order = request.query_params.get("order", "name")
        if order not in ("name", "lag"):
            raise HTTPException(400, "order must be name or lag")
        text = request.query_params.get("q", "")
        return JsonModel(api_responses.partitions(self._requested(request), text, order, _limit(request)))

    async def shards(self, request: Request) -> Response:
        now = self._feed.now()
        shards = [api_responses.shard(view, now) for view in self._requested(request).shards]
        return JsonModel(ApiShardList(shards=shards))

    async def events(self, request: Request) -> Response:
        latest = self._requested(request).events[: _limit(request)]
        return JsonModel(ApiEventList(events=[api_responses.event(view) for view in latest]))

    async def gaps(self, request: Request) -> Response:
        return JsonModel(api_responses.gaps(self._requested(request).gaps, _limit(request)))

    async def node_lags(self, request: Request) -> Response:
        return JsonModel(pool_responses.node_lags(self._requested(request), _limit(request)))

    async def configuration(self, request: Request) -> Response:
        return JsonModel(ApiConfiguration(configuration=self._requested(request).configuration))

    async def history(self, request: Request) -> Response:
        mirror = find_mirror(self._source, request.query_params.get("mirror", ""))
        return JsonModel(api_responses.history_of(mirror, self._feed.history, _number(request, "since", 0)))

    async def job(self, request: Request) -> Response:
        job = await run_in_threadpool(self._source.job, request.path_params["id"])
        if job is None:
            raise HTTPException(404, "no job has this id")
        return JsonModel(api_responses.job(job))

    def _requested(self, request: Request) -> MirrorView:
        return find_mirror(self._source, request.path_params["name"])


def find_mirror(source: Source, name: str) -> MirrorView:
    """The current view of this mirror; 404 if this process has none of this name."""
    for mirror in source.snapshot().mirrors:
        if mirror.name == name:
            return mirror
    raise HTTPException(404, "no mirror has this name")


def _limit(request: Request) -> int:
    return _number(request, "limit", LIMIT)


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, str(default))
    if not given.isascii() or not given.isdigit() or len(given) > 15:
        raise HTTPException(400, f"{name} must be a whole number")
    return int(given)
