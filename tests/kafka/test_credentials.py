"""What is made of PEM text, PKCS#12, JKS and token files when a client is created. No broker is needed."""

from __future__ import annotations

import base64
import gc
import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.x509 import load_pem_x509_certificate
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.config.properties import TOKEN_FILE
from causeway.core.cluster import Cluster
from causeway.errors import AccessDenied, CausewayError, ConfigError, SecretMissing
from causeway.kafka import clients, credentials
from causeway.kafka.credentials import OAUTH_CB, REREAD_SECONDS, usable
from causeway.kafka.native.consumer_handle import NativeConsumer
from causeway.kafka.native.producer_handle import NativeProducer
from support.certificates import Authority, as_pkcs12, replace_file

CANARY = "cAnArY"
JKS = b"\xfe\xed\xfe\xed\x00\x00\x00\x02"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("keys"))


def refused(**properties: str) -> CausewayError:
    with pytest.raises(CausewayError) as caught:
        usable("paris", {name.replace("_", "."): value for name, value in properties.items()})
    assert CANARY not in str(caught.value.lines()) + repr(caught.value)
    return caught.value


def connecting(**properties: str) -> Cluster:
    """A cluster where nothing listens."""
    return Cluster("paris", {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SSL", **properties})


def test_pem_text_and_pem_files(authority: Authority) -> None:
    text = authority.file.read_text()
    assert usable("paris", {"ssl.ca.location": text}) == {"ssl.ca.pem": text}
    assert usable("paris", {"ssl.ca.location": str(authority.file)}) == {
        "ssl.ca.location": str(authority.file)
    }
    assert usable("paris", {"ssl.ca.location": str(authority.file.parent)}), "a directory of certificates"


def test_a_file_that_is_missing_is_named() -> None:
    error = refused(ssl_key_location="/nope")
    assert error.lines() == [
        "error: ssl.key.location: /nope cannot be used",
        'where: cluster "paris"',
        "why: No such file or directory",
    ]
    assert error.exit_code == 3


def test_a_truststore_becomes_pem(authority: Authority, tmp_path: Path) -> None:
    store = tmp_path / "t.p12"
    certificate = load_pem_x509_certificate(authority.file.read_bytes())
    store.write_bytes(
        pkcs12.serialize_key_and_certificates(
            None, None, None, [certificate], BestAvailableEncryption(CANARY.encode())
        )
    )
    made = usable("paris", {"ssl.truststore.location": str(store), "ssl.truststore.password": CANARY})
    assert made == {"ssl.ca.pem": authority.file.read_text()}
    Producer({"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SSL", **made})

    wrong = refused(ssl_truststore_location=str(store), ssl_truststore_password=f"{CANARY}x")
    assert wrong.why == "it is not PKCS#12, or the password is wrong"


def test_a_truststore_without_a_type_is_what_is_in_it(authority: Authority, tmp_path: Path) -> None:
    made = usable("paris", {"ssl.truststore.location": str(authority.file)})
    assert made == {"ssl.ca.pem": authority.file.read_text()}
    for name in ("ssl_truststore_location", "ssl_keystore_location"):
        store = tmp_path / "store"
        store.write_bytes(JKS)
        error = refused(**{name: str(store)})
        assert "keytool -importkeystore" in error.why
        assert error.exit_code == 3


@pytest.mark.parametrize("password", ["", "a \"quoted\\ pass'word;="])
def test_each_shape_of_a_client_certificate_is_loaded(
    authority: Authority, tmp_path: Path, password: str
) -> None:
    files = authority.client(f"client-{bool(password)}", password=password)
    with_password = {"ssl.key.password": password} if password else {}
    shapes: list[dict[str, str]] = [
        {"ssl.certificate.location": str(files.certificate), "ssl.key.location": str(files.key)},
        {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(files.both)},
        {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": files.certificate.read_text(),
            "ssl.keystore.key": files.key.read_text(),
        },
    ]
    for shape in shapes:
        for make in (NativeProducer, Producer):
            clients.producer(connecting(**shape, **with_password), make=make)
    if password:
        with pytest.raises(ConfigError):
            clients.producer(connecting(**shapes[0], **{"ssl.key.password": "other"}))
    else:
        store = as_pkcs12(files, tmp_path / "client.p12", CANARY)
        keystore = {"ssl.keystore.location": str(store), "ssl.keystore.password": CANARY}
        clients.producer(connecting(**keystore), make=NativeProducer)


def test_references_that_hid_javas_names_are_translated(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAAS", f'a.PlainLoginModule required username="me" password="{CANARY}";')
    monkeypatch.setenv("TYPE", "PEM")
    cluster = connecting(
        **{
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": "${env:JAAS}",
            "ssl.truststore.type": "${env:TYPE}",
            "ssl.truststore.location": str(authority.file),
        }
    )
    taken: dict[str, object] = {}
    clients.producer(cluster, make=taken.update)
    assert (taken["sasl.username"], taken["sasl.password"]) == ("me", CANARY)
    assert taken["ssl.ca.location"] == str(authority.file)

    monkeypatch.setenv("JAAS", f'a.ScramLoginModule required username="{CANARY}";')
    with pytest.raises(ConfigError) as caught:
        clients.producer(cluster)
    assert CANARY not in str(caught.value.lines())
    assert "sasl.jaas.config: ScramLoginModule needs sasl.mechanism" in caught.value.problems[0]


def test_a_value_that_the_client_would_cut_off_is_refused() -> None:
    error = refused(sasl_password=f"{CANARY}\0{CANARY}")
    assert error.what == "sasl.password cannot be used"


def jwt(**claims: Any) -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in ({}, claims))
    return ".".join((*(part.rstrip("=") for part in parts), CANARY))


def bearing(file: Path) -> Cluster:
    return Cluster(
        "paris",
        {
            "bootstrap.servers": "127.0.0.1:1",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "causeway.token.file": str(file),
            "sasl.oauthbearer.extensions": "a=b",
        },
    )


def test_a_token_is_read_again_before_it_expires(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("opaque\n")
    callback = usable("paris", bearing(file).properties)["oauth_cb"]
    token, until, principal, extensions = callback("")
    assert (token, principal, extensions) == ("opaque", "", {"a": "b"})
    assert 0 < until - time.time() <= REREAD_SECONDS

    soon = int(time.time()) + 30
    replace_file(file, jwt(sub="me", exp=soon).encode())
    assert callback("")[1:3] == (soon, "me")
    replace_file(file, jwt(sub="me", exp=soon + 3600).encode())
    assert callback("")[1] <= time.time() + REREAD_SECONDS, "a rotated token must not wait for an hour"


@pytest.mark.parametrize("content", ["", " \n", "two words", "größe"])
def test_what_is_no_token_is_refused_at_once(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(ConfigError, match=r"the token file .* cannot be used"):
        clients.admin(bearing(file))


CLAIMS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=150)
@pytest.mark.no_cover
@given(
    st.dictionaries(st.sampled_from(["exp", "sub", "iat"]), CLAIMS).map(json.dumps)
    | st.text(max_size=30)
    | st.sampled_from(
        [
            '{"exp": -1e400}',
            '{"exp": 1e400}',
            '{"exp": -1e300}',
            '{"exp": NaN}',
            f'{{"exp": 1{"0" * 400}}}',
            "[" * 9_000,
        ]
    )
)
def test_any_token_is_used_or_refused(claims: str) -> None:
    middle = base64.urlsafe_b64encode(claims.encode("utf-8", "surrogatepass")).rstrip(b"=").decode()
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"eyJhIjoxfQ.{middle}.{CANARY}")
        file.flush()
        try:
            token, until, principal, _ = usable("paris", {TOKEN_FILE: file.name})[OAUTH_CB]("")
            assert token.endswith(CANARY)
            assert until <= time.time() + REREAD_SECONDS
            assert isinstance(principal, str)
        except CausewayError as error:
            assert CANARY not in str(error.lines())


def test_an_expired_token_and_a_missing_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(SecretMissing):
        clients.admin(bearing(file))
    file.write_text(jwt(exp=1_000_000_000))
    with pytest.raises(AccessDenied) as caught:
        clients.admin(bearing(file))
    assert caught.value.exit_code == 4
    assert caught.value.why == "it expired at 2001-09-09 01:46:40 UTC"
    assert CANARY not in str(caught.value.lines())


def background_threads() -> int:
    """The client's threads that call us back without being polled."""
    names = [thread.read_text().strip() for thread in Path("/proc/self/task").glob("*/comm")]
    return names.count("rdk:bg")


@pytest.mark.parametrize(
    ("create", "make"), [(clients.consumer, NativeConsumer), (clients.producer, NativeProducer)]
)
def test_our_own_handles_get_tokens_without_being_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, create: Any, make: Any
) -> None:
    """A blocking call, such as the first transaction's, waits for a connection and polls nothing."""
    file = tmp_path / "token"
    file.write_text(jwt(exp=time.time() + 2))
    asked = threading.Semaphore(0)
    reads: list[str] = []
    real = credentials.usable

    def counting(alias: str, properties: dict[str, str]) -> dict[str, Any]:
        made: dict[str, Any] = real(alias, properties)
        callback = made["oauth_cb"]

        def counted(config: str) -> Any:
            token = callback(config)
            reads.append(token[0])
            asked.release()
            return token

        return {**made, "oauth_cb": counted}

    monkeypatch.setattr(credentials, "usable", counting)
    gc.collect()
    before = background_threads()
    group = ("g",) if create is clients.consumer else ()
    handle = create(bearing(file), *group, make=make)
    assert asked.acquire(timeout=10)
    assert background_threads() == before + 1
    replace_file(file, (rotated := jwt(exp=time.time() + 60)).encode())
    assert asked.acquire(timeout=10)
    assert reads[-1] == rotated
    del handle
    gc.collect()
    assert background_threads() == before, "its thread must not outlive what it calls"
