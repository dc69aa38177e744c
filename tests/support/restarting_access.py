"""Ways to log in for which a broker reads users or certificates when it starts, and not later.

What is rotated, revoked or granted restarts the broker: no other test may use the cluster meanwhile.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from causeway.local_kafka import ListenerSecurity
from causeway.local_kafka.broker import SETTINGS
from causeway.local_kafka.properties import render
from support.access import Access
from support.certificates import Authority, as_pkcs12, replace_file
from support.secure_cluster import PLAIN_PASSWORD, PLAIN_USER, SecureCluster

MUTUAL_TLS, KEY_PASSWORD, PKCS12 = "mutual TLS", "mutual TLS, key password", "mutual TLS, PKCS12"


class RestartingAccess(Access):
    old_secret_seconds = 0  # no connection outlives the broker

    def restart(self) -> None:
        (broker,) = self.cluster.cluster.brokers
        broker.stop()
        broker.start()

    def restart_with(self, file: Path, content: bytes) -> None:
        """Start the broker with this content of the file, unless it has it."""
        if file.read_bytes() != content:
            replace_file(file, content)
            self.restart()


class PlainAccess(RestartingAccess):
    """Users are in the broker's settings."""

    def __init__(self, cluster: SecureCluster, mechanism: str, directory: Path) -> None:
        super().__init__(cluster, mechanism, directory)
        self._password = PLAIN_PASSWORD
        self.undo.callback(self._accept, PLAIN_PASSWORD)
        self.write("user", PLAIN_USER)
        self.write("password", PLAIN_PASSWORD)
        self.settings = self.with_sasl(
            mechanism=mechanism, username=self.from_file("user"), password=self.from_file("password")
        )
        self.refusal = f'PLAIN user "{PLAIN_USER}" was refused: Invalid username or password'

    def rotate(self) -> None:
        self._password = f"pw-{uuid.uuid4().hex}"
        self.grant()

    def revoke(self) -> None:
        self._accept(f"revoked-{uuid.uuid4().hex}")

    def grant(self) -> None:
        self._accept(self._password)
        self.write("password", self._password)

    def spoil(self) -> None:
        self.write("password", "wrong")

    def _accept(self, password: str) -> None:
        settings = ListenerSecurity().with_plain({PLAIN_USER: password}).settings("SASL_TLS")
        (jaas,) = (name for name in settings if name.endswith("jaas.config"))
        (broker,) = self.cluster.cluster.brokers
        file = broker.directory / SETTINGS
        lines = file.read_text().splitlines(keepends=True)
        new = render({jaas: settings[jaas]})
        self.restart_with(
            file, "".join(new if line.startswith(f"{jaas}=") else line for line in lines).encode()
        )


class CertificateAccess(RestartingAccess):
    """A client certificate, as PEM with or without a password of its key, or as PKCS #12."""

    def __init__(self, cluster: SecureCluster, mechanism: str, directory: Path) -> None:
        super().__init__(cluster, mechanism, directory)
        self._authority = cluster.authority
        self.undo.callback(self._accept, cluster.authority)
        self._issue(self._authority)
        self.settings = self.with_tls("MUTUAL_TLS", self._tls())
        self.refusal = "the broker refuses the client's certificate"

    def rotate(self) -> None:
        """The broker trusts another authority, and no certificate of the old one."""
        name = f"clients-{uuid.uuid4().hex[:4]}"
        self._authority = Authority(self.directory / name, name)
        self.grant()

    def revoke(self) -> None:
        self._accept(self.cluster.foreign)

    def grant(self) -> None:
        self._accept(self._authority)
        self._issue(self._authority)

    def spoil(self) -> None:
        self._issue(self.cluster.foreign)

    def expire(self) -> None:
        self._issue(self._authority, until=-1)

    def _accept(self, authority: Authority) -> None:
        self.restart_with(self.cluster.client_ca, authority.file.read_bytes())

    def _tls(self) -> dict[str, Any]:
        if self.mechanism == PKCS12:
            store = str(self.directory / "client.p12")
            return {"keystore": store, "keystore_password": self.from_directory("store-password")}
        tls = {name: str(self.directory / f"{name}.pem") for name in ("certificate", "key")}
        protected = self.mechanism == KEY_PASSWORD
        return tls | ({"key_password": self.from_file("key-password")} if protected else {})

    def _issue(self, authority: Authority, until: int = 365) -> None:
        """A new key and certificate into the files, one file after the other."""
        password = f"pw-{uuid.uuid4().hex}"
        protected = self.mechanism == KEY_PASSWORD
        files = authority.client(
            f"{self.user}-{uuid.uuid4().hex[:4]}", password=password if protected else "", until=until
        )
        if self.mechanism == PKCS12:
            self.write("store-password", password)
            made = as_pkcs12(files, self.directory / "made.p12", password)
            made.replace(self.directory / "client.p12")
            return
        self.write("key-password", password)
        replace_file(self.directory / "key.pem", files.key.read_bytes())
        replace_file(self.directory / "certificate.pem", files.certificate.read_bytes())


class TlsAccess(RestartingAccess):
    """TLS without a login: this client trusts the cluster, or does not."""

    def __init__(self, cluster: SecureCluster, mechanism: str, directory: Path) -> None:
        super().__init__(cluster, mechanism, directory)
        self._authority = cluster.authority
        self.undo.callback(self.restart_with, cluster.server_keys, cluster.server_keys.read_bytes())
        self._trust(self._authority)
        self.settings = self.with_tls("TLS", {"ca": str(directory / "ca.pem")})
        self.refusal = "not signed by an authority that this client trusts"

    def rotate(self) -> None:
        name = f"ca-{uuid.uuid4().hex[:4]}"
        self._authority = Authority(self.directory / name, name)
        self.grant()

    def revoke(self) -> None:
        self._serve(self.cluster.foreign)

    def grant(self) -> None:
        self._serve(self._authority)
        self._trust(self._authority)

    def spoil(self) -> None:
        self._trust(self.cluster.foreign)

    def expire(self) -> None:
        """The broker's certificate has expired: that of another listener."""
        self.settings["bootstrap.servers"] = self.cluster.cluster.servers_of("EXPIRED")
        self.refusal = "has expired"

    def _trust(self, authority: Authority) -> None:
        replace_file(self.directory / "ca.pem", authority.file.read_bytes())

    def _serve(self, authority: Authority) -> None:
        served = authority.server(f"server-{uuid.uuid4().hex[:4]}")
        self.restart_with(self.cluster.server_keys, served.both.read_bytes())
