"""How to log in to a cluster: [clusters.x.sasl] and [clusters.x.tls].

Owns the keys, and which of them belong together. `client_tables.py` makes librdkafka's properties of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from causeway.config.fields import Flag, Late, Shown, without_user
from causeway.config.routing import ConfigTable

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
Text = Annotated[str, Late(), Shown("string")]
PemFile = Annotated[str, Late(), Shown("path of a PEM file, or its text")]
FilePath = Annotated[str, Late(), Shown("path")]

_LOGIN = ("username", "password")
_CLIENT = ("token_url", "client_id", "client_secret", "scope", "token_ca")
_BEARER = ("token_file", *_CLIENT, "extensions")


def _extensions(value: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(text, str) and "," not in name + text for name, text in value.items()):
        raise ValueError("takes names and strings without commas")
    return value


class SaslSettings(ConfigTable):
    """How clients authenticate to the brokers. Without this table, and without client properties that say
    otherwise, they do not (or only by their certificate, see `tls`)."""

    mechanism: Mechanism | None = Field(
        default=None,
        description="SASL mechanism. PLAIN and OAUTHBEARER need `tls`: they send the secret itself.",
        examples=["SCRAM-SHA-512"],
    )
    username: Text = Field(default="", description="User name, for PLAIN and SCRAM.", examples=["causeway"])
    password: Text = Field(
        default="", description="Its password. Write a reference.", examples=["${file:/run/secrets/paris}"]
    )
    token_file: FilePath = Field(
        default="",
        description="For OAUTHBEARER: a file with the token. It is read again every minute.",
        examples=["/var/run/secrets/tokens/kafka"],
    )
    token_url: Annotated[str, Late(), AfterValidator(without_user), Shown("string")] = Field(
        default="",
        description="For OAUTHBEARER instead: where clients get tokens by OIDC client credentials.",
        examples=["https://idp.example.com/oauth2/token"],
    )
    client_id: Text = Field(default="", description="Client id for `token_url`.", examples=["causeway"])
    client_secret: Text = Field(
        default="",
        description="Client secret for `token_url`. Write a reference.",
        examples=["${env:OIDC_SECRET}"],
    )
    scope: Text = Field(default="", description="Scope to request from `token_url`.", examples=["kafka"])
    token_ca: PemFile = Field(
        default="",
        description="CA certificates for `token_url`. Without it: those of the system.",
        examples=["/etc/kafka/idp-ca.pem"],
    )
    extensions: Annotated[dict[str, Any], Late(), AfterValidator(_extensions), Shown("table of strings")] = (
        Field(
            default={},
            description="SASL extensions that are sent with the token.",
            examples=[{"logicalCluster": "lkc-1"}],
        )
    )
    unsafe: Flag = Field(
        default=False,
        description="Allow PLAIN and OAUTHBEARER without TLS, and a `token_url` without https: everyone on "
        "the network can read the secret. A warning at each start says so.",
    )

    @model_validator(mode="after")
    def _complete(self) -> SaslSettings:
        if self.mechanism is None:
            _only_without(self, (*_LOGIN, *_BEARER), "needs a mechanism")
        elif self.mechanism == "OAUTHBEARER":
            _only_without(self, _LOGIN, "does not belong to OAUTHBEARER")
            if bool(self.token_file) == bool(self.token_url):
                raise ValueError("OAUTHBEARER needs either token_file or token_url")
            if self.token_file:
                _only_without(self, _CLIENT, "does not belong to token_file")
            else:
                _require(self, ("client_id", "client_secret"), "token_url")
        else:
            _only_without(self, _BEARER, f"does not belong to {self.mechanism}")
            _require(self, _LOGIN, self.mechanism)
        return self


class TlsSettings(ConfigTable):
    """Encryption, and whom to trust. The table by itself switches TLS on, with the CAs of the system.

    Certificates and keys are PEM files; PKCS#12 works too. Files are read whenever a client is created, on
    the machine where it is created.
    """

    ca: PemFile = Field(
        default="",
        description="CA certificates that sign the brokers'. Without it: those of the system.",
        examples=["/etc/kafka/ca.pem"],
    )
    certificate: PemFile = Field(
        default="",
        description="Client certificate, followed by its chain, for brokers that request one.",
        examples=["/etc/kafka/causeway.pem"],
    )
    key: PemFile = Field(
        default="",
        description="Its private key. Without it: from the file of the certificate.",
        examples=["/etc/kafka/causeway.key"],
    )
    key_password: Text = Field(
        default="", description="Password of the private key.", examples=["${env:KEY_PASSWORD}"]
    )
    keystore: FilePath = Field(
        default="",
        description="PKCS#12 file with client certificate and key, instead of `certificate` and `key`.",
        examples=["/etc/kafka/causeway.p12"],
    )
    keystore_password: Text = Field(
        default="", description="Its password.", examples=["${env:KEYSTORE_PASSWORD}"]
    )
    truststore: FilePath = Field(
        default="",
        description="PKCS#12 file with CA certificates, instead of `ca`.",
        examples=["/etc/kafka/ca.p12"],
    )
    truststore_password: Text = Field(
        default="", description="Its password.", examples=["${env:TRUSTSTORE_PASSWORD}"]
    )
    verify_hostname: Flag = Field(
        default=True,
        description="Whether a broker's certificate must name the host that clients connect to.",
    )
    verify_certificate: Flag = Field(
        default=True, description="Whether a broker's certificate must be signed by a trusted CA."
    )
    unsafe: Flag = Field(
        default=False,
        description="Allow `verify_hostname = false` and `verify_certificate = false`: clients then send "
        "credentials and records to whoever responds. A warning at each start says so.",
    )

    @model_validator(mode="after")
    def _complete(self) -> TlsSettings:
        off = [key for key in ("verify_hostname", "verify_certificate") if not getattr(self, key)]
        if off and not self.unsafe:
            raise ValueError(f"{off[0]} = false also needs unsafe = true: it lets others impersonate brokers")
        for key, needed in (
            ("key", "certificate"),
            ("key_password", "certificate"),
            ("keystore_password", "keystore"),
            ("truststore_password", "truststore"),
        ):
            if getattr(self, key):
                _require(self, (needed,), key)
        for pem, store in (("certificate", "keystore"), ("ca", "truststore")):
            if getattr(self, pem) and getattr(self, store):
                raise ValueError(f"{pem} and {store} are two ways to say the same: give one of them")
        return self


def _require(table: ConfigTable, keys: Iterable[str], by: str) -> None:
    missing = [key for key in keys if not getattr(table, key)]
    if missing:
        raise ValueError(f"{by} needs {' and '.join(missing)}")


def _only_without(table: ConfigTable, keys: Iterable[str], why: str) -> None:
    given = [key for key in keys if getattr(table, key)]
    if given:
        raise ValueError(f"{given[0]} {why}")
