"""Requests to a registry, and what becomes of each way in which they fail."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from causeway.core.schema import Registry, Schema, SchemaReference
from causeway.errors import CausewayError, ConfigError, RegistryDenied, RegistryUnreachable
from causeway.local_kafka.ports import free_ports
from causeway.schema_registry.client import SchemaRegistryClient
from causeway.schema_registry.requests import ATTEMPTS, RegistryRequests, Rejected
from support.registry_stand_in import StandIn, stand_in

RECORD = Schema('{"type":"record","name":"Order","fields":[]}')


@pytest.fixture
def registry() -> Iterator[StandIn]:
    with stand_in() as started:
        yield started


def client(*urls: str, **settings: object) -> SchemaRegistryClient:
    described = Registry("paris", urls, timeout=0.5, **settings)  # type: ignore[arg-type]
    return SchemaRegistryClient(RegistryRequests(described, pause=lambda _seconds: None))


def test_what_is_registered_is_found(registry: StandIn) -> None:
    paris = client(registry.url)
    paris.check()
    paris.register("address", Schema('"string"'))
    refers = Schema("{}", "JSON", (SchemaReference("a", "address", 1),), {"tags": {}}, {"domainRules": []})
    paris.register("orders/été-value", refers)
    found = paris.find("orders/été-value", refers)
    assert found is not None
    assert (found.subject, found.version, found.id, found.schema) == ("orders/été-value", 1, 2, refers)
    assert paris.version("orders/été-value", 1) == found
    assert paris.by_id(2) == Schema(refers.text, refers.type, refers.references)
    assert paris.uses(2) == {"orders/été-value": 1}
    assert paris.id_of_guid(found.guid) == 2
    assert paris.subjects() == ["address", "orders/été-value"]


def test_what_is_not_there(registry: StandIn) -> None:
    paris = client(registry.url)
    assert paris.versions("orders-value") == []
    assert paris.find("orders-value", RECORD) is None
    assert paris.by_id(7) is None
    assert paris.uses(7) == {}
    assert paris.id_of_guid("1f6c3d0e-5a9b-4c7d-8e2f-0a1b2c3d4e5f") is None
    assert paris.compatibility("orders-value") == "BACKWARD"
    assert paris.mode("orders-value") == ""
    with pytest.raises(Rejected):
        paris.version("orders-value", 1)


def test_a_context_has_ids_of_its_own(registry: StandIn) -> None:
    client(registry.url).register("orders-value", Schema('"long"'))
    inside = client(registry.url, context=".paris")
    inside.register("orders-value", RECORD)
    assert inside.subjects() == ["orders-value"]
    assert inside.by_id(1) == RECORD
    assert inside.uses(1) == {"orders-value": 1}
    found = inside.find("orders-value", RECORD)
    assert found is not None
    assert inside.id_of_guid(found.guid) == 1
    assert client(registry.url).id_of_guid(found.guid) is None


def test_logins(registry: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.login = "causeway:secret"
    monkeypatch.setenv("REGISTRY_PASSWORD", "secret")
    paris = client(registry.url, username="causeway", password="${env:REGISTRY_PASSWORD}")
    paris.check()
    monkeypatch.setenv("REGISTRY_PASSWORD", "changed")  # resolved for each request
    with pytest.raises(
        RegistryDenied, match=r"refuses this user.*/subjects.* · HTTP status 401: Unauthorized"
    ):
        paris.check()
    registry.login, registry.token = "", "a-token"
    client(registry.url, token="a-token").check()
    with pytest.raises(RegistryDenied) as raised:
        client(registry.url, token="another-token").check()
    assert raised.value.exit_code == 4
    assert "another-token" not in "".join(raised.value.lines())


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("slow", "no response within the timeout"),
        ("500", "HTTP status 500: the store is away"),
        ("nonsense", "the response is no JSON"),
        ("redirect", "HTTP status 302: no response of a schema registry"),
    ],
)
def test_a_registry_that_cannot_be_used(registry: StandIn, how: str, why: str) -> None:
    registry.fail = how
    with pytest.raises(RegistryUnreachable) as raised:
        client(registry.url).check()
    assert raised.value.exit_code == 5
    assert f"GET {registry.url}/subjects" in raised.value.where
    assert why in raised.value.why
    assert len(registry.requests) == ATTEMPTS


def test_another_kind_of_server(registry: StandIn) -> None:
    with pytest.raises(RegistryUnreachable, match="not a response of a schema registry"):
        client(registry.url + "/subjects/x/versions/1/..?").check()


def test_a_refused_connection() -> None:
    (port,) = free_ports(1)
    with pytest.raises(RegistryUnreachable, match="Connection refused"):
        client(f"http://127.0.0.1:{port}").check()


def test_the_next_url_is_asked(registry: StandIn) -> None:
    (port,) = free_ports(1)
    client(f"http://127.0.0.1:{port}", registry.url).check()


def test_a_request_that_fails_once(registry: StandIn) -> None:
    registry.fail = "500"

    def mend(_seconds: float) -> None:
        registry.fail = ""

    SchemaRegistryClient(RegistryRequests(Registry("paris", (registry.url,)), pause=mend)).check()


def test_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    ca, own = tmp_path / "ca.pem", tmp_path / "own.pem"
    authority.cert_pem.write_to_path(str(ca))
    authority.issue_cert("client").private_key_and_cert_chain_pem.write_to_path(str(own))
    with stand_in(context, host="localhost") as registry:
        client(registry.url, ca=str(ca), certificate=str(own)).check()
        for settings in ({"ca": str(ca)}, {"certificate": str(own)}):
            with pytest.raises(RegistryUnreachable):
                client(registry.url, **settings).check()
        with pytest.raises(ConfigError, match="No such file"):
            client(registry.url, ca=str(tmp_path / "missing.pem")).check()


def test_every_error_names_the_url(registry: StandIn) -> None:
    with pytest.raises(CausewayError) as raised:
        client(registry.url).version("orders-value", 3)
    assert registry.url in str(raised.value)
    assert "orders-value" in str(raised.value)


@pytest.mark.parametrize("login", [{"username": "u", "password": "cAnArY-1"}, {"token": "cAnArY-2"}])
def test_a_registry_that_quotes_the_login(
    registry: StandIn, monkeypatch: pytest.MonkeyPatch, login: dict[str, str]
) -> None:
    registry.fail = "quote"
    with pytest.raises(CausewayError) as raised:
        client(registry.url, **login).check()
    said = "".join(raised.value.lines())
    assert "you sent" in said
    assert "cAnArY" not in said
    assert base64.b64encode(b"u:cAnArY-1").decode() not in said
    registry.fail = "quote well"
    with pytest.raises(RegistryUnreachable) as refused:
        client(registry.url, **login).check()
    assert "not a response of a schema registry" in refused.value.why
    assert "cAnArY" not in refused.value.why


def test_a_token_that_no_header_can_have(registry: StandIn) -> None:
    with pytest.raises(ConfigError) as raised:
        client(registry.url, token="cAnArY\n").check()
    assert "cAnArY" not in "".join(raised.value.lines())
    assert registry.requests == []
