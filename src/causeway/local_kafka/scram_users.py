"""The users of SCRAM, which a cluster stores itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from causeway.errors import SetupError

_MECHANISMS = {
    "SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256,
    "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512,
}
_ITERATIONS = 4096
_SECONDS = 30.0
_POLL_SECONDS = 0.05


def exists(servers: str, mechanism: str, user: str) -> bool:
    return _has(_admin(servers), user, mechanism)


def put(servers: str, mechanism: str, user: str, password: str) -> None:
    """Store a password; returns when the brokers know the user."""
    facts = ScramCredentialInfo(_MECHANISMS[mechanism], _ITERATIONS)
    admin = _admin(servers)
    _alter(admin, user, UserScramCredentialUpsertion(user, facts, password.encode()))
    _wait(lambda: _has(admin, user, mechanism), f"user {user} was not stored")


def remove(servers: str, mechanism: str, user: str) -> None:
    admin = _admin(servers)
    _alter(admin, user, UserScramCredentialDeletion(user, _MECHANISMS[mechanism]))
    _wait(lambda: not _has(admin, user, mechanism), f"user {user} was not removed")


def _admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers, "log_level": 0})


def _alter(admin: AdminClient, user: str, alteration: UserScramCredentialAlteration) -> None:
    try:
        admin.alter_user_scram_credentials([alteration])[user].result(_SECONDS)
    except KafkaException as exception:
        raise SetupError(
            f"the cluster does not store the password of user {user}", why=exception.args[0].str()
        ) from None


def _has(admin: AdminClient, user: str, mechanism: str) -> bool:
    described: Future[object] = admin.describe_user_scram_credentials([user])[user]
    try:
        known = described.result(_SECONDS)
    except KafkaException as exception:
        if exception.args[0].code() == KafkaError.RESOURCE_NOT_FOUND:
            return False
        raise SetupError(
            f"the cluster does not say whether it knows user {user}", why=exception.args[0].str()
        ) from None
    infos = getattr(known, "scram_credential_infos", [])
    return any(info.mechanism == _MECHANISMS[mechanism] for info in infos)


def _wait(condition: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SetupError(otherwise, why=f"not within {_SECONDS:.0f} s")
        time.sleep(_POLL_SECONDS)
