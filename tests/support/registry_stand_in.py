"""A small schema registry with what Apicurio lacks: modes and imports, contexts, GUIDs, logins, soft deletes.

It follows Confluent's documented API. `fail` makes it misbehave.
"""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

SchemaContent = tuple[str, str, str]
"""Schema, type and references, as JSON."""


class Refused(Exception):
    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass
class Version:
    number: int
    id: int
    content: SchemaContent
    extra: Mapping[str, Any]
    deleted: bool = False


@dataclass
class Context:
    ids: dict[int, SchemaContent] = field(default_factory=dict)
    subjects: dict[str, list[Version]] = field(default_factory=dict)


@dataclass
class StandIn:
    """The registry's content, and how it behaves."""

    first_id: int = 1
    imports: bool = True
    empty_modes: bool = False  # responds to requests for modes with nothing, as Apicurio does
    guids: bool = True
    login: str = ""  # user:password
    token: str = ""
    level: str = "BACKWARD"
    incompatible: set[str] = field(
        default_factory=set
    )  # subjects that accept no second version by their level
    denied: tuple[str, ...] = ()  # first parts of paths that this user may not use
    fail: str = ""  # "down", "slow", "500", "nonsense", "redirect", "quote", "quote well"
    contexts: dict[str, Context] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    url: str = ""
    ending: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def context(self, name: str = "") -> Context:
        return self.contexts.setdefault(name, Context())

    def subject(self, name: str, context: str = "") -> list[Version]:
        """The versions of a subject that are not deleted."""
        versions = self.context(context).subjects.get(name, [])
        return [version for version in versions if not version.deleted]

    def answer(self, method: str, path: list[str], body: Any, deleted: bool) -> Any:
        name = ""
        if path[0] == "contexts":
            name, path = path[1], path[2:]
        context = self.context(name)
        match path:
            case ["subjects"]:
                return [_qualified(each, name) for each in context.subjects if self.subject(each, name)]
            case ["subjects", subject, *rest]:
                return self._subject(method, context, name, subject, rest, body)
            case ["schemas", "ids", number, *rest]:
                return self._by_id(context, name, int(number), rest, deleted)
            case ["schemas", "guids", guid, *rest] if self.guids:
                return self._by_guid(guid, rest)
            case ["config", *subject]:
                return self._level(method, subject, body)
            case ["mode", *_] if self.empty_modes:
                return None
            case ["mode", *subject] if self.imports:
                return self._mode(method, subject, body)
        raise Refused(404, 404, "HTTP 404 Not Found")

    def _subject(
        self, method: str, context: Context, name: str, subject: str, rest: list[str], body: Any
    ) -> Any:
        match method, rest:
            case "GET", ["versions"]:
                return [each.number for each in self._versions(context, subject)]
            case "GET", ["versions", number]:
                for each in self._versions(context, subject):
                    if str(each.number) == number:
                        return self._version(_qualified(subject, name), each)
                raise Refused(404, 40402, f"Version {number} not found.")
            case "POST", []:
                wanted = content_of(body)
                for each in self._versions(context, subject):
                    if each.content == wanted:
                        return self._version(_qualified(subject, name), each)
                raise Refused(404, 40403, "Schema not found")
            case "POST", ["versions"]:
                return {"id": self._register(context, subject, body)}
        raise Refused(404, 404, "HTTP 404 Not Found")

    def _by_id(self, context: Context, name: str, number: int, rest: list[str], deleted: bool) -> Any:
        if number not in context.ids:
            raise Refused(404, 40403, f"Schema {number} not found")
        if not rest:
            return _schema(context.ids[number])
        return [
            {"subject": _qualified(subject, name), "version": each.number}
            for subject, versions in context.subjects.items()
            for each in versions
            if each.id == number and (deleted or not each.deleted)
        ]

    def _by_guid(self, guid: str, rest: list[str]) -> Any:
        found = [
            {"context": f":{each}:" if each else ".", "id": number}
            for each, inside in self.contexts.items()
            for number, content in inside.ids.items()
            if guid_of(content) == guid
        ]
        if not found:
            raise Refused(404, 40403, f"Schema {guid} not found")
        if not rest:
            first = found[0]
            return _schema(self.context(str(first["context"]).strip(":.")).ids[int(str(first["id"]))])
        return found

    def _versions(self, context: Context, subject: str) -> list[Version]:
        versions = [each for each in context.subjects.get(subject, []) if not each.deleted]
        if not versions:
            raise Refused(404, 40401, f"Subject '{subject}' not found.")
        return versions

    def _version(self, subject: str, version: Version) -> dict[str, Any]:
        found = {**_schema(version.content), **version.extra, "subject": subject, "version": version.number}
        return {**found, "id": version.id, **({"guid": guid_of(version.content)} if self.guids else {})}

    def _register(self, context: Context, subject: str, body: Any) -> int:
        content = content_of(body)
        versions = context.subjects.setdefault(subject, [])
        mode = self.modes.get(subject) or self.modes.get("", "READWRITE")
        extra = {name: body[name] for name in ("metadata", "ruleSet") if name in body}
        if "id" in body and not self.empty_modes:
            if mode != "IMPORT":
                raise Refused(422, 42205, f"Subject {subject} is not in import mode")
            if context.ids.setdefault(body["id"], content) != content:
                raise Refused(422, 42207, f"Overwrite new schema with id {body['id']} is not permitted.")
            versions.append(Version(body["version"], body["id"], content, extra))
            return int(body["id"])
        if mode != "READWRITE":
            raise Refused(422, 42205, f"Subject {subject} is in {mode} mode")
        for version in versions:
            if version.content == content and not version.deleted:
                return version.id
        level = self.levels.get(subject, self.level)
        if subject in self.incompatible and any(not each.deleted for each in versions) and level != "NONE":
            raise Refused(409, 409, "Schema being registered is incompatible with an earlier schema")
        known = [number for number, each in context.ids.items() if each == content]
        number = known[0] if known else max([*context.ids, self.first_id - 1]) + 1
        context.ids[number] = content
        versions.append(
            Version(max([each.number for each in versions], default=0) + 1, number, content, extra)
        )
        return number

    def _level(self, method: str, subject: list[str], body: Any) -> Any:
        if method == "PUT":
            self.levels[subject[0]] = body["compatibility"]
            return body
        if subject and subject[0] not in self.levels:
            raise Refused(404, 40408, f"Subject '{subject[0]}' does not have subject-level compatibility")
        return {"compatibilityLevel": self.levels[subject[0]] if subject else self.level}

    def _mode(self, method: str, subject: list[str], body: Any) -> Any:
        key = subject[0] if subject else ""
        if method == "PUT":
            self.modes[key] = body["mode"]
            return body
        if method == "DELETE":
            return {"mode": self.modes.pop(key, "READWRITE")}
        if key and key not in self.modes:
            raise Refused(404, 40409, f"Subject '{key}' does not have subject-level mode configured")
        return {"mode": self.modes.get(key, "READWRITE")}


