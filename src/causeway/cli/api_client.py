"""Client of a running process's API (docs/api.md). Each failure is a CausewayError with a one-line reason."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping, Set
from typing import Any, NoReturn, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from causeway.config import WebSettings
from causeway.config.observability import PORT
from causeway.errors import AccessDenied, CausewayError, ConfigError, Unreachable, UsageError

SECONDS = 5.0
ALL = "999999999"
ANSWER_BYTES = 64 * 1024 * 1024
REMEDY = (
    "does the mirror run? `[web]` must say the same there as here (enabled, host, port), or --url where it"
    " serves; `causeway offsets show CONFIG` reads the ledger without a running mirror"
)
PROCESS_FIELDS = {"now", "version", "host", "pid", "started_at", "findings", "rpo", "mirrors"}
FINDING_FIELDS = {"level", "what", "todo", "mirror"}
MIRROR_FIELDS = {
    "name", "state", "state_since", "findings", "rpo", "catch_up", "records_per_second", "bytes_per_second",
    "lag_records", "lag_seconds", "p50_ms", "p99_ms", "delivered", "quarantined", "standing", "shards",
    "gaps", "waiting_for", "paused_by",
}  # fmt: skip
"""The fields this client relies on. A response without them does not come from Causeway."""
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""A server on a wildcard address listens on the loopback address too."""


class _Stay(HTTPRedirectHandler):
    """Follows no redirect: the token is for the named address only."""

    def redirect_request(self, *_: Any) -> None:
        return None


# No proxy: 127.0.0.1 would mean the proxy's machine.
_OPENER = build_opener(ProxyHandler({}), _Stay)


def address_of(web: WebSettings, url: str | None) -> str:
    """The URL of the process that runs this configuration. Raises Unreachable if it cannot be known."""
    if url is not None:
        return _checked(url)
    if not web.enabled:
        raise Unreachable("the mirror serves nothing to ask", where="[web] enabled = false", todo=REMEDY)
    if web.port == 0:
        raise Unreachable(
            "the mirror serves on any free port, and nobody knows here on which",
            where="[web] port = 0",
            todo="--url: `causeway run` says in its first lines where it serves",
        )
    host = ANYWHERE.get(web.host, web.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{web.port or PORT}"


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine or parts.query or parts.fragment or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"--url {url}: must be like http://127.0.0.1:{PORT}")
    return url.rstrip("/")


class ApiClient:
    """The API at an address. Raises a CausewayError when a request fails."""

    def __init__(self, address: str, token: str = "") -> None:
        self.address = address
        self._token = token

    def mirrors(self) -> dict[str, Any]:
        """The process and all its mirrors, as returned by `/api/v1/mirrors`."""
        answer = self._ask("/mirrors")
        ours = answer.keys() >= PROCESS_FIELDS and _have(answer["findings"], FINDING_FIELDS)
        if not ours or not answer["findings"] or not _have(answer["mirrors"], MIRROR_FIELDS):
            self._not_ours("its answer is not the one of Causeway's API")
        return answer

    def shards(self, mirror: str) -> list[dict[str, Any]]:
        return self._list(mirror, "shards")

    def standing(self, mirror: str) -> list[dict[str, Any]]:
        """Stopped partitions."""
        found = self._list(mirror, "partitions", q="stopped", order="lag", limit=ALL)
        return [one for one in found if one["verdict"]]  # `q` matches topic names too

    def events(self, mirror: str, limit: int) -> list[dict[str, Any]]:
        return self._list(mirror, "events", limit=str(limit))

    def gaps(self, mirror: str) -> list[dict[str, Any]]:
        """All gaps ever recorded, latest first."""
        return self._list(mirror, "gaps", limit=ALL)

    def act(self, mirror: str, action: str, by: str) -> None:
        """Request the action. It may not have taken effect when this returns."""
        if not self._token.isprintable():
            raise ConfigError("the token has characters that cannot be sent", where="[web] token")
        self._ask(f"/mirrors/{quote(mirror, safe='')}/{action}", json.dumps({"by": by}).encode())

    def _list(self, mirror: str, part: str, **query: str) -> list[dict[str, Any]]:
        asked = f"?{urlencode(query)}" if query else ""
        found = self._ask(f"/mirrors/{quote(mirror, safe='')}/{part}{asked}").get(part)
        if not _have(found, set()):
            self._not_ours("its answer is not the one of Causeway's API")
        return cast(list[dict[str, Any]], found)

    def _ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        headers = {"Accept": "application/json"}
        if body is not None:
            # http.client encodes headers as Latin-1: this sends the token's UTF-8 bytes.
            bearer = f"Bearer {self._token}".encode().decode("latin-1")
            headers |= {"Content-Type": "application/json", "Authorization": bearer}
        request = Request(f"{self.address}/api/v1{path}", body, headers)
        try:
            with _opened(request) as response:
                code, told, raw = response.status, _lower(response.headers), _read(response)
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            self._silent(error)
        if 300 <= code < 400:
            self._elsewhere(code, told)
        answer = self._understood(code, told, raw)
        if code >= 400:
            self._refused(code, answer)
        return answer

    def _understood(self, code: int, headers: Mapping[str, str], raw: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(raw)
        except ValueError:
            kind = headers.get("content-type", "").partition(";")[0] or "nothing that is known"
            self._not_ours(f"it answers with {kind} (HTTP {code}), not with JSON")
        if not isinstance(answer, dict):
            self._not_ours("its answer is not the one of Causeway's API")
        return answer

    def _elsewhere(self, code: int, headers: Mapping[str, str]) -> NoReturn:
        raise Unreachable(
            "what answers there leads elsewhere",
            where=self.address,
            why=f"HTTP {code} to {headers.get('location', '?')}",
            todo="--url with the address where Causeway itself serves",
        )

    def _refused(self, code: int, answer: Mapping[str, Any]) -> NoReturn:
        if not isinstance(answer.get("error"), str):
            self._not_ours(f"it answers with HTTP {code}")
        what, todo = answer["error"], str(answer.get("todo") or "")
        if code in (401, 403):
            raise AccessDenied(
                what,
                where=self.address,
                todo=todo or "`token` under [web] must be the one it was started with",
            )
        # Causeway's API gives a reason with each 4xx; a 5xx is a bug in that process.
        raise (CausewayError if code >= 500 else UsageError)(what, where=self.address, todo=todo)

    def _silent(self, error: Exception) -> NoReturn:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, http.client.HTTPException) and not isinstance(
            reason, OSError | http.client.IncompleteRead
        ):
            self._not_ours("it does not speak HTTP")
        why = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        raise Unreachable("no mirror answers", where=self.address, why=why, todo=REMEDY) from None

    def _not_ours(self, why: str) -> NoReturn:
        raise Unreachable(
            "what answers there is not Causeway",
            where=self.address,
            why=why,
            todo="another program has that port: --url where the mirror serves, or another `port` in [web]",
        ) from None


def _opened(request: Request) -> Any:
    try:
        return _OPENER.open(request, timeout=SECONDS)
    except HTTPError as error:
        return error  # an error status is a response too


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _have(found: object, names: Set[str]) -> bool:
    """Whether it is a list of objects with these fields."""
    return isinstance(found, list) and all(isinstance(one, dict) and one.keys() >= names for one in found)


def _read(response: Any) -> bytes:
    """The whole body, limited in size and in time."""
    deadline = time.monotonic() + SECONDS
    found = b""
    while some := response.read1(1024 * 1024):
        found += some
        if len(found) > ANSWER_BYTES or time.monotonic() > deadline:
            raise TimeoutError("the answer does not end")
    return found
