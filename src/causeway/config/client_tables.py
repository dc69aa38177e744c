"""The properties of a cluster's clients, by librdkafka's names: from [sasl], [tls] and the property tables.

Owns what the typed settings become, and which combinations are dangerous. Everything that makes clients
(driver, tasks, check, verify, adopt, offsets) gets its properties here. References stay in the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from causeway.config.client_names import TranslatedNames, translated
from causeway.config.properties import (
    CLIENT_TABLES,
    HOSTNAME,
    MECHANISM,
    PROTOCOL,
    SAME,
    TOKEN_FILE,
    TOKEN_URL,
    TRUSTSTORE,
    TRUSTSTORE_PASSWORD,
    VERIFICATION,
)
from causeway.config.schema import ClusterSettings

_SASL: Mapping[str, str] = {
    "mechanism": MECHANISM,
    "username": "sasl.username",
    "password": "sasl.password",
    "token_file": TOKEN_FILE,
    "token_url": TOKEN_URL,
    "client_id": "sasl.oauthbearer.client.id",
    "client_secret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
    "token_ca": "https.ca.location",
}
_TLS: Mapping[str, str] = {
    "ca": "ssl.ca.location",
    "certificate": "ssl.certificate.location",
    "key": "ssl.key.location",
    "key_password": "ssl.key.password",
    "keystore": "ssl.keystore.location",
    "keystore_password": "ssl.keystore.password",
    "truststore": TRUSTSTORE,
    "truststore_password": TRUSTSTORE_PASSWORD,
}


SettingPath = tuple[str, ...]
Resolve = Callable[[str], str]


@dataclass(frozen=True)
class ClientTables:
    """Properties of all clients, and those of consumers or producers, which override them."""

    properties: Mapping[str, str]
    consumer: Mapping[str, str]
    producer: Mapping[str, str]


@dataclass(frozen=True)
class Danger:
    """A setting that lets others read secrets, or impersonate brokers."""

    path: SettingPath  # of the setting, inside the cluster's table
    table: str  # the one whose `unsafe` allows it: "sasl" or "tls"
    what: str
    instead: str


def client_tables(cluster: ClusterSettings) -> ClientTables:
    names = _names(cluster)
    typed = {name: value for name, (value, _) in _typed(cluster, names["properties"]).items()}
    common, consumer, producer = (names[table].properties for table in CLIENT_TABLES)
    return ClientTables({**typed, **common}, consumer, producer)


def _names(cluster: ClusterSettings) -> dict[str, TranslatedNames]:
    """The property tables by librdkafka's names."""
    common = cluster.properties
    return {table: translated(getattr(cluster, table), common) for table in CLIENT_TABLES}


def _typed(cluster: ClusterSettings, common: TranslatedNames) -> dict[str, tuple[str, SettingPath]]:
    """What [sasl] and [tls] become: the value of each property, and the path of the setting."""
    sasl, tls, raw = cluster.sasl, cluster.tls, common.properties
    made: dict[str, tuple[str, SettingPath]] = {}
    for section, table, keys in (("sasl", sasl, _SASL), ("tls", tls, _TLS)):
        for key, name in keys.items() if table is not None else ():
            if value := getattr(table, key):
                made[name] = (str(value), (section, key))
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
        with_tls = tls is not None or any(name.startswith("ssl.") or name == TRUSTSTORE for name in raw)
        protocol = ("SASL_" if with_sasl else "") + ("SSL" if with_tls else "PLAINTEXT")
        made[PROTOCOL] = (protocol, ("tls",) if asked_for_tls else ("sasl",))
    return made


def problems(cluster: ClusterSettings, resolved: Resolve) -> Iterator[tuple[SettingPath, str]]:
    """What is wrong with the cluster's settings, with the path of each inside its table."""
    names = _names(cluster)
    typed = _typed(cluster, names["properties"])
    settings = {SAME.get(name, name): path for name, (_, path) in typed.items()}
    for table, translated_names in names.items():
        for name, problem in translated_names.problems:
            yield (table, name), problem
        for name, given in translated_names.origins.items():
            setting = settings.get(SAME.get(name, name))
            if setting is not None:
                yield (table, given), f"is set by {'.'.join(setting)} of this cluster too: give one of them"
        user = translated_names.origins.get("sasl.username")
        merged = {**client_tables(cluster).properties, **translated_names.properties}
        if user and PROTOCOL in merged and not {MECHANISM, "sasl.mechanisms"} & merged.keys():
            yield (table, user), "needs sasl.mechanism too: without it, clients would try Kerberos"
    for danger in dangers(cluster, resolved):
        allowing = getattr(cluster, danger.table)
        if allowing is None or not allowing.unsafe:
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


def dangers(cluster: ClusterSettings, resolved: Resolve = lambda value: value) -> Iterator[Danger]:
    """What `unsafe` of [sasl] or [tls] must allow. `resolved` replaces references, as far as it can."""
    names = _names(cluster)
    paths: dict[str, SettingPath] = {
        name: path for name, (_, path) in _typed(cluster, names["properties"]).items()
    }
    common = client_tables(cluster).properties
    for table in CLIENT_TABLES[1:]:
        merged = {**common, **names[table].properties}
        for own in ("properties", table):
            paths |= {name: (own, given) for name, given in names[own].origins.items()}
        values = {name: resolved(merged[name]).strip().lower() for name in _JUDGED if name in merged}
        yield from _judged(values, paths)


def _judged(values: Mapping[str, str], paths: Mapping[str, SettingPath]) -> Iterator[Danger]:
    mechanism = next((name for name in (MECHANISM, "sasl.mechanisms") if name in values), "")
    secret = {"plain": "the password", "oauthbearer": "its token"}.get(values.get(mechanism, ""))
    if secret and values.get(PROTOCOL) == "sasl_plaintext":
        what = f"{values[mechanism].upper()} without TLS sends {secret} unencrypted"
        yield Danger(paths[mechanism], "sasl", what, "TLS")
    if _OPEN_URL.match(values.get(TOKEN_URL, "")):
        what = "without https the client secret is sent unencrypted"
        yield Danger(paths[TOKEN_URL], "sasl", what, "https://")
    if values.get(HOSTNAME) in ("none", ""):
        what = "the host names in brokers' certificates are not verified: others can impersonate brokers"
        yield Danger(paths[HOSTNAME], "tls", what, "certificates that name the hosts")
    if values.get(VERIFICATION) in _FALSE:
        what = "brokers' certificates are not verified: others can impersonate brokers"
        yield Danger(paths[VERIFICATION], "tls", what, "the CA that signed them, in tls.ca")


_JUDGED = (PROTOCOL, MECHANISM, "sasl.mechanisms", TOKEN_URL, HOSTNAME, VERIFICATION)
_FALSE = ("false", "f", "0")
_OPEN_URL = re.compile(r"http:(?!//(?:localhost|127\.[\d.]+|\[::1\])(?:[:/]|$))")  # loopback is no network
