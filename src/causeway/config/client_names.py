"""Client properties by librdkafka's names or by Java's, as librdkafka's.

What has no counterpart is a problem that says what to do instead. A value that is still a reference is left
as it is: the properties are translated again once references are resolved, where a client is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from causeway.config import jaas
from causeway.config.java_names import JAVA_ALONE, RENAMED, UNSUPPORTED
from causeway.config.properties import (
    AGREED,
    HOSTNAME,
    MECHANISM,
    REFUSED,
    SAME,
    TOKEN_FILE,
    TOKEN_URL,
    TRUSTSTORE,
    TRUSTSTORE_PASSWORD,
)
from causeway.config.secrets import has_reference

_STORES = re.compile(r"ssl\.(truststore|keystore)\.(\w+(?:\.\w+)?)")
_OIDC = "sasl.oauthbearer.method"
_HANDLER = "sasl.login.callback.handler.class"
_LOGINS = {"PlainLoginModule": "PLAIN", "ScramLoginModule": "SCRAM-", "OAuthBearerLoginModule": "OAUTHBEARER"}
_BEARER_OPTIONS = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}


@dataclass
class TranslatedNames:
    properties: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    """The name that was given, for each property."""
    problems: list[tuple[str, str]] = field(default_factory=list)
    """Given names and what is wrong, without values."""

    def set(self, name: str, value: str, given: str) -> None:
        """Set a property. Both names of one thing, with different values, are a problem."""
        same = next(
            (other for other in self.properties if SAME.get(other, other) == SAME.get(name, name)), ""
        )
        if same and (same != name or self.properties[same] != value) and self.origins[same] != given:
            self.problems.append((given, f"means the same as {self.origins[same]}: give one of them"))
        self.properties[name], self.origins[name] = value, given


def translated(given: Mapping[str, str], beside: Mapping[str, str] | None = None) -> TranslatedNames:
    """Properties of one table. `beside` has what else the same clients get, such as the type of a store."""
    names = TranslatedNames()
    around = {**(beside or {}), **given}
    for name, value in given.items():
        if _STORES.fullmatch(name):
            _store(names, name, value, around)
        elif name == "sasl.jaas.config":
            _login(names, name, value, around)
        elif name in AGREED:
            if value.lower() not in AGREED[name]:
                names.problems.append((name, f"Causeway sets this property itself: {REFUSED[name]}"))
        elif name in UNSUPPORTED:
            names.problems.append((name, UNSUPPORTED[name]))
        elif name in JAVA_ALONE:
            names.problems.append((name, f"leave it out: {JAVA_ALONE[name]}"))
        elif name in RENAMED:
            names.set(RENAMED[name], "0" if value == "-1" else value, name)
        elif name in _SPECIAL:
            _SPECIAL[name](names, name, value)
        else:
            names.set(name, value, name)
    if TOKEN_URL in names.properties and _OIDC not in around:
        names.set(_OIDC, "oidc", TOKEN_URL)
    return names


def _hostname(names: TranslatedNames, name: str, value: str) -> None:
    names.set(name, value or "none", name)


def _handler(names: TranslatedNames, name: str, value: str) -> None:
    """Kafka's own handler of OIDC is what librdkafka does by itself."""
    if not value.endswith(".OAuthBearerLoginCallbackHandler") and not has_reference(value):
        names.problems.append(
            (name, "Java code cannot be run; set token_url or token_file in the [sasl] table")
        )


def _token_url(names: TranslatedNames, name: str, value: str) -> None:
    """Java reads the token itself from a file: URL."""
    if value.lower().startswith("file:"):
        names.set(TOKEN_FILE, re.sub(r"(?i)^file:(?://(?:localhost)?)?", "", value), name)
    else:
        names.set(name, value, name)


def _cipher_suites(names: TranslatedNames, name: str, value: str) -> None:
    if re.search(r"(?:^|[,:\s])(?:TLS|SSL)_", value):
        names.problems.append((name, "librdkafka uses OpenSSL's names of cipher suites, for TLS 1.2"))
    else:
        names.set(name, value, name)


_SPECIAL = {
    HOSTNAME: _hostname,
    _HANDLER: _handler,
    TOKEN_URL: _token_url,
    "ssl.cipher.suites": _cipher_suites,
}


