"""From a client's error and what a listener speaks to why and what to do: no broker decides here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from causeway.core.cluster import Cluster
from causeway.kafka.clients import secret_versions
from causeway.kafka.connection_failures import (
    explain,
    explain_silence,
    may_need_new_client,
    refuses_connection,
    shortened,
)
from causeway.kafka.listener_probe import ListenerFacts
from causeway.kafka.producer_client import CONNECTION_LOST
from causeway.kafka.renewal import REPORTED_SECONDS, Renewal

PLAIN = {
    "bootstrap.servers": "paris-1:9092,paris-2:9092",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "ann",
    "sasl.password": "hunter2",
}
REFUSED = KafkaError(
    KafkaError._AUTHENTICATION,
    "sasl_ssl://paris-1:9092/bootstrap: SASL authentication error: Authentication failed: Invalid username or"
    " password (after 302ms in state AUTH_REQ, 4 identical error(s) suppressed)",
)
UNVERIFIED = KafkaError(
    KafkaError._SSL,
    "ssl://paris-2:9093/2: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed"
    " (after 1ms in state SSL_HANDSHAKE)",
)


def never(_host: str, _port: int, _properties: Mapping[str, str]) -> ListenerFacts:
    raise AssertionError("nothing to look for")


def test_a_refused_password_names_mechanism_and_user_and_nothing_secret() -> None:
    explained = explain([REFUSED], PLAIN, never)
    assert explained is not None
    assert explained.why == 'PLAIN user "ann" was refused: Invalid username or password'
    assert "hunter2" not in repr(explained)


def test_the_listener_that_the_error_names_is_looked_at() -> None:
    seen = []

    def look(host: str, port: int, _properties: Mapping[str, str]) -> ListenerFacts:
        seen.append((host, port))
        return ListenerFacts(tls=True, certificate_refused="certificate has expired")

    explained = explain([REFUSED, UNVERIFIED], PLAIN, look)
    assert seen == [("paris-2", 9093)]
    assert explained is not None
    assert explained.why == "the broker's certificate has expired"


def test_where_nothing_more_can_be_found_out_the_clients_own_text_is_given() -> None:
    explained = explain([UNVERIFIED], PLAIN, lambda *_: ListenerFacts())
    assert explained is not None
    assert explained.why.endswith("certificate verify failed")


@pytest.mark.parametrize(
    "error",
    [
        KafkaError(KafkaError._TRANSPORT, "paris-1:9092/bootstrap: Connect to ipv4#1.2.3.4:9092 failed"),
        KafkaError(KafkaError._TIMED_OUT, "timed out"),
        KafkaError(KafkaError._ALL_BROKERS_DOWN, "2/2 brokers are down"),
    ],
)
def test_a_cluster_that_is_away_refuses_nothing(error: KafkaError) -> None:
    assert explain([error], PLAIN, never) is None
    assert not refuses_connection(error)
    assert not may_need_new_client(error)


def test_a_tls_handshake_that_fails_while_a_broker_restarts_is_no_refusal() -> None:
    text = (
        "ssl://paris-1:9092/1: SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener?"
    )
    assert explain([KafkaError(KafkaError._TRANSPORT, text)], PLAIN, lambda *_: ListenerFacts()) is None


@pytest.mark.parametrize(
    ("protocol", "facts", "why"),
    [
        ("PLAINTEXT", ListenerFacts(tls=False, mechanisms=()), None),
        ("PLAINTEXT", ListenerFacts(), None),
        ("PLAINTEXT", ListenerFacts(tls=True), "speaks TLS"),
        ("PLAINTEXT", ListenerFacts(tls=False, mechanisms=("PLAIN",)), "requires authentication with PLAIN"),
        ("SASL_PLAINTEXT", ListenerFacts(tls=False, mechanisms=()), "expects no SASL"),
        ("SSL", ListenerFacts(tls=True, mechanisms=()), None),
        ("SSL", ListenerFacts(tls=False, mechanisms=()), "does not speak TLS"),
    ],
)
def test_listeners_of_another_kind(protocol: str, facts: ListenerFacts, why: str | None) -> None:
    explained = explain_silence({**PLAIN, "security.protocol": protocol}, lambda *_: facts)
    assert (explained is None) if why is None else (explained is not None and why in explained.why)


def test_what_librdkafka_adds_for_itself_is_left_out() -> None:
    assert shortened("no (after 3ms in state DOWN)") == "no"
    assert shortened("no (after 3ms in state DOWN, 2 identical error(s) suppressed)") == "no"
    assert shortened("no (because)") == "no (because)"


@pytest.mark.parametrize("state", ["UP", "REAUTH", "AUTH_HANDSHAKE", "AUTH_REQ"])
def test_a_connection_that_is_lost_while_it_authenticates_again_counts_as_lost(state: str) -> None:
    """Requests may be in flight on it, a transaction's end too: its outcome is unknown."""
    line = (
        f"FAIL [causeway#producer-1] sasl_ssl://paris-1:9092/1: Disconnected (after 4512ms in state {state})"
    )
    assert CONNECTION_LOST.search(line)


def test_a_connection_that_never_was_in_use_is_not_lost() -> None:
    assert not CONNECTION_LOST.search("FAIL [x] paris-1:9092/1: refused (after 0ms in state CONNECT)")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_client_is_replaced_where_it_is_refused_and_a_secret_has_changed() -> None:
    secret, clock = ["first"], Clock()
    renewal = Renewal(lambda: tuple(secret), clock)
    assert not renewal.due
    secret[0] = "second"
    assert not renewal.due, "nothing refuses the old one"
    renewal.report(REFUSED)
    assert renewal.due
    renewal.renew()
    assert not renewal.due
    renewal.report(REFUSED)
    clock.now += 1
    assert not renewal.due, "a new client would have the same secret"
    secret[0] = "third"
    assert not renewal.due, "it looks at the files twice a second"
    clock.now += 1
    assert renewal.due


def test_errors_of_long_ago_explain_nothing() -> None:
    clock = Clock()
    renewal = Renewal(lambda: 0, clock)
    renewal.report(REFUSED)
    assert renewal.refused
    assert renewal.errors == [REFUSED]
    clock.now += REPORTED_SECONDS + 1
    assert not renewal.refused
    assert renewal.errors == []


def test_secrets_and_certificates_have_versions(tmp_path: Path) -> None:
    password, certificate = tmp_path / "password", tmp_path / "ca.pem"
    password.write_text("one")
    certificate.write_text("a certificate")
    properties = {**PLAIN, "sasl.password": f"${{file:{password}}}", "ssl.ca.location": str(certificate)}
    versions = [secret_versions(Cluster("paris", properties))]
    for file in (password, certificate):
        new = tmp_path / "new"
        new.write_text(f"another {file.name}")
        new.replace(file)
        versions.append(secret_versions(Cluster("paris", properties)))
    assert versions[0] != versions[1] != versions[2]
    assert secret_versions(Cluster("paris", properties)) == versions[2]
