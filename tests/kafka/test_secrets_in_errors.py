"""What a client, a broker or a provider of tokens repeats of a secret is in no error. No broker is needed."""

from __future__ import annotations

import json
import os
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError

from causeway.core.cluster import Cluster
from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.native.producer_handle import NativeProducer
from support.canaries import canary, found_in

SECRET = canary("secret")
LOGIN = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "ann",
    "sasl.password": "x",
}
QUOTED = (
    "sasl.mechanism", "security.protocol", "debug", "ssl.endpoint.identification.algorithm",
    "broker.address.family", "compression.type", "plugin.library.paths", "ssl.providers",
    "ssl.ca.location", "ssl.key.location", "ssl.certificate.location", "ssl.keystore.location",
    "ssl.crl.location", "https.ca.location", "causeway.truststore.location", "causeway.token.file",
    "sasl.oauthbearer.method",
)  # fmt: skip
"""Properties whose value is in the message, if it cannot be used."""


def everything(error: CausewayError) -> str:
    return "\n".join([*error.lines(), repr(error), *traceback.format_exception(error)])


def refused(make: Callable[[Cluster], Any], properties: Mapping[str, str]) -> CausewayError:
    with pytest.raises(CausewayError) as caught:
        make(Cluster("paris", properties))
    assert found_in(everything(caught.value)) == []
    return caught.value


@pytest.mark.parametrize("make", [clients.ObjectProducer, NativeProducer])
@pytest.mark.parametrize("name", QUOTED)
def test_a_secret_under_a_wrong_name_is_shown_as_its_reference(
    name: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", SECRET)
    properties = {**LOGIN, name: "${env:PASSWORD}"}
    error = refused(lambda cluster: clients.producer(cluster, make=make), properties)
    assert "${env:PASSWORD}" in " ".join(error.lines())


@pytest.mark.parametrize("name", ["ssl.key.location", "causeway.token.file", "causeway.truststore.location"])
def test_content_in_place_of_a_path_is_not_shown(name: str) -> None:
    for content in (f"MIIEvQIBADANBgkqhkiG9w0BAQEF{SECRET}", f"a\n{SECRET}", f"eyJhbG.eyJzdWIi.{SECRET}"):
        refused(clients.producer, {**LOGIN, name: content})


@pytest.mark.parametrize("kind", ["pipe", "device", "huge"])
@pytest.mark.parametrize("name", ["ssl.ca.location", "ssl.key.location", "causeway.truststore.location"])
def test_what_has_no_end_is_not_read(name: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "huge":
        with file.open("wb") as opened:
            opened.truncate(100 * 2**30)  # it takes no space on the disk
    path = "/dev/zero" if kind == "device" else str(file)
    error = refused(clients.producer, {**LOGIN, name: path})
    assert error.exit_code == 3
    assert error.why == ("it is larger than 16 MiB" if kind == "huge" else "it is not a file")
    assert path in error.what


@pytest.fixture
def talkative() -> Iterator[str]:
    """A token endpoint that returns what it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            body = json.dumps({
                "error": "invalid_client", "path": self.path, "sent": sent, "secret": SECRET,
                "header": self.headers.get("authorization"),
            }).encode()  # fmt: skip
            self.send_response(401)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing to the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/token"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_token_endpoint_that_repeats_the_request(talkative: str) -> None:
    properties = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "ann",
        "sasl.oauthbearer.client.secret": SECRET,
        "sasl.oauthbearer.token.endpoint.url": talkative,
    }
    error = refused(lambda cluster: ClusterView(cluster).connect(), properties)
    assert error.exit_code == 4
    assert 'no token for OAUTHBEARER client "ann"' in error.why
    assert "invalid_client" in error.why


def test_a_broker_that_repeats_the_password() -> None:
    seen: list[KafkaError] = []
    made: dict[str, Any] = {}
    cluster = Cluster("paris", {**LOGIN, "sasl.password": SECRET})
    clients.producer(cluster, make=made.update, on_error=seen.append)
    for fatal in (False, True):
        made["error_cb"](KafkaError(KafkaError._AUTHENTICATION, f"SASL error: {SECRET} is wrong", fatal))
    assert [error.str() for error in seen] == ["SASL error: *** is wrong"] * 2
    assert [error.fatal() for error in seen] == [False, True]
    assert seen[0].code() == KafkaError._AUTHENTICATION
