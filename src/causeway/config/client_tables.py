"""The properties of a cluster's clients, by librdkafka's names: from [sasl], [tls] and the property tables.

Owns what the typed settings become, and which combinations are dangerous. Everything that makes clients
(driver, tasks, check, verify, adopt, offsets) gets its properties here. References stay in the values.

A few properties are Causeway's own, for what librdkafka cannot read by itself; `kafka/credentials.py`
replaces them when a client is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the schema checks clusters with this module
    from causeway.config.schema import ClusterSettings

TOKEN_FILE = "causeway.token.file"
TRUSTSTORE = "causeway.truststore.location"
TRUSTSTORE_PASSWORD = "causeway.truststore.password"

PROTOCOL = "security.protocol"
MECHANISM = "sasl.mechanism"
HOSTNAME = "ssl.endpoint.identification.algorithm"
VERIFICATION = "enable.ssl.certificate.verification"
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"

PEM_TEXT: Mapping[str, str] = {
    "ssl.ca.location": "ssl.ca.pem",
    "ssl.certificate.location": "ssl.certificate.pem",
    "ssl.key.location": "ssl.key.pem",
    "https.ca.location": "https.ca.pem",
}
"""Properties for a PEM file, with those for its text. Which one it is shows once references are resolved."""

_SAME: Mapping[str, str] = {text: file for file, text in PEM_TEXT.items()} | {
    "sasl.mechanisms": MECHANISM,
    TRUSTSTORE: "ssl.ca.location",
}
"""Names of the same thing."""

_SASL: Mapping[str, tuple[str, ...]] = {
    "mechanism": (MECHANISM,),
    "username": ("sasl.username",),
    "password": ("sasl.password",),
    "token_file": (TOKEN_FILE,),
    "token_url": (TOKEN_URL,),
    "client_id": ("sasl.oauthbearer.client.id",),
    "client_secret": ("sasl.oauthbearer.client.secret",),
    "scope": ("sasl.oauthbearer.scope",),
    "token_ca": ("https.ca.location",),
}
_TLS: Mapping[str, tuple[str, ...]] = {
    "ca": ("ssl.ca.location",),
    "certificate": ("ssl.certificate.location",),
    "key": ("ssl.key.location",),
    "key_password": ("ssl.key.password",),
    "keystore": ("ssl.keystore.location",),
    "keystore_password": ("ssl.keystore.password",),
    "truststore": (TRUSTSTORE,),
    "truststore_password": (TRUSTSTORE_PASSWORD,),
}


@dataclass(frozen=True)
class ClientTables:
    """Properties of all clients, and those of consumers or producers, which override them."""

    properties: Mapping[str, str]
    consumer: Mapping[str, str]
    producer: Mapping[str, str]


@dataclass(frozen=True)
class Danger:
    """A setting that lets others read secrets, or impersonate brokers."""

    path: tuple[str, ...]  # of the setting, inside the cluster's table
    table: str  # the one whose `unsafe` allows it: "sasl" or "tls"
    what: str
    instead: str


def client_tables(cluster: ClusterSettings) -> ClientTables:
    typed = {name: value for name, (value, _) in typed_properties(cluster).items()}
    return ClientTables({**typed, **cluster.properties}, dict(cluster.consumer), dict(cluster.producer))


def typed_properties(cluster: ClusterSettings) -> dict[str, tuple[str, tuple[str, ...]]]:
    """What [sasl] and [tls] become: the value of each property, and the path of the setting."""
    sasl, tls, raw = cluster.sasl, cluster.tls, cluster.properties
    made: dict[str, tuple[str, tuple[str, ...]]] = {}
    for section, table, keys in (("sasl", sasl, _SASL), ("tls", tls, _TLS)):
        for key, names in keys.items() if table is not None else ():
            if value := getattr(table, key):
                made |= {name: (str(value), (section, key)) for name in names}
    if tls is not None:
        if tls.certificate and not tls.key:
            made["ssl.key.location"] = (tls.certificate, ("tls", "certificate"))
        if not tls.verify_hostname:
            made[HOSTNAME] = ("none", ("tls", "verify_hostname"))
        if not tls.verify_certificate:
            made[VERIFICATION] = ("false", ("tls", "verify_certificate"))
    if sasl is not None:
        if sasl.token_url:
            made["sasl.oauthbearer.method"] = ("oidc", ("sasl", "token_url"))
        if sasl.extensions:
            extensions = ",".join(f"{name}={value}" for name, value in sasl.extensions.items())
            made["sasl.oauthbearer.extensions"] = (extensions, ("sasl", "extensions"))
    asked_for_tls = tls is not None and tls.model_fields_set != {"unsafe"}
    if asked_for_tls or MECHANISM in made:
        with_sasl = MECHANISM in made or any(name in raw for name in (MECHANISM, "sasl.mechanisms"))
        with_tls = tls is not None or any(name.startswith("ssl.") for name in raw)
        protocol = ("SASL_" if with_sasl else "") + ("SSL" if with_tls else "PLAINTEXT")
        made[PROTOCOL] = (protocol, ("tls",) if asked_for_tls else ("sasl",))
    return made


def conflicts(cluster: ClusterSettings) -> Iterator[tuple[tuple[str, ...], str]]:
    """Properties that a typed setting sets too, with their paths."""
    typed = {_SAME.get(name, name): path for name, (_, path) in typed_properties(cluster).items()}
    for table in ("properties", "consumer", "producer"):
        for name in getattr(cluster, table):
            setting = typed.get(_SAME.get(name, name))
            if setting is not None:
                yield (table, name), f"is set by {'.'.join(setting)} of this cluster too: give one of them"


def dangers(
    cluster: ClusterSettings, resolved: Callable[[str], str] = lambda value: value
) -> Iterator[Danger]:
    """What `unsafe` of [sasl] or [tls] must allow. `resolved` replaces references, as far as it can."""
    typed = typed_properties(cluster)
    tables = client_tables(cluster)
    for kind, special in (("consumer", tables.consumer), ("producer", tables.producer)):
        merged = {**tables.properties, **special}

        def path(name: str, kind: str = kind, special: Mapping[str, str] = special) -> tuple[str, ...]:
            return (
                (kind, name) if name in special else typed[name][1] if name in typed else ("properties", name)
            )

        values = {name: resolved(value).strip().lower() for name, value in merged.items() if name in _JUDGED}
        mechanism_name = next((name for name in (MECHANISM, "sasl.mechanisms") if name in merged), "")
        mechanism = values.get(mechanism_name, "")
        if values.get(PROTOCOL) == "sasl_plaintext" and mechanism in ("plain", "oauthbearer"):
            secret = "the password" if mechanism == "plain" else "its token"
            yield Danger(
                path(mechanism_name),
                "sasl",
                f"{mechanism.upper()} without TLS sends {secret} unencrypted",
                "TLS",
            )
        if values.get(TOKEN_URL, "").startswith("http:"):
            yield Danger(
                path(TOKEN_URL), "sasl", "without https the client secret is sent unencrypted", "https://"
            )
        if values.get(HOSTNAME) in ("none", ""):
            yield Danger(
                path(HOSTNAME),
                "tls",
                "the host names in brokers' certificates are not verified: others can impersonate brokers",
                "certificates that name the hosts",
            )
        if values.get(VERIFICATION) in _FALSE:
            yield Danger(
                path(VERIFICATION),
                "tls",
                "brokers' certificates are not verified: others can impersonate brokers",
                "the CA that signed them, in tls.ca",
            )


_JUDGED = (PROTOCOL, MECHANISM, "sasl.mechanisms", TOKEN_URL, HOSTNAME, VERIFICATION)
_FALSE = ("false", "f", "0")


def refused(
    cluster: ClusterSettings, resolved: Callable[[str], str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Dangers that the cluster's table does not allow."""
    for danger in dangers(cluster, resolved):
        table = getattr(cluster, danger.table)
        if table is None or not table.unsafe:
            yield (
                danger.path,
                f"{danger.what}; use {danger.instead}, or allow it with {danger.table}.unsafe = true",
            )


def warnings(alias: str, cluster: ClusterSettings) -> list[str]:
    """A line for each danger that the cluster's table allows, for the log at each start."""
    lines = (
        f'cluster "{alias}": {danger.what} ({danger.table}.unsafe = true)' for danger in dangers(cluster)
    )
    return list(dict.fromkeys(lines))
