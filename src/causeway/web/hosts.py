"""Checks Host and Origin: what a browser sends for a page of another site.

DNS rebinding: another site's name is made to resolve to this machine, so that its script reads the
responses. A name is accepted only if it is known; an IP address cannot be made to resolve to another one.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from causeway.web.rejections import rejected

ANY = "*"
LOCAL = "localhost"
SAFE_METHODS = ("GET", "HEAD")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
UNKNOWN_HOST = (
    "this host name is not allowed: add it to `allowed_hosts` under [web], or use the IP address instead"
)
OTHER_ORIGIN = "requests from pages of other sites are rejected"


class HostCheck:
    """Rejects requests whose Host is not allowed, and changes that a page of another site requests."""

    def __init__(self, app: ASGIApp, allowed: Iterable[str]) -> None:
        self._app = app
        self._allowed = {name.lower().rstrip(".") for name in allowed} | {LOCAL}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            try:
                self._check(request)
            except HTTPException as error:
                await (await rejected(request, error))(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, request: Request) -> None:
        hosts = request.headers.getlist("host")
        # Browsers always send it. Health checks of load balancers, in HTTP/1.0, may not.
        if not all(self._is_allowed(host) for host in hosts):
            raise HTTPException(400, UNKNOWN_HOST)
        if request.method not in SAFE_METHODS and not self._is_own(request, hosts):
            raise HTTPException(403, OTHER_ORIGIN)

    def _is_allowed(self, host: str) -> bool:
        """Whether it is an IP address, or a name that is allowed, with or without a port."""
        name = _name(host)
        return bool(name) and (ANY in self._allowed or name in self._allowed or _is_address(name))

    def _is_own(self, request: Request, hosts: list[str]) -> bool:
        """Programs send no Origin; browsers send it with each request that can change something."""
        own = [host.lower() for host in hosts]
        for origin in request.headers.getlist("origin"):
            _, _, host = origin.lower().partition("://")
            # A proxy may replace Host by its own name: then the origin's name must be allowed.
            if host not in own and (_name(host) not in self._allowed or _name(host) == LOCAL):
                return False
        return request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _name(host: str) -> str:
    """Without the port, or empty if it is not a host at all."""
    match = _HOST.fullmatch(host)
    return match[1].lower().rstrip(".") if match else ""


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
