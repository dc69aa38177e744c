"""Ways to log in to a secure cluster, as [sasl] and [tls] settings whose secrets are references.

What can happen to each while a mirror runs: its secret is rotated, revoked, granted again.
"""

from __future__ import annotations

import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from support.certificates import replace_file
from support.secure_cluster import REAUTHENTICATION_MS, SecureCluster

TOKEN_SECONDS = 10
"""Lifetime of tokens that a test revokes: Kafka accepts a token until it expires."""


class Access(ABC):
    """One side's login. `settings` are the cluster's table, `directory` has the files that they refer to."""

    settings: dict[str, Any]
    refusal: str
    """What a message says where the login is refused."""
    old_secret_seconds: float = REAUTHENTICATION_MS / 1_000
    """A connection that was made with an old secret is used for this long at most."""

    def __init__(self, cluster: SecureCluster, mechanism: str, directory: Path) -> None:
        self.cluster = cluster
        self.mechanism = mechanism
        self.directory = directory
        directory.mkdir()
        self.user = f"user-{uuid.uuid4().hex[:8]}"
        self.undo = ExitStack()

    @abstractmethod
    def rotate(self) -> None:
        """Another secret is valid now, and in the files; the old one is not accepted any more."""

    @abstractmethod
    def revoke(self) -> None:
        """The cluster refuses this login; with TLS alone, this client refuses the cluster."""

    @abstractmethod
    def grant(self) -> None:
        """What was revoked is accepted again."""

    @abstractmethod
    def spoil(self) -> None:
        """The files have a wrong secret."""

    def expire(self) -> None:
        """The files have a secret that has expired."""
        raise NotImplementedError(f"{self.mechanism} has nothing that expires")

    def close(self) -> None:
        """The cluster is as it was before."""
        self.undo.close()

    def write(self, name: str, content: str) -> None:
        # With a line break at the end, as editors and `echo` write it.
        replace_file(self.directory / name, f"{content}\n".encode())

    def from_file(self, name: str) -> str:
        return f"${{file:{self.directory / name}}}"

    def from_directory(self, name: str) -> str:
        return f"${{dir:{self.directory}:{name}}}"

    def with_sasl(self, **sasl: str) -> dict[str, Any]:
        """The cluster's table for the listener that has all mechanisms."""
        return self.with_tls("SASL_TLS", {}) | {"sasl": sasl}

    def with_tls(self, listener: str, tls: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.cluster.cluster.servers_of(listener),
            "tls": {"ca": str(self.cluster.authority.file), **tls},
        }


class ScramAccess(Access):
    """The cluster itself stores users and passwords."""

    def __init__(self, cluster: SecureCluster, mechanism: str, directory: Path) -> None:
        super().__init__(cluster, mechanism, directory)
        self.rotate()
        self.write("username", self.user)
        refer = self.from_file if mechanism == "SCRAM-SHA-256" else self.from_directory
        self.settings = self.with_sasl(
            mechanism=mechanism, username=refer("username"), password=refer("password")
        )
        self.refusal = f'{mechanism} user "{self.user}" was refused'

    def rotate(self) -> None:
        self._password = f"pw-{uuid.uuid4().hex}"
        self.grant()

    def revoke(self) -> None:
        self.cluster.revoke(self.mechanism, self.user)

    def grant(self) -> None:
        self.cluster.set_password(self.mechanism, self.user, self._password)
        self.write("password", self._password)

    def spoil(self) -> None:
        self.write("password", "wrong")


class ClientCredentials(Access):
    """OAUTHBEARER with tokens of a provider, which knows the client's secret."""

    old_secret_seconds = TOKEN_SECONDS

    def __init__(self, cluster: SecureCluster, mechanism: str, directory: Path) -> None:
        super().__init__(cluster, mechanism, directory)
        self.undo.callback(setattr, cluster.tokens, "lifetime", cluster.tokens.lifetime)
        cluster.tokens.lifetime = TOKEN_SECONDS
        self.rotate()
        self.settings = self.with_sasl(
            mechanism="OAUTHBEARER",
            token_url=cluster.tokens.token_url,
            client_id=self.user,
            client_secret=self.from_file("secret"),
        )
        self.refusal = f'no token for OAUTHBEARER client "{self.user}"'

    def rotate(self) -> None:
        self._secret = f"secret-{uuid.uuid4().hex}"
        self.grant()

    def revoke(self) -> None:
        self.cluster.revoke("OAUTHBEARER", self.user)

    def grant(self) -> None:
        self.cluster.set_password("OAUTHBEARER", self.user, self._secret)
        self.write("secret", self._secret)

    def spoil(self) -> None:
        self.write("secret", "wrong")

    def expire(self) -> None:
        """The provider's tokens have expired when they come."""
        self.cluster.tokens.lifetime = -60


class TokenFile(Access):
    """OAUTHBEARER with a token that something else writes, long before the last one expires."""

    old_secret_seconds = TOKEN_SECONDS

    def __init__(self, cluster: SecureCluster, mechanism: str, directory: Path) -> None:
        super().__init__(cluster, mechanism, directory)
        cluster.acls.grant_everything(f"User:{self.user}")
        self._writer: TokenWriter | None = None
        self.undo.callback(self._stop)
        self.grant()
        self.settings = self.with_sasl(mechanism="OAUTHBEARER", token_file=str(directory / "token"))
        self.refusal = "the token has expired"

    def rotate(self) -> None:
        """All the time: each token is invalid ten seconds later."""

    def revoke(self) -> None:
        self._stop()

    def grant(self) -> None:
        self._stop()
        self._writer = TokenWriter(lambda: self._put(TOKEN_SECONDS))

    def spoil(self) -> None:
        self._stop()
        self.write("token", f"{self.cluster.tokens.token(self.user)[:-12]}{'A' * 12}")
        self.refusal = "OAUTHBEARER was refused"

    def expire(self) -> None:
        self._stop()
        self._put(-60)

    def _stop(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _put(self, lifetime: float) -> None:
        self.write("token", self.cluster.tokens.token(self.user, lifetime=lifetime))


class TokenWriter:
    """As Kubernetes renews the tokens of service accounts."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._ended = threading.Event()
        write()
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def _renew(self) -> None:
        while not self._ended.wait(TOKEN_SECONDS / 5):
            self._write()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