def _qualified(subject: str, context: str) -> str:
    return f":{context}:{subject}" if context else subject


def content_of(body: Mapping[str, Any]) -> SchemaContent:
    references = json.dumps(body.get("references", []), sort_keys=True)
    return body["schema"], body.get("schemaType", "AVRO"), references


def guid_of(content: SchemaContent) -> str:
    return str(uuid.UUID(bytes=hashlib.md5(repr(content).encode(), usedforsecurity=False).digest()))


def _schema(content: SchemaContent) -> dict[str, Any]:
    text, kind, references = content
    found: dict[str, Any] = {"schema": text}
    if kind != "AVRO":
        found["schemaType"] = kind
    if references != "[]":
        found["references"] = json.loads(references)
    return found


_FAULTS: dict[str, Any] = {
    "500": (500, {"error_code": 50001, "message": "the store is away"}),
    "nonsense": (200, "<html>welcome</html>"),
    "redirect": (302, {}, {"Location": "http://127.0.0.1:9/stolen"}),
}


class _Handler(BaseHTTPRequestHandler):
    registry: StandIn
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments: Any) -> None:
        pass

    def handle_request(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        parts = urlsplit(self.path)
        path = [unquote(each) for each in parts.path.strip("/").split("/")]
        self.registry.requests.append(f"{self.command} {self.path}")
        if self.registry.fail and self.misbehaves():
            return None
        if not self.allowed():
            return self.respond(401, {"error_code": 401, "message": "Unauthorized"})
        if path[0] in self.registry.denied:
            return self.respond(403, {"error_code": 40301, "message": "User is denied operation"})
        try:
            with self.registry.lock:
                answer = self.registry.answer(self.command, path, body, "deleted=true" in parts.query)
        except Refused as error:
            return self.respond(error.status, {"error_code": error.code, "message": str(error)})
        return self.respond(200, answer)

    def misbehaves(self) -> bool:
        """Respond as told, if that is another response than a registry's."""
        quoted = f"you sent {self.headers.get('Authorization')}"
        if self.registry.fail == "slow":
            self.registry.ending.wait()
            return False
        if self.registry.fail == "down":
            self.close_connection = True
            return True
        if self.registry.fail in _FAULTS:
            self.respond(*_FAULTS[self.registry.fail])
        elif self.registry.fail == "quote":
            self.respond(422, {"error_code": 42201, "message": quoted})
        else:
            self.respond(200, {"quoted": quoted})
        return True

    def allowed(self) -> bool:
        given = self.headers.get("Authorization", "")
        if self.registry.login:
            return given == f"Basic {base64.b64encode(self.registry.login.encode()).decode()}"
        return not self.registry.token or given == f"Bearer {self.registry.token}"

    def respond(self, status: int, answer: Any, headers: Mapping[str, str] | None = None) -> None:
        content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = handle_request


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_arguments: Any) -> None:
        """A client that does not wait for the response is no news."""


@contextmanager
def stand_in(
    tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", **behaviour: Any
) -> Iterator[StandIn]:
    registry = StandIn(**behaviour)

    handler = type("Handler", (_Handler,), {"registry": registry})
    server = _Server((host, 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    registry.url = f"{'https' if tls else 'http'}://{host}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        registry.ending.set()
        server.shutdown()
        server.server_close()
        thread.join()
