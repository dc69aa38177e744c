"""How clients connect to a named cluster: certificate, mechanism, and the one user that it begins with.

    <cluster>/security/password      the user's password; cluster.json and server.properties have PLAIN's too
    <cluster>/security/ca.pem, brokers.p12      certificates.py

All of it can be read by its owner alone. The brokers' own listener, on a port of its own, has no security.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from causeway.errors import SetupError
from causeway.local_kafka import certificates, ports, scram_users
from causeway.local_kafka.cluster import EmbeddedCluster
from causeway.local_kafka.cluster_shape import CLIENT
from causeway.local_kafka.listener_security import KEY_STORE_PASSWORD, SCRAM_MECHANISMS, ListenerSecurity
from causeway.local_kafka.private_files import write_private

USER = "causeway"
PLAINTEXT = ListenerSecurity()

_DIRECTORY = "security"
_PASSWORD = "password"
_LOGIN_SECONDS = 10.0


@dataclass(frozen=True)
class ClientAccess:
    """What a client needs to connect; secrets are in files."""

    protocol: str
    mechanism: str | None = None
    user: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None


def security_of(cluster: EmbeddedCluster) -> ListenerSecurity:
    return cluster.shape.listeners.get(CLIENT, PLAINTEXT)


def access_to(cluster: EmbeddedCluster) -> ClientAccess:
    security, files = security_of(cluster), cluster.directory / _DIRECTORY
    mechanism = security.mechanisms[0] if security.mechanisms else None
    return ClientAccess(
        protocol=security.protocol,
        mechanism=mechanism,
        user=USER if mechanism else None,
        password_file=files / _PASSWORD if mechanism else None,
        ca_file=certificates.authority_file(files) if security.tls else None,
    )


def create(directory: Path, name: str, mechanism: str | None, *, tls: bool) -> ListenerSecurity:
    """Create the secrets of a new cluster; return the security of its clients' listener."""
    files, security = directory / _DIRECTORY, PLAINTEXT
    if mechanism or tls:
        files.mkdir(mode=0o700, parents=True)
    if mechanism:
        password = secrets.token_urlsafe(24)
        write_private(files / _PASSWORD, password)
        if mechanism in SCRAM_MECHANISMS:
            security = security.with_scram(mechanism)
        else:
            security = security.with_plain({USER: password})
    if tls:
        password = secrets.token_urlsafe(24)
        certificates.make(files, name, password)
        # Relative to a broker's directory, so that the cluster can be moved.
        store = Path("..") / certificates.key_store(Path(_DIRECTORY))
        security = security.with_tls(store, password=password)
    return security


def renew(cluster: EmbeddedCluster) -> None:
    """Before the brokers start again: a new certificate, if the old one expires soon."""
    files, security = cluster.directory / _DIRECTORY, security_of(cluster)
    if security.tls and certificates.is_due(files):
        certificates.make(files, cluster.name, security.properties[KEY_STORE_PASSWORD])


def admit(cluster: EmbeddedCluster) -> None:
    """Once the brokers run: create the user, if it does not exist, and log in to each broker.

    A start that was killed may have left the user out. An existing one keeps the password that it has.
    """
    access = access_to(cluster)
    if access.mechanism in SCRAM_MECHANISMS and not scram_users.exists(
        cluster.internal_servers, access.mechanism, USER
    ):
        cluster.set_scram_user(access.mechanism, USER, _password(cluster, access))
    if access.protocol != PLAINTEXT.protocol:
        properties = _client_properties(cluster, access)
        deadline = time.monotonic() + _LOGIN_SECONDS
        for broker in cluster.brokers:
            _log_in({**properties, "bootstrap.servers": f"{ports.HOST}:{broker.port}"}, cluster, deadline)


def _client_properties(cluster: EmbeddedCluster, access: ClientAccess) -> dict[str, str]:
    properties = {"security.protocol": access.protocol}
    if access.mechanism:
        properties["sasl.mechanism"] = access.mechanism
        properties["sasl.username"] = USER
        properties["sasl.password"] = _password(cluster, access)
    if access.ca_file:
        properties["ssl.ca.location"] = str(access.ca_file)
    return properties


def _password(cluster: EmbeddedCluster, access: ClientAccess) -> str:
    try:
        return (access.password_file or Path()).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SetupError(
            f"the password of user {USER} of cluster {cluster.name!r} cannot be read",
            where=str(access.password_file),
            why=error.strerror or str(error),
            todo=f"write it there, or delete the cluster: causeway kafka stop {cluster.name} --delete",
        ) from None


def _log_in(properties: dict[str, str], cluster: EmbeddedCluster, deadline: float) -> None:
    """Wait until a client gets in. A broker may learn of a new user a moment after another one."""
    errors: list[KafkaError] = []
    # A client that was rejected waits longer each time, so each attempt is a new one's.
    while True:
        admin = AdminClient({**properties, "log_level": 0, "error_cb": errors.append})
        try:
            admin.list_topics(timeout=2)
            return
        except KafkaException as exception:
            admin.poll(0)
            if time.monotonic() > deadline:
                reasons = [error for error in errors if error.code() != KafkaError._ALL_BROKERS_DOWN]
                raise SetupError(
                    f"cluster {cluster.name!r} runs, but its clients are rejected",
                    where=properties["bootstrap.servers"],
                    why=(reasons or [exception.args[0]])[-1].str(),
                    todo=f"delete it and start it again: causeway kafka stop {cluster.name} --delete",
                ) from None
