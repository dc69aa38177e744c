"""Names of Java's clients and of librdkafka: both are understood, neither is ignored."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, Producer

from causeway.config.client_names import translated
from causeway.config.client_tables import client_tables
from causeway.config.java_names import (
    JAVA_ALONE,
    RENAMED,
    SHARED,
    TRANSLATED,
    UNSUPPORTED,
    UNUSED_HERE,
)
from causeway.config.properties import AGREED, REFUSED

from .conftest import GOOD, PROPERTIES, Load, Problems

JAVA = [line.split()[0] for line in PROPERTIES.read_text().splitlines()]

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
HANDLER = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
LOGIN = 'username="me" password="a b;\\"c\\"";'


def known(name: str) -> bool:
    """Whether librdkafka has a property of this name."""
    try:
        Producer({name: "\x01"})
    except KafkaException as error:
        return "No such configuration property" not in str(error)
    return True


def test_every_property_of_javas_clients_has_its_row() -> None:
    rows = [SHARED, RENAMED, TRANSLATED, UNUSED_HERE, JAVA_ALONE, UNSUPPORTED, REFUSED]
    counts = {name: sum(name in row for row in rows) for name in JAVA}
    assert [name for name, count in counts.items() if count == 0] == []
    assert [name for name, count in counts.items() if count > 1] == []
    assert "ssl.truststore.certificates" in JAVA


def test_the_table_is_right_about_librdkafka() -> None:
    assert [name for name in (*SHARED, *UNUSED_HERE, *RENAMED.values()) if not known(name)] == []
    assert [name for name in (*RENAMED, *JAVA_ALONE) if known(name)] == []
    assert not set(AGREED) - set(REFUSED)


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ({"fetch.max.wait.ms": "100"}, {"fetch.wait.max.ms": "100"}),
        ({"max.request.size": "5000"}, {"message.max.bytes": "5000"}),
        ({"send.buffer.bytes": "-1"}, {"socket.send.buffer.bytes": "0"}),
        ({"isolation.level": "read_committed", "acks": "ALL", "enable.idempotence": "true"}, {}),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{PLAIN} {LOGIN}"},
         {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": 'a b;"c"'}),
        ({"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": f"{SCRAM} {LOGIN}"},
         {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "me", "sasl.password": 'a b;"c"'}),
        ({"sasl.jaas.config": f'{PLAIN} username="${{env:U}}" password="${{file:/p}}";'},
         {"sasl.username": "${env:U}", "sasl.password": "${file:/p}"}),
        ({"sasl.jaas.config": "${file:/jaas}"}, {"sasl.jaas.config": "${file:/jaas}"}),
        ({"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": HANDLER,
          "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
          "sasl.jaas.config":
              f'{BEARER} clientId="me" clientSecret="s" scope="all" extension_a="b" extension_c="d";'},
         {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc",
          "sasl.oauthbearer.token.endpoint.url": "https://idp/token", "sasl.oauthbearer.client.id": "me",
          "sasl.oauthbearer.client.secret": "s", "sasl.oauthbearer.scope": "all",
          "sasl.oauthbearer.extensions": "a=b,c=d"}),
        ({"sasl.oauthbearer.token.endpoint.url": "file:///run/token", "sasl.jaas.config": f"{BEARER};"},
         {"causeway.token.file": "/run/token"}),
        ({"sasl.oauthbearer.token.endpoint.url": "file:/run/token"}, {"causeway.token.file": "/run/token"}),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "/t.pem"},
         {"ssl.ca.location": "/t.pem"}),
        ({"ssl.truststore.location": "/t.p12", "ssl.truststore.password": "x"},
         {"causeway.truststore.location": "/t.p12", "causeway.truststore.password": "x"}),
        ({"ssl.truststore.type": "pkcs12", "ssl.truststore.location": "/t", "ssl.truststore.password": "x"},
         {"causeway.truststore.location": "/t", "causeway.truststore.password": "x"}),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "-----BEGIN"},
         {"ssl.ca.pem": "-----BEGIN"}),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.location": "/k.pem", "ssl.key.password": "x"},
         {"ssl.certificate.location": "/k.pem", "ssl.key.location": "/k.pem", "ssl.key.password": "x"}),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.key": "K", "ssl.keystore.certificate.chain": "C"},
         {"ssl.key.pem": "K", "ssl.certificate.pem": "C"}),
        ({"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/k", "ssl.keystore.password": "x"},
         {"ssl.keystore.location": "/k", "ssl.keystore.password": "x"}),
        ({"ssl.keystore.location": "/k.p12"}, {"ssl.keystore.location": "/k.p12"}),
        ({"ssl.truststore.type": "${env:T}", "ssl.truststore.location": "/t"},
         {"ssl.truststore.type": "${env:T}", "ssl.truststore.location": "/t"}),
        ({"ssl.cipher.suites": "ECDHE+AESGCM"}, {"ssl.cipher.suites": "ECDHE+AESGCM"}),
    ],
)  # fmt: skip
def test_what_it_is_in_librdkafka(given: dict[str, str], becomes: dict[str, str]) -> None:
    names = translated(given)
    assert names.problems == []
    assert names.properties == becomes
    assert translated(becomes).properties == becomes, "it is translated again once references are resolved"


JKS = "JKS cannot be read. Convert it: `keytool -importkeystore -srckeystore "


@pytest.mark.parametrize(
    ("given", "key", "problem"),
    [
        ({"isolation.level": "read_uncommitted"}, "isolation.level",
         f"Causeway sets this property itself: {REFUSED['isolation.level']}"),
        ({"ssl.truststore.type": "JKS", "ssl.truststore.location": "/t", "ssl.truststore.password": "x"},
         "ssl.truststore.location", JKS),
        ({"ssl.truststore.location": "/t.JKS"}, "ssl.truststore.location", JKS),
        ({"ssl.keystore.location": "/t.keystore"}, "ssl.keystore.location", JKS),
        ({"ssl.truststore.type": "BKS"}, "ssl.truststore.type", "must be PEM or PKCS12"),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.password": "x"}, "ssl.truststore.password",
         "leave it out: a PEM file has no password, its key may have one"),
        ({"ssl.keystore.type": "PKCS12", "ssl.keystore.key": "x"}, "ssl.keystore.key",
         "does not belong to a store of this type"),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "/a", "ssl.ca.location": "/b"},
         "ssl.ca.location", "means the same as ssl.truststore.location: give one of them"),
        ({"ssl.ca.pem": "x", "ssl.ca.location": "/b"}, "ssl.ca.location",
         "means the same as ssl.ca.pem: give one of them"),
        ({"sasl.mechanism": "PLAIN", "sasl.mechanisms": "GSSAPI"}, "sasl.mechanisms",
         "means the same as sasl.mechanism: give one of them"),
        ({"fetch.wait.max.ms": "1", "fetch.max.wait.ms": "2"}, "fetch.max.wait.ms",
         "means the same as fetch.wait.max.ms: give one of them"),
        ({"sasl.jaas.config": f"{PLAIN} {LOGIN}", "sasl.password": "other"}, "sasl.password",
         "means the same as sasl.jaas.config: give one of them"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{SCRAM} {LOGIN}"}, "sasl.jaas.config",
         "ScramLoginModule needs sasl.mechanism = SCRAM-SHA-256 or SCRAM-SHA-512"),
        ({"sasl.jaas.config": f'{PLAIN} username="x";'}, "sasl.jaas.config", "has no password"),
        ({"sasl.jaas.config": f'{SCRAM} tokenauth="true" {LOGIN}'}, "sasl.jaas.config",
         "has an option that is neither username nor password"),
        ({"sasl.jaas.config": f'{BEARER} unsecuredLoginStringClaim_sub="x";'}, "sasl.jaas.config",
         "has an option that is not clientId, clientSecret, scope or extension_…"),
        ({"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}, "ssl.cipher.suites",
         "librdkafka uses OpenSSL's names of cipher suites, for TLS 1.2"),
    ],
)  # fmt: skip
def test_what_has_no_counterpart(given: dict[str, str], key: str, problem: str) -> None:
    names = translated(given)
    assert [name for name, _ in names.problems] == [key]
    assert names.problems[0][1].startswith(problem)


def test_the_same_value_under_both_names_is_no_conflict() -> None:
    names = translated({"fetch.wait.max.ms": "1", "fetch.max.wait.ms": "1"})
    assert (names.properties, names.problems) == ({"fetch.wait.max.ms": "1"}, [])


def test_javas_properties_in_a_clusters_tables(loaded: Load) -> None:
    text = f"""{GOOD}
