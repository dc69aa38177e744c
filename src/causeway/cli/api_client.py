"""Client of a running process's API (docs/api.md). Each failure is a CausewayError with a one-line reason."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from pydantic import ValidationError

from causeway.cli.api_address import REMEDY, ApiOptions, address_of
from causeway.cli.api_tls import tls_context
from causeway.config import WebSettings
from causeway.errors import AccessDenied, CausewayError, ConfigError, Unreachable, UsageError
from causeway.web.api_schema import (
    ApiAccepted,
    ApiError,
    ApiEvent,
    ApiEventList,
    ApiGap,
    ApiGapList,
    ApiModel,
    ApiPartition,
    ApiPartitionList,
    ApiProcess,
    ApiShard,
    ApiShardList,
)

SECONDS = 5.0
ALL = "999999999"
RESPONSE_BYTES = 64 * 1024 * 1024
NOT_OUR_SCHEMA = "its response does not match Causeway's API"
Model = TypeVar("Model", bound=ApiModel)


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect: the token is for the named address only."""

    def redirect_request(self, *_: Any) -> None:
        return None


def api_of(web: WebSettings, options: ApiOptions) -> ApiClient:
    """The API of the process that runs this configuration."""
    address = address_of(web, options.url)
    context = tls_context(web, options) if address.startswith("https:") else None
    return ApiClient(address, web.token, context)