def _store(names: TranslatedNames, name: str, value: str, around: Mapping[str, str]) -> None:
    """Certificates: librdkafka reads PEM, and PKCS#12 keystores, but not Java's own JKS."""
    parts = _STORES.fullmatch(name)
    assert parts is not None
    store, key = parts[1], parts[2]
    kind = around.get(f"ssl.{store}.type", "").upper()
    if has_reference(kind):
        names.set(name, value, name)  # translated once it is known
        return
    is_jks = kind in ("JKS", "JCEKS") or (not kind and value.lower().endswith((".jks", ".keystore")))
    match store, key, kind:
        case _, "type", _:
            if kind not in ("PEM", "PKCS12", "JKS", "JCEKS"):
                names.problems.append((name, "must be PEM or PKCS12"))
        case _, "location", _ if is_jks:
            names.problems.append((name, conversion(store, value)))
        case _, "password", "JKS" | "JCEKS":
            pass  # the location has the problem
        case "truststore", "location", "PEM":
            names.set("ssl.ca.location", value, name)
        case "truststore", "certificates", "" | "PEM":
            names.set("ssl.ca.pem", value, name)
        case "truststore", "location", _:
            names.set(TRUSTSTORE, value, name)
        case "truststore", "password", "" | "PKCS12":
            names.set(TRUSTSTORE_PASSWORD, value, name)
        case "keystore", "location", "PEM":
            names.set("ssl.certificate.location", value, name)
            names.set("ssl.key.location", value, name)
        case "keystore", "certificate.chain", "" | "PEM":
            names.set("ssl.certificate.pem", value, name)
        case "keystore", "key", "" | "PEM":
            names.set("ssl.key.pem", value, name)
        case "keystore", "location" | "password", "" | "PKCS12":
            names.set(name, value, name)
        case _, "password", "PEM":
            names.problems.append((name, "leave it out: a PEM file has no password, its key may have one"))
        case _:
            names.problems.append((name, "does not belong to a store of this type"))


def conversion(store: str, path: str) -> str:
    """How to make of Java's own format what OpenSSL reads."""
    base = re.sub(r"\.\w+$", "", path)
    first = f"keytool -importkeystore -srckeystore {path} -destkeystore {base}.p12 -deststoretype PKCS12"
    pem = f"openssl pkcs12 -in {base}.p12 {'-nokeys' if store == 'truststore' else '-nodes'} -out {base}.pem"
    return (
        f"JKS cannot be read. Convert it: `{first}`, then set ssl.{store}.type to PKCS12; or further, "
        f"`{pem}`, and set it to PEM"
    )


def _login(names: TranslatedNames, name: str, value: str, around: Mapping[str, str]) -> None:
    """User and password, or the client of OIDC, from a JAAS line. Messages quote nothing of it."""
    try:
        module, options = jaas.parse(value)
    except ValueError as error:
        if has_reference(value):
            names.set(name, value, name)
        else:
            names.problems.append((name, str(error)))
        return
    mechanism = around.get(MECHANISM, around.get("sasl.mechanisms", ""))
    if module not in _LOGINS:
        names.problems.append(
            (name, f"only {', '.join(_LOGINS)} can be used; for Kerberos, librdkafka has sasl.kerberos.*")
        )
    elif mechanism and not mechanism.upper().startswith(_LOGINS[module]) and not has_reference(mechanism):
        needed = "SCRAM-SHA-256 or SCRAM-SHA-512" if module == "ScramLoginModule" else _LOGINS[module]
        names.problems.append((name, f"{module} needs sasl.mechanism = {needed}"))
    elif module == "OAuthBearerLoginModule":
        _bearer(names, name, options)
    else:
        missing = [option for option in ("username", "password") if not options.get(option)]
        unknown = [option for option in options if option not in ("username", "password")]
        if missing:
            names.problems.append((name, f"has no {' and no '.join(missing)}"))
        elif unknown:
            names.problems.append((name, "has an option that is neither username nor password"))
        else:
            names.set("sasl.username", options["username"], name)
            names.set("sasl.password", options["password"], name)


def _bearer(names: TranslatedNames, name: str, options: Mapping[str, str]) -> None:
    extensions = {
        option.removeprefix("extension_"): value
        for option, value in options.items()
        if option.startswith("extension_")
    }
    if any(not option.startswith("extension_") and option not in _BEARER_OPTIONS for option in options):
        names.problems.append(
            (name, "has an option that is not clientId, clientSecret, scope or extension_…")
        )
        return
    for option, becomes in _BEARER_OPTIONS.items():
        if option in options:
            names.set(becomes, options[option], name)
    if extensions:
        text = ",".join(f"{extension}={value}" for extension, value in extensions.items())
        names.set("sasl.oauthbearer.extensions", text, name)
