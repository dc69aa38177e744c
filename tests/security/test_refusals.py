"""What a user reads when a cluster refuses the connection, or when TLS must refuse the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from causeway.core.cluster import Cluster
from causeway.errors import AccessDenied, CausewayError
from causeway.kafka.admin import ClusterView
from support.secure_cluster import PLAIN_USER, SecureCluster
from support.typed import causeway
from support.world import World, cluster_lines

WITHIN_SECONDS = 10.0

Login = Callable[[SecureCluster], dict[str, str]]


def refusal(properties: dict[str, str]) -> CausewayError:
    began = time.monotonic()
    with pytest.raises(CausewayError) as caught:
        ClusterView(Cluster("paris", properties)).connect()
    assert time.monotonic() - began < WITHIN_SECONDS
    return caught.value


def other_port(properties: dict[str, str], servers: str) -> dict[str, str]:
    return {**properties, "bootstrap.servers": servers}


TLS: dict[str, tuple[Login, str, str]] = {
    "expired": (lambda c: c.tls("EXPIRED"), "has expired: it was valid until 20", "renew"),
    "not yet valid": (lambda c: c.tls("FUTURE"), "not yet valid: it is valid from 20", "clocks"),
    "another authority": (
        lambda c: c.tls("FOREIGN"),
        "not signed by an authority that this client trusts",
        "ca",
    ),
    "another host": (
        lambda c: c.tls("WRONG_HOST"),
        "is for another host: IP address mismatch, certificate is not valid for '127.0.0.1'",
        "advertised.listeners",
    ),
    "no client certificate": (
        lambda c: c.tls("MUTUAL_TLS"),
        "requires a client certificate, and none is set",
        "certificate and its key",
    ),
    "a client certificate of another authority": (
        lambda c: c.tls(
            "MUTUAL_TLS",
            ssl_certificate_location=str(c.foreign.client("stranger").certificate),
            ssl_key_location=str(c.foreign.directory / "stranger.key.pem"),
        ),
        "refuses the client's certificate",
        "signed by an authority in the broker's truststore",
    ),
    "an expired client certificate": (
        lambda c: c.tls(
            "MUTUAL_TLS",
            ssl_certificate_location=str(c.authority.client("late", until=-1).certificate),
            ssl_key_location=str(c.authority.directory / "late.key.pem"),
        ),
        "refuses the client's certificate",
        "check that it is valid",
    ),
    "no authority": (
        lambda c: {key: value for key, value in c.tls().items() if key != "ssl.ca.location"},
        "not signed by an authority that this client trusts",
        "ssl.ca.location",
    ),
}

KINDS: dict[str, tuple[Login, str, str]] = {
    "TLS to a listener without TLS": (
        lambda c: other_port(c.tls(), c.cluster.bootstrap_servers),
        "does not speak TLS",
        'security.protocol = "PLAINTEXT"',
    ),
    "SASL with TLS to a listener without TLS": (
        lambda c: other_port(c.login("PLAIN", *c.user("PLAIN")), c.cluster.servers_of("SASL")),
        "does not speak TLS",
        'security.protocol = "SASL_PLAINTEXT"',
    ),
    "no TLS to a listener with TLS": (
        lambda c: {"bootstrap.servers": c.cluster.servers_of("TLS")},
        "the listener speaks TLS",
        'security.protocol = "SSL"',
    ),
    "SASL to a listener without SASL": (
        lambda c: other_port(c.login("PLAIN", *c.user("PLAIN"), tls=False), c.cluster.bootstrap_servers),
        "expects no SASL, and this client begins with PLAIN",
        'security.protocol = "PLAINTEXT"',
    ),
    "no SASL to a listener with SASL": (
        lambda c: {"bootstrap.servers": c.cluster.servers_of("PLAIN_ALONE")},
        "requires authentication with PLAIN",
        'security.protocol = "SASL_PLAINTEXT"',
    ),
    "a mechanism that the listener does not have": (
        lambda c: other_port(
            c.login("SCRAM-SHA-256", "ann", "x", tls=False), c.cluster.servers_of("PLAIN_ALONE")
        ),
        "does not accept SCRAM-SHA-256, only PLAIN",
        "set the mechanism to one of these: PLAIN",
    ),
}

PASSWORDS: dict[str, tuple[Login, str, str]] = {
    "PLAIN": (
        lambda c: c.login("PLAIN", PLAIN_USER, "wrong"),
        f'PLAIN user "{PLAIN_USER}" was refused: Invalid username or password',
        "check the user and the password",
    ),
    "SCRAM-SHA-256": (
        lambda c: c.login("SCRAM-SHA-256", c.user("SCRAM-SHA-256")[0], "wrong"),
        'SCRAM-SHA-256 user "user-',
        "check the user and the password",
    ),
    "SCRAM-SHA-512, an unknown user": (
        lambda c: c.login("SCRAM-SHA-512", "nobody-known", "wrong"),
        'SCRAM-SHA-512 user "nobody-known" was refused',
        "check the user and the password",
    ),
    "OAUTHBEARER": (
        lambda c: c.login("OAUTHBEARER", c.user("OAUTHBEARER")[0], "wrong"),
        'no token for OAUTHBEARER client "user-',
        "the client's id and secret, and the token endpoint's address",
    ),
}


@pytest.mark.parametrize("case", [*TLS, *KINDS, *PASSWORDS])
def test_the_reason_is_named_within_seconds(secure: SecureCluster, case: str) -> None:
    login, why, todo = {**TLS, **KINDS, **PASSWORDS}[case]
    properties = login(secure)

    error = refusal(properties)

    assert isinstance(error, AccessDenied), error.lines()
    assert why in error.why
    assert todo in error.todo
    assert f'cluster "paris" at {properties["bootstrap.servers"]}' in error.where
    assert not any(secret in " ".join(error.lines()) for secret in ("wrong", "a-key-password"))


def test_a_token_of_another_audience_is_refused_by_the_broker(secure: SecureCluster) -> None:
    user, password = secure.user("OAUTHBEARER")
    secure.tokens.audience = "another"
    try:
        error = refusal(secure.login("OAUTHBEARER", user, password))
    finally:
        secure.tokens.audience = "kafka"
    assert isinstance(error, AccessDenied)
    assert f'OAUTHBEARER user "{user}" was refused' in error.why
    assert "invalid_token" in error.why


@pytest.mark.parametrize("case", ["expired", "no client certificate", "SCRAM-SHA-256", "OAUTHBEARER"])
@pytest.mark.parametrize("side", ["source", "destination"])
def test_a_run_that_is_refused_ends_with_exit_code_4(
    secure_world: World, secure: SecureCluster, secure_destination: SecureCluster, case: str, side: str
) -> None:
    login, why, _ = {**TLS, **PASSWORDS}[case]
    world = secure_world
    world.logins = {side: login(secure if side == "source" else secure_destination)}
    process = world.run(world.config())
    assert process.wait(30) == AccessDenied.exit_code, process.output
    assert "error: connecting: access denied" in process.output
    assert f'where: cluster "{"src" if side == "source" else "dst"}"' in process.output
    assert "why: " in process.output
    assert why in process.output
    assert "Traceback" not in process.output


def test_check_names_the_reason_too(secure: SecureCluster, world: World, tmp_path: Path) -> None:
    lines = [*cluster_lines("src", secure.tls("EXPIRED")), *cluster_lines("dst", secure.tls("WRONG_HOST"))]
    lines += ["[[mirrors]]", 'name = "m"', 'source = "src"', 'destination = "dst"', 'topics = ["t"]']
    config = tmp_path / "m.toml"
    config.write_text("\n".join(lines))
    done = causeway("check", config)
    assert done.returncode == AccessDenied.exit_code, done.stdout
    assert "has expired" in done.stdout
    assert "is for another host" in done.stdout
