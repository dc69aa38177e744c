"""An OIDC provider on loopback: it gives signed tokens to clients that know their secret."""

from __future__ import annotations

import base64
import json
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

AUDIENCE = "kafka"


class TokenEndpoint:
    """`clients` has the secret of each client; tests change it to revoke one or to rotate its secret."""

    def __init__(self) -> None:
        self.clients: dict[str, str] = {}
        self.lifetime = 300
        self.audience = AUDIENCE
        self.tokens_given: list[str] = []  # the clients, in order
        self._key = generate_private_key(65537, 2048)
        self._key_id = uuid.uuid4().hex
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        address = f"http://127.0.0.1:{self._server.server_port}"
        self.token_url = f"{address}/token"
        self.jwks_url = f"{address}/jwks"

    def token(self, client: str, *, lifetime: float | None = None) -> str:
        """A token for this client; with a negative lifetime one that has expired."""
        now = time.time()
        claims = {
            "iss": "tests",
            "sub": client,
            "aud": self.audience,
            "iat": int(now) - 600,
            "exp": int(now + (self.lifetime if lifetime is None else lifetime)),
        }
        header = {"alg": "RS256", "typ": "JWT", "kid": self._key_id}
        signed = ".".join(_base64(json.dumps(part).encode()) for part in (header, claims))
        return f"{signed}.{_base64(self._key.sign(signed.encode(), PKCS1v15(), SHA256()))}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._respond(200, {"keys": [_public(endpoint._key, endpoint._key_id)]})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                client, secret = _credentials(self.headers.get("authorization", ""), parse_qs(body))
                if not secret or endpoint.clients.get(client) != secret:
                    self._respond(401, {"error": "invalid_client", "error_description": "bad credentials"})
                    return
                endpoint.tokens_given.append(client)
                token = {
                    "access_token": endpoint.token(client),
                    "token_type": "Bearer",
                    "expires_in": endpoint.lifetime,
                }
                self._respond(200, token)

            def _respond(self, status: int, content: dict[str, Any]) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Write nothing to the test's output."""

        return Handler


def _credentials(authorization: str, form: dict[str, list[str]]) -> tuple[str, str]:
    """From the header, as librdkafka sends them, or from the form."""
    if authorization.startswith("Basic "):
        client, _, secret = base64.b64decode(authorization[6:]).decode().partition(":")
        return client, secret
    return form.get("client_id", [""])[0], form.get("client_secret", [""])[0]


def _public(key: RSAPrivateKey, key_id: str) -> dict[str, str]:
    numbers = key.public_key().public_numbers()
    parts = {"n": numbers.n, "e": numbers.e}
    encoded = {name: _base64(n.to_bytes((n.bit_length() + 7) // 8, "big")) for name, n in parts.items()}
    return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": key_id, **encoded}


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
