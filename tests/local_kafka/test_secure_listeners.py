"""Listeners with TLS and SASL: a plain client gets in with the right secret, and not with a wrong one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from support.certificates import as_pkcs12
from support.secure_cluster import MECHANISMS, SecureCluster

SECONDS = 10.0


def connected(properties: dict[str, str]) -> bool:
    """Whether the client gets the cluster's id; raises what it was told instead."""
    errors: list[KafkaError] = []
    admin = AdminClient({**properties, "error_cb": errors.append, "log_level": 0})
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            return bool(admin.list_topics(timeout=1).cluster_id)
        except KafkaException:
            admin.poll(0)
            if causes := [error for error in errors if error.code() != KafkaError._ALL_BROKERS_DOWN]:
                raise KafkaException(causes[0]) from None
    return False


@pytest.mark.parametrize("tls", [True, False])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_mechanism_lets_its_users_in(secure: SecureCluster, mechanism: str, tls: bool) -> None:
    user, password = secure.user(mechanism)
    assert connected(secure.login(mechanism, user, password, tls=tls))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_refused(secure: SecureCluster, mechanism: str) -> None:
    user, _ = secure.user(mechanism)
    with pytest.raises(KafkaException) as caught:
        connected(secure.login(mechanism, user, "wrong"))
    assert caught.value.args[0].code() == KafkaError._AUTHENTICATION


@pytest.mark.parametrize("password", ["", "a-key-password"])
def test_mutual_tls(secure: SecureCluster, password: str) -> None:
    assert connected(secure.mutual_tls(password=password))


def test_pkcs12(secure: SecureCluster, tmp_path: Path) -> None:
    files = secure.authority.client("with-pkcs12")
    store = as_pkcs12(files, tmp_path / "client.p12", "a-store-password")
    assert connected(
        secure.tls("MUTUAL_TLS", ssl_keystore_location=str(store), ssl_keystore_password="a-store-password")
    )


@pytest.mark.parametrize("listener", ["EXPIRED", "FUTURE", "FOREIGN", "WRONG_HOST", "MUTUAL_TLS"])
def test_what_tls_must_refuse(secure: SecureCluster, listener: str) -> None:
    with pytest.raises(KafkaException):
        connected(secure.tls(listener))
