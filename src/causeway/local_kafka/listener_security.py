"""How clients connect to a listener: its protocol, its mechanisms, and the broker's settings for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
"""Settings of brokers that check permissions. The brokers themselves connect as User:ANONYMOUS."""

SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")

KEY_STORE_PASSWORD = "ssl.keystore.password"
_MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class ListenerSecurity:
    """PLAINTEXT, until TLS or mechanisms are added. `properties` apply to this listener alone."""

    tls: bool = False
    mechanisms: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def protocol(self) -> str:
        if self.mechanisms:
            return "SASL_SSL" if self.tls else "SASL_PLAINTEXT"
        return "SSL" if self.tls else "PLAINTEXT"

    def with_tls(self, keys: Path, *, password: str = "", clients: Path | None = None) -> ListenerSecurity:
        """`keys` is a PEM file with a private key (PKCS #8), its certificate and those that signed it.

        With a password it is a PKCS #12 file. A relative path is relative to each broker's directory.
        With `clients`, a PEM file, each client needs a certificate that one of those certificates signed.
        """
        properties = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(keys)}
        if password:
            properties |= {"ssl.keystore.type": "PKCS12", KEY_STORE_PASSWORD: password}
        if clients is not None:
            properties |= {
                "ssl.client.auth": "required",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(clients),
            }
        return replace(self, tls=True, properties={**self.properties, **properties})

    def with_plain(self, users: Mapping[str, str]) -> ListenerSecurity:
        """PLAIN, with passwords by user name: in server.properties, so fixed while a broker runs."""
        return self._with("PLAIN", "plain.PlainLoginModule", {f"user_{name}": users[name] for name in users})

    def with_scram(self, mechanism: str) -> ListenerSecurity:
        """SCRAM: the cluster itself stores its users (`EmbeddedCluster.set_scram_user`)."""
        return self._with(mechanism, "scram.ScramLoginModule", {})

    def with_oauth(self, jwks_url: str, audience: str) -> ListenerSecurity:
        """OAUTHBEARER: tokens signed by one of the keys at the URL.

        The brokers' Java options must allow the URL (`allowed_urls`).
        """
        made = self._with("OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule", {})
        handler = f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        properties = {
            "oauthbearer.sasl.server.callback.handler.class": handler,
            "sasl.oauthbearer.jwks.endpoint.url": jwks_url,
            "sasl.oauthbearer.expected.audience": audience,
        }
        return replace(made, properties={**made.properties, **properties})

    def _with(self, mechanism: str, module: str, options: Mapping[str, str]) -> ListenerSecurity:
        jaas = {f"{mechanism.lower()}.sasl.jaas.config": jaas_config(f"{_MODULES}.{module}", options)}
        return replace(self, mechanisms=(*self.mechanisms, mechanism), properties={**self.properties, **jaas})

    def settings(self, listener: str) -> dict[str, str]:
        """The lines of server.properties for the listener of this name."""
        properties = dict(self.properties)
        if self.mechanisms:
            properties["sasl.enabled.mechanisms"] = ",".join(self.mechanisms)
        return {f"listener.name.{listener.lower()}.{key}": value for key, value in properties.items()}


def allowed_urls(*urls: str) -> str:
    """The Java option without which a broker fetches no keys from a URL."""
    return f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={','.join(urls)}"


def jaas_config(module: str, options: Mapping[str, str]) -> str:
    return " ".join([module, "required", *(f"{name}={_quoted(options[name])}" for name in options)]) + ";"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
