"""Requests to a schema registry: JSON over HTTP, with retries, deadlines, TLS and a login.

What goes wrong becomes one of four errors: RegistryDenied, RegistryUnreachable (no response, or one that no
registry gives), NotFound and Rejected (what this request asks for, not the registry, is the problem).
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from causeway.config import secrets
from causeway.core.schema import Registry
from causeway.errors import CausewayError, ConfigError, RegistryDenied, RegistryUnreachable

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
ATTEMPTS = 3
FIRST_BACKOFF_SECONDS = 0.2
MOST_BYTES = 64 * 1024 * 1024
_CHUNK = 64 * 1024
_NO_SUCH_RESOURCE = (404, 405, 501)
_HAS_DETAIL = 999
"""Registries say what they do not have in five digits: 40401 is a subject. Three are those of any server."""
_SHORTEST_SECRET = 4
_SAID = 500
"""Characters of a registry's own message that are repeated."""


class Rejected(CausewayError):
    """The registry does not do what this request asks for."""

    code = "registry-rejected"

    def __init__(self, what: str, status: int, **parts: str) -> None:
        super().__init__(what, **parts)
        self.status = status


class NotFound(Rejected):
    """The registry has no such subject, version or schema."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the login to another address."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


class RegistryRequests:
    def __init__(self, registry: Registry, pause: Callable[[float], None] = time.sleep) -> None:
        self.registry = registry
        self._pause = pause
        self._first = 0  # the URL that responded last
        context = registry.context
        self._prefix = f"/contexts/{quote(context, safe='')}" if context else ""

    def get(self, *path: object, **query: object) -> Any:
        return self._send("GET", path, query, None)

    def post(self, *path: object, body: Mapping[str, Any], **query: object) -> Any:
        return self._send("POST", path, query, body)

    def put(self, *path: object, body: Mapping[str, Any], **query: object) -> Any:
        return self._send("PUT", path, query, body)

    def delete(self, *path: object) -> Any:
        return self._send("DELETE", path, {}, None)

    def _send(
        self,
        method: str,
        path: tuple[object, ...],
        query: Mapping[str, object],
        body: Mapping[str, Any] | None,
    ) -> Any:
        """Ask the registry, each URL up to ATTEMPTS times. A request that was executed may be sent again."""
        target = "/".join(quote(str(part), safe="") for part in path)
        if query:
            target += f"?{urlencode(query)}"
        data = None if body is None else json.dumps(body).encode()
        urls = self.registry.urls
        backoff = FIRST_BACKOFF_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            for number in range(len(urls)):
                index = (self._first + number) % len(urls)
                try:
                    answer = self._ask(method, f"{urls[index].rstrip('/')}{self._prefix}/{target}", data)
                except RegistryUnreachable as error:
                    failure = error
                else:
                    self._first = index
                    return answer
            if attempt < ATTEMPTS:
                self._pause(backoff)
                backoff *= 2
        raise failure

    def _ask(self, method: str, url: str, data: bytes | None) -> Any:
        request = urllib.request.Request(url, data, self._headers(), method=method)
        deadline = time.monotonic() + self.registry.timeout
        where = f"{method} {url}"
        try:
            secured = [self._tls()] if url.startswith("https:") else []
            opener = urllib.request.build_opener(_NoRedirects(), *secured)
            with opener.open(request, timeout=self.registry.timeout) as response:
                content = _read(response, deadline)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error, where, deadline) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._unreachable(where, _why(error)) from None
        if not content:
            return None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._unreachable(
                where, "the response is no JSON: no schema registry is at this URL"
            ) from None

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": f"{CONTENT_TYPE}, application/json", "Content-Type": CONTENT_TYPE}
        login = self._login()
        if login:
            headers["Authorization"] = login[0]
        return headers

    def _login(self) -> list[str]:
        """The Authorization header, and each secret that is in it; nothing without a login."""
        registry = self.registry
        if registry.username:
            password = secrets.resolve(registry.password)
            pair = base64.b64encode(f"{secrets.resolve(registry.username)}:{password}".encode()).decode()
            return [f"Basic {pair}", pair, password]
        if not registry.token:
            return []
        token = secrets.resolve(registry.token)
        if not token.isascii() or not token.isprintable():
            raise ConfigError(
                "the token of a schema registry has characters that a header cannot have",
                where=f"[registries.{registry.alias}]",
            )
        return [f"Bearer {token}", token]

    def concealed(self, text: str) -> str:
        """What a server said, without the secrets that it may quote."""
        for secret in self._login():
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, secrets.HIDDEN)
        return text

    def _tls(self) -> urllib.request.HTTPSHandler:
        """Certificates are read for each request: renewed ones are used without a restart."""
        registry = self.registry
        try:
            context = ssl.create_default_context(cafile=secrets.resolve(registry.ca) or None)
            if registry.certificate:
                context.load_cert_chain(
                    secrets.resolve(registry.certificate),
                    secrets.resolve(registry.key) or None,
                    secrets.resolve(registry.key_password),
                )
        except OSError as error:  # ssl.SSLError is one
            raise ConfigError(
                "the certificates of a schema registry cannot be used",
                where=f"[registries.{registry.alias}.tls]",
                why=_why(error),
            ) from None
        return urllib.request.HTTPSHandler(context=context)

    def _refusal(self, error: urllib.error.HTTPError, where: str, deadline: float) -> CausewayError:
        """What a response with an error status means."""
        try:
            body = json.loads(_read(error, deadline))
        except (OSError, http.client.HTTPException, ValueError, RecursionError):
            body = None
        known = isinstance(body, dict) and isinstance(body.get("error_code"), int)
        said = self.concealed(str(body.get("message", "")))[:_SAID] if isinstance(body, dict) else ""
        why = f"HTTP status {error.code}{f': {said}' if said else ''}"
        if error.code in (401, 403, 407):
            return RegistryDenied(
                f'the schema registry "{self.registry.alias}" refuses this user', where=where, why=why
            )
        code = body["error_code"] if known else 0
        if error.code not in _NO_SUCH_RESOURCE and (
            error.code >= 500 or error.code in (408, 429) or not known
        ):
            return self._unreachable(where, why if known else f"{why}: no response of a schema registry")
        kind = NotFound if error.code == 404 and code > _HAS_DETAIL else Rejected
        return kind(
            f'the schema registry "{self.registry.alias}" rejects a request',
            error.code,
            where=where,
            why=why,
        )

    def _unreachable(self, where: str, why: str) -> RegistryUnreachable:
        return RegistryUnreachable(
            f'the schema registry "{self.registry.alias}" cannot be used', where=where, why=why
        )


def _read(response: Any, deadline: float) -> bytes:
    """The whole response. The deadline is for all of it: a slow one may send a byte now and then."""
    content = bytearray()
    while chunk := response.read1(_CHUNK):
        content += chunk
        if time.monotonic() > deadline:
            raise TimeoutError("the response is not complete after the timeout")
        if len(content) > MOST_BYTES:
            raise ValueError(f"the response is larger than {MOST_BYTES // 1024**2} MiB")
    return bytes(content)


def _why(error: BaseException) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return "no response within the timeout"
    return str(getattr(reason, "strerror", None) or reason) or type(reason).__name__
