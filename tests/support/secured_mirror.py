"""A mirror one side of which needs a login, and what a test waits for while that login changes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from causeway.local_kafka import EmbeddedCluster
from support.access import Access, ClientCredentials, ScramAccess, TokenFile
from support.process import Causeway
from support.restarting_access import (
    KEY_PASSWORD,
    MUTUAL_TLS,
    PKCS12,
    CertificateAccess,
    PlainAccess,
    TlsAccess,
)
from support.secure_cluster import SecureCluster
from support.world import ALIASES, World

LOGINS: dict[str, type[Access]] = {
    "PLAIN": PlainAccess,
    "SCRAM-SHA-256": ScramAccess,
    "SCRAM-SHA-512": ScramAccess,
    "OAUTHBEARER": ClientCredentials,
    "token file": TokenFile,
    MUTUAL_TLS: CertificateAccess,
    KEY_PASSWORD: CertificateAccess,
    PKCS12: CertificateAccess,
    "TLS": TlsAccess,
}
BATCH = 40


class SecuredMirror:
    def __init__(self, world: World, access: Access, side: str, carrier: str) -> None:
        self.world = world
        self.access = access
        self.alias = ALIASES[side]
        world.logins = {side: access.settings}
        self.topic = world.topic(partitions=2)
        self.config = world.config(carrier=carrier)
        self._produced = 0

    def run(self) -> Causeway:
        self.process = self.world.run(self.config)
        return self.process

    def produce(self) -> None:
        self.world.produce(self.topic, self.world.numbers(BATCH, 2, self._produced))
        self._produced += BATCH

    def arrive(self, seconds: float = 60.0) -> None:
        """Everything that was produced arrives."""
        self.process.until(
            lambda: self.world.carried() == self._produced, f"{self._produced} records arrive", seconds
        )

    def outlive(self, seconds: float) -> None:
        """Records arrive, the last of them after this time; there is one batch at least."""
        since = time.monotonic()
        while True:
            self.produce()
            over = time.monotonic() - since > seconds
            self.arrive()
            if over:
                return

    def says_why(self) -> str:
        """The line that names the cluster and why it refuses the login."""

        def lines() -> list[str]:
            output = self.process.output.splitlines()
            return [line for line in output if f'"{self.alias}"' in line and self.access.refusal in line]

        self.process.until(lines, f'a line that names "{self.alias}" and "{self.access.refusal}"')
        return lines()[0]

    def end(self) -> None:
        """It stops when it is told to; nothing was lost, and nothing came twice."""
        assert self.process.stop() == 0, self.process.output
        assert "Traceback" not in self.process.output, self.process.output
        self.world.assert_mirrored(self.topic)


@contextlib.contextmanager
def secured_mirror(
    login: str, side: str, secure: SecureCluster, other: EmbeddedCluster, directory: Path, carrier: str
) -> Iterator[SecuredMirror]:
    """Between the secure cluster, on this side, and another one."""
    access = LOGINS[login](secure, login, directory / "access")
    clusters = (secure.cluster, other) if side == "source" else (other, secure.cluster)
    world = World(*clusters, directory)
    try:
        yield SecuredMirror(world, access, side, carrier)
    finally:
        world.close()
        access.close()