class ApiClient:
    """The API at an address. Raises a CausewayError when a request fails."""

    def __init__(self, address: str, token: str = "", context: ssl.SSLContext | None = None) -> None:
        self.address = address
        self._token = token
        self._reads_with_token = False
        self._opener = _opener(context)

    def process(self) -> ApiProcess:
        """The process and all its mirrors: `/api/v1/mirrors`."""
        return self._get(ApiProcess, "/mirrors")

    def shards(self, mirror: str) -> list[ApiShard]:
        return self._get(ApiShardList, _path(mirror, "shards")).shards

    def stopped_partitions(self, mirror: str) -> list[ApiPartition]:
        query = {"q": "stopped", "order": "lag", "limit": ALL}
        partitions = self._get(ApiPartitionList, _path(mirror, "partitions", query)).partitions
        return [partition for partition in partitions if partition.verdict]  # `q` matches topic names too

    def events(self, mirror: str, limit: int) -> list[ApiEvent]:
        return self._get(ApiEventList, _path(mirror, "events", {"limit": str(limit)})).events

    def gaps(self, mirror: str) -> list[ApiGap]:
        """All gaps ever recorded, latest first."""
        return self._get(ApiGapList, _path(mirror, "gaps", {"limit": ALL})).gaps

    def act(self, mirror: str, action: str, by: str, **more: object) -> ApiAccepted:
        """Request the action. It may not have taken effect when this returns."""
        body = json.dumps({"by": by, **more}).encode()
        return self._parsed(ApiAccepted, self._request(_path(mirror, action), body))

    def _get(self, model: type[Model], path: str) -> Model:
        return self._parsed(model, self._request(path))

    def _parsed(self, model: type[Model], raw: bytes) -> Model:
        try:
            return model.model_validate_json(raw)
        except ValidationError:
            self._not_causeway(NOT_OUR_SCHEMA)

    def _request(self, path: str, body: bytes | None = None) -> bytes:
        """The body of a successful JSON response. The token is sent only where it is needed."""
        headers = {"Accept": "application/json"}
        if body is not None:
            headers |= {"Content-Type": "application/json"}
        if body is not None or self._reads_with_token:
            headers |= {"Authorization": self._bearer()}
        request = Request(f"{self.address}/api/v1{path}", body, headers)
        try:
            with _opened(self._opener, request) as response:
                code, received, raw = response.status, _lower(response.headers), _read(response)
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            self._no_response(error)
        if code == 401 and self._token and "Authorization" not in headers:
            self._reads_with_token = True
            return self._request(path, body)
        if 300 <= code < 400:
            self._redirected(code, received)
        self._check_json(code, received, raw)
        if code >= 400:
            self._rejected(code, raw)
        return raw

    def _bearer(self) -> str:
        if not self._token.isprintable():
            raise ConfigError("the token has characters that cannot be sent", where="[web] token")
        # http.client encodes headers as Latin-1: this sends the token's UTF-8 bytes.
        return f"Bearer {self._token}".encode().decode("latin-1")

    def _check_json(self, code: int, headers: Mapping[str, str], raw: bytes) -> None:
        try:
            json.loads(raw)
        except (ValueError, RecursionError):
            kind = headers.get("content-type", "").partition(";")[0] or "an unknown content type"
            self._not_causeway(f"it returns {kind} (HTTP {code}), not JSON")

    def _redirected(self, code: int, headers: Mapping[str, str]) -> NoReturn:
        raise Unreachable(
            "this address redirects to another one",
            where=self.address,
            why=f"HTTP {code} to {headers.get('location', '?')}",
            todo="give the address of Causeway itself with --url",
        )

    def _rejected(self, code: int, raw: bytes) -> NoReturn:
        try:
            error = ApiError.model_validate_json(raw)
        except ValidationError:
            self._not_causeway(f"it returns HTTP {code}")
        if code in (401, 403):
            raise AccessDenied(
                error.error,
                where=self.address,
                todo=error.todo or "`token` under [web] must be the one that the process was started with",
            )
        # Causeway's API gives a reason with each 4xx; a 5xx is a bug in that process.
        raise (CausewayError if code >= 500 else UsageError)(error.error, where=self.address, todo=error.todo)

    def _no_response(self, error: Exception) -> NoReturn:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise AccessDenied(
                "the certificate is not trusted",
                where=self.address,
                why=reason.verify_message,
                todo="give the authority's certificate with --ca, and the name in the certificate with --url",
            ) from None
        if isinstance(reason, ssl.SSLError):
            self._not_encrypted(reason)
        if isinstance(reason, http.client.HTTPException) and not isinstance(
            reason, OSError | http.client.IncompleteRead
        ):
            self._not_causeway("it does not speak HTTP")
        why = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        raise Unreachable("no mirror responds", where=self.address, why=why, todo=REMEDY) from None

    def _not_encrypted(self, error: ssl.SSLError) -> NoReturn:
        """A handshake failed: no TLS there, or the server wants a certificate of ours."""
        why = (error.reason or str(error)).replace("_", " ").lower()
        if "certificate" in why:
            raise AccessDenied(
                "a client certificate is needed", where=self.address, why=why, todo="give it with --cert"
            ) from None
        self._not_causeway(f"it does not speak TLS ({why})")

    def _not_causeway(self, why: str) -> NoReturn:
        raise Unreachable(
            "another program responds there, not Causeway",
            where=self.address,
            why=why,
            todo="give the mirror's address with --url, or set another `port` in [web]",
        ) from None


def _path(mirror: str, part: str, query: Mapping[str, str] | None = None) -> str:
    return f"/mirrors/{quote(mirror, safe='')}/{part}" + (f"?{urlencode(query)}" if query else "")


def _opener(context: ssl.SSLContext | None) -> OpenerDirector:
    # No proxy: 127.0.0.1 would mean the proxy's machine.
    return build_opener(ProxyHandler({}), _NoRedirect, HTTPSHandler(context=context))


def _opened(opener: OpenerDirector, request: Request) -> Any:
    try:
        return opener.open(request, timeout=SECONDS)
    except HTTPError as error:
        return error  # an error status is a response too


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _read(response: Any) -> bytes:
    """The whole body, limited in size and in time."""
    deadline = time.monotonic() + SECONDS
    body = b""
    while chunk := response.read1(1024 * 1024):
        body += chunk
        if len(body) > RESPONSE_BYTES or time.monotonic() > deadline:
            raise TimeoutError("the response does not end")
    return body
