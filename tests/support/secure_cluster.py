"""One broker with a listener of each kind: every mechanism, with and without TLS, and every bad certificate.

CLIENT stays PLAINTEXT, so that `World` can write and read as in every other test. The other listeners:

    SASL, SASL_TLS                          all mechanisms
    PLAIN_ALONE                             one mechanism, without TLS
    TLS, MUTUAL_TLS                         certificates alone; each has files of its own, which a test may
                                            replace where it restarts the broker
    EXPIRED, FUTURE, FOREIGN, WRONG_HOST    TLS, with certificates that a client must refuse
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from causeway.local_kafka import AUTHORIZER, EmbeddedCluster, ListenerSecurity
from causeway.local_kafka.cluster import SMALL
from causeway.local_kafka.listener_security import allowed_urls
from support.acls import Acls
from support.certificates import Authority
from support.shared_brokers import SHARED_BROKER
from support.token_endpoint import AUDIENCE, TokenEndpoint

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
PLAIN_USER, PLAIN_PASSWORD = "plain-user", 'a "quoted\\ password'
CERTIFICATE_USER = "with-a-certificate"
"""Who has a client certificate, whatever its name is."""
PERMISSIONS = {**AUTHORIZER, "super.users": f"User:ANONYMOUS;User:{PLAIN_USER};User:{CERTIFICATE_USER}"}
REAUTHENTICATION_MS = 5_000
"""After this long a client has to authenticate again: so a revoked user is refused while it is connected."""
_TLS_ALONE, _CLIENT_CA = "tls-alone", "clients-ca.pem"


class SecureCluster:
    def __init__(
        self, cluster: EmbeddedCluster, authority: Authority, foreign: Authority, tokens: TokenEndpoint
    ) -> None:
        self.cluster = cluster
        self.authority = authority
        self.foreign = foreign
        self.tokens = tokens
        self.acls = Acls(cluster.internal_servers)
        self.server_keys = authority.directory / f"{_TLS_ALONE}.both.pem"  # of TLS
        self.client_ca = authority.directory / _CLIENT_CA  # of MUTUAL_TLS

    def user(self, mechanism: str) -> tuple[str, str]:
        """A user of this mechanism, and its password: a new one, where the mechanism allows that."""
        user, password = f"user-{uuid.uuid4().hex[:8]}", f"pw-{uuid.uuid4().hex}"
        if mechanism == "PLAIN":
            return PLAIN_USER, PLAIN_PASSWORD
        self.set_password(mechanism, user, password)
        return user, password

    def set_password(self, mechanism: str, user: str, password: str) -> None:
        """The user may do everything; one that `cluster.set_scram_user` adds, only what `acls` grants."""
        self.acls.grant_everything(f"User:{user}")
        if mechanism == "OAUTHBEARER":
            self.tokens.clients[user] = password
        else:
            self.cluster.set_scram_user(mechanism, user, password)

    def revoke(self, mechanism: str, user: str) -> None:
        if mechanism == "OAUTHBEARER":
            del self.tokens.clients[user]
        else:
            self.cluster.remove_scram_user(mechanism, user)

    def login(self, mechanism: str, user: str, password: str, *, tls: bool = True) -> dict[str, str]:
        """A client's properties by librdkafka's names, with the address."""
        listener = "SASL_TLS" if tls else "SASL"
        properties = {
            "bootstrap.servers": self.cluster.servers_of(listener),
            "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
        }
        if tls:
            properties["ssl.ca.location"] = str(self.authority.file)
        if mechanism == "OAUTHBEARER":
            return properties | {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": user,
                "sasl.oauthbearer.client.secret": password,
                "sasl.oauthbearer.token.endpoint.url": self.tokens.token_url,
            }
        return properties | {"sasl.username": user, "sasl.password": password}

    def tls(self, listener: str = "TLS", **properties: str) -> dict[str, str]:
        """A client's properties for a listener without SASL; names have underscores for dots."""
        return {
            "bootstrap.servers": self.cluster.servers_of(listener),
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.authority.file),
            **{name.replace("_", "."): value for name, value in properties.items()},
        }

    def mutual_tls(self, name: str = "a-client", *, password: str = "") -> dict[str, str]:
        """The same with a client certificate."""
        files = self.authority.client(name, password=password)
        properties = self.tls(
            "MUTUAL_TLS", ssl_certificate_location=str(files.certificate), ssl_key_location=str(files.key)
        )
        return properties | ({"ssl.key.password": password} if password else {})


@contextlib.contextmanager
def secure_cluster(
    name: str,
    directory: Path,
    *,
    config: Mapping[str, str] | None = None,
) -> Iterator[SecureCluster]:
    """Start one. Permissions are checked; who needs no authentication, as on CLIENT, may do everything."""
    authority, foreign = Authority(directory / "keys"), Authority(directory / "keys", "foreign")
    tokens = TokenEndpoint()
    try:
        with EmbeddedCluster.start(
            name,
            directory=directory / "cluster",
            listeners=listeners(authority, foreign, tokens),
            java_options=f"{SMALL} {allowed_urls(tokens.jwks_url)}",
            config={**SHARED_BROKER, **PERMISSIONS, **(config or {})},
        ) as cluster:
            yield SecureCluster(cluster, authority, foreign, tokens)
    finally:
        tokens.close()


def listeners(authority: Authority, foreign: Authority, tokens: TokenEndpoint) -> dict[str, ListenerSecurity]:
    good = authority.server("server").both
    client_ca = authority.directory / _CLIENT_CA
    client_ca.write_bytes(authority.file.read_bytes())
    reauthentication = {"connections.max.reauth.ms": str(REAUTHENTICATION_MS)}
    plain = ListenerSecurity(properties=reauthentication).with_plain({PLAIN_USER: PLAIN_PASSWORD})
    sasl = plain.with_scram("SCRAM-SHA-256").with_scram("SCRAM-SHA-512")
    sasl = sasl.with_oauth(tokens.jwks_url, AUDIENCE)
    open_to_all = ListenerSecurity()
    mutual = open_to_all.with_tls(good, clients=client_ca)
    return {
        "SASL": sasl,
        "SASL_TLS": sasl.with_tls(good),
        "PLAIN_ALONE": plain,
        "TLS": open_to_all.with_tls(authority.server(_TLS_ALONE).both),
        "MUTUAL_TLS": replace(
            mutual,
            properties={**mutual.properties, "ssl.principal.mapping.rules": f"RULE:^.*$/{CERTIFICATE_USER}/"},
        ),
        "EXPIRED": open_to_all.with_tls(authority.server("expired", since=-10, until=-1).both),
        "FUTURE": open_to_all.with_tls(authority.server("future", since=1).both),
        "FOREIGN": open_to_all.with_tls(foreign.server("foreign-server").both),
        "WRONG_HOST": open_to_all.with_tls(authority.server("elsewhere", "elsewhere.example").both),
    }


__all__ = ["MECHANISMS", "SecureCluster", "secure_cluster"]