[clusters.tokyo.properties]
security.protocol = "SASL_SSL"
sasl.mechanism = "SCRAM-SHA-512"
sasl.jaas.config = '{SCRAM} username="me" password="${{env:PW}}";'
ssl.truststore.type = "PEM"
ssl.truststore.location = "/ca.pem"
[clusters.tokyo.consumer]
fetch.max.wait.ms = 100
ssl.truststore.location = "/other.pem"
"""
    settings = loaded(text, environ={"PW": "x"})
    made = client_tables(settings.clusters["tokyo"])
    assert made.properties == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "me",
        "sasl.password": "${env:PW}",
        "ssl.ca.location": "/ca.pem",
    }
    assert made.consumer == {"fetch.wait.max.ms": "100", "ssl.ca.location": "/other.pem"}
    assert "sasl.jaas.config" in settings.clusters["tokyo"].properties, "shown as it was written"


def test_problems_name_the_key_that_was_written(problems: Problems) -> None:
    text = f"""{GOOD}
[clusters.tokyo.sasl]
mechanism = "SCRAM-SHA-512"
username = "me"
password = "cAnArY"
[clusters.tokyo.properties]
sasl.jaas.config = '{SCRAM} username="me" password="cAnArY";'
ssl.truststore.location = "/t.jks"
"""
    listed = problems(text)
    assert [line.split(": ")[1] for line in listed] == [
        "clusters.tokyo.properties.ssl.truststore.location",
        "clusters.tokyo.properties.sasl.jaas.config",
        "clusters.tokyo.properties.sasl.jaas.config",
    ]
    assert "cAnArY" not in str(listed)
    login = f"sasl.mechanism = 'PLAIN'\nsasl.jaas.config = '{PLAIN} {LOGIN}'\n"
    (unsafe,) = problems(f"{GOOD}[clusters.tokyo.properties]\nsecurity.protocol = 'SASL_PLAINTEXT'\n{login}")
    assert "PLAIN without TLS sends the password unencrypted" in unsafe
    (without,) = problems(
        f"{GOOD}[clusters.tokyo.properties]\nsecurity.protocol = 'SASL_SSL'\nsasl.username = 'x'"
    )
    assert without.endswith("sasl.username: needs sasl.mechanism too: without it, clients would try Kerberos")
