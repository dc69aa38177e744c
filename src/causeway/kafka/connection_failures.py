"""Explains why a cluster refuses a client's connection: TLS, SASL, or a listener of another kind.

librdkafka's text names the phase that failed. What it leaves open, above all which part of a certificate is
wrong, `listener_probe.py` finds out. The rules here are pure: from texts and facts to why and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from confluent_kafka import KafkaError

from causeway.kafka.listener_probe import ListenerFacts, probe

_REFUSALS = frozenset({
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE,
})  # fmt: skip
_ADDRESS = re.compile(r"\b(?:sasl_)?(?:plaintext|ssl)://(?P<host>\[[^\]]+\]|[^:/\s]+):(?P<port>\d+)")
_SUFFIX = re.compile(r" \(after \d+ms in state \w+(?:, \d+ identical error\(s\) suppressed)?\)$")
_AUTHENTICATION = re.compile(r"SASL authentication error: (?:Authentication failed: )?(?P<why>.*)", re.DOTALL)
_HANDSHAKE = re.compile(r"mechanism handshake failed: (?P<why>[^:]*: [^:]*): .*mechanisms: (?P<offered>.*)")
_TOKEN = re.compile(r"Failed to acquire SASL OAUTHBEARER token: (?P<why>.*)", re.DOTALL)
_TLS_FAILURES = ("SSL handshake failed", "SSL alert number")
_GUESSES = (*_TLS_FAILURES, "connecting to a SSL listener?", "broker might require SASL authentication")
"""Where the listener may be of another kind: worth a look."""

_NO_ISSUER = frozenset({
    "unable to get local issuer certificate",
    "unable to get issuer certificate",
    "unable to verify the first certificate",
    "self-signed certificate",
    "self-signed certificate in certificate chain",
    "self signed certificate",
    "self signed certificate in certificate chain",
})  # fmt: skip

_CERTIFICATES = ("ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location")
"""Properties that give the client a certificate."""

Probe = Callable[[str, int, Mapping[str, str]], ListenerFacts]


class Explanation(NamedTuple):
    why: str
    todo: str


@dataclass(frozen=True, slots=True)
class Login:
    """How a client introduces itself: what messages may say of it, never a secret."""

    protocol: str
    mechanism: str
    user: str

    @staticmethod
    def of(properties: Mapping[str, str]) -> Login:
        mechanism = properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "GSSAPI"
        name = "sasl.oauthbearer.client.id" if mechanism == "OAUTHBEARER" else "sasl.username"
        protocol = properties.get("security.protocol", "plaintext").upper()
        return Login(protocol, mechanism if "SASL" in protocol else "", properties.get(name, ""))

    @property
    def tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    def __str__(self) -> str:
        if not self.mechanism:
            return "the client's certificate" if self.tls else "a client without a password"
        return f'{self.mechanism} user "{self.user}"' if self.user else self.mechanism


def refuses_connection(error: KafkaError) -> bool:
    """The cluster refused the connection itself, or this client did: no request came through."""
    return error.code() in _REFUSALS


def may_need_new_client(error: KafkaError) -> bool:
    """A client with other secrets or certificates may get a connection."""
    return refuses_connection(error) or any(failure in error.str() for failure in _TLS_FAILURES)


def may_be_refusal(error: KafkaError) -> bool:
    """The connection failed as it does where the listener expects another kind of client."""
    return refuses_connection(error) or any(guess in error.str() for guess in _GUESSES)


def explain(
    errors: Iterable[KafkaError], properties: Mapping[str, str], look: Probe = probe
) -> Explanation | None:
    """Return why the cluster refuses this client, and what to do; None if it does not.

    `properties` are the client's, with the secrets in them.
    """
    login = Login.of(properties)
    for error in reversed([error for error in errors if may_be_refusal(error)]):
        if "SASL" in error.str() and refuses_connection(error):
            return sasl_refusal(error.str(), login)
        facts = _look(error.str(), properties, look)
        explained = listener_mismatch(facts, login) or tls_refusal(facts, login, properties)
        if explained is not None:
            return explained
        if refuses_connection(error):
            return Explanation(shortened(error.str()), f"check {_tls_settings()}, and the broker's log")
    return None


def explain_silence(properties: Mapping[str, str], look: Probe = probe) -> Explanation | None:
    """The same for a client that reports no error at all.

    A listener with TLS or SASL closes the connection of a client that begins with neither; librdkafka takes
    that for a broker that restarts.
    """
    return listener_mismatch(_look("", properties, look), Login.of(properties))


def _look(text: str, properties: Mapping[str, str], look: Probe) -> ListenerFacts:
    """Look at the listener that an error's text names, else at the first one of the cluster."""
    servers = f"ssl://{properties.get('bootstrap.servers', '').partition(',')[0].strip()}"
    address = _ADDRESS.search(text) or _ADDRESS.search(servers)
    if address is None:
        return ListenerFacts()
    return look(address["host"].strip("[]"), int(address["port"]), properties)


def sasl_refusal(text: str, login: Login) -> Explanation:
    """What the broker answered to the login, or the provider to the request for a token."""
    if token := _TOKEN.search(text):
        return Explanation(
            f'no token for OAUTHBEARER client "{login.user}": {shortened(token["why"])}',
            "check the client's id and secret, and the token endpoint's address",
        )
    if handshake := _HANDSHAKE.search(shortened(text)):
        offered = handshake["offered"].strip().replace(",", ", ")
        if not offered:
            return _no_sasl(login)
        return Explanation(
            f"the listener does not accept {login.mechanism}, only {offered}",
            f"set the mechanism to one of these: {offered}; or use another listener's port",
        )
    answered = _AUTHENTICATION.search(text)
    why = shortened(answered["why"] if answered else text)
    return Explanation(
        f"{login} was refused: {why}",
        "check the user and the password; a corrected secret that is given by reference needs no restart",
    )


def listener_mismatch(facts: ListenerFacts, login: Login) -> Explanation | None:
    """Client and listener speak different protocols."""
    wanted = ("SASL_" if facts.mechanisms else "") + ("SSL" if facts.tls else "PLAINTEXT")
    if login.tls and facts.tls is False:
        return Explanation(
            "the listener does not speak TLS",
            f'use the port of a listener with TLS, or security.protocol = "{wanted}"',
        )
    if not login.tls and facts.tls:
        wanted = wanted if facts.mechanisms is not None else "SSL or SASL_SSL"
        return Explanation(
            "the listener speaks TLS, and this client does not", f'set security.protocol = "{wanted}"'
        )
    if facts.mechanisms and not login.mechanism:
        return Explanation(
            f"the listener requires authentication with {', '.join(facts.mechanisms)}",
            f'set security.protocol = "{wanted}", the mechanism, the user and the password',
        )
    if facts.mechanisms == () and login.mechanism:
        return _no_sasl(login)
    return None


def _no_sasl(login: Login) -> Explanation:
    without = "SSL" if login.tls else "PLAINTEXT"
    return Explanation(
        f"the listener expects no SASL, and this client begins with {login.mechanism}",
        f'use the port of a listener with SASL, or security.protocol = "{without}"',
    )


def tls_refusal(facts: ListenerFacts, login: Login, properties: Mapping[str, str]) -> Explanation | None:
    """A certificate was refused, on either side."""
    if facts.certificate_refused:
        return _broker_certificate(facts, properties)
    if facts.client_refused:
        if any(properties.get(name) for name in _CERTIFICATES):
            return Explanation(
                f"the broker refuses the client's certificate: {facts.client_refused}",
                "check that it is valid, and signed by an authority in the broker's truststore",
            )
        return Explanation(
            f"the broker requires a client certificate, and none is set ({facts.client_refused})",
            "set the certificate and its key: ssl.certificate.location and ssl.key.location",
        )
    if facts.other_tls_error and login.tls:
        return Explanation(facts.other_tls_error, f"check {_tls_settings()}")
    return None


def _broker_certificate(facts: ListenerFacts, properties: Mapping[str, str]) -> Explanation:
    why, valid = facts.certificate_refused.rstrip("."), facts.certificate_valid
    if "expired" in why:
        until = f": it was valid until {valid[1]:%Y-%m-%d %H:%M} UTC" if valid else ""
        return Explanation(
            f"the broker's certificate has expired{until}",
            "renew the broker's certificate, or its authority's",
        )
    if "not yet valid" in why:
        since = f": it is valid from {valid[0]:%Y-%m-%d %H:%M} UTC" if valid else ""
        return Explanation(
            f"the broker's certificate is not yet valid{since}",
            "check the clocks of both machines, or replace the broker's certificate",
        )
    if "mismatch" in why:
        return Explanation(
            f"the broker's certificate is for another host: {why}",
            "use a name that is in the certificate, in bootstrap.servers and in the broker's"
            " advertised.listeners; or add the name to the certificate",
        )
    if why in _NO_ISSUER:
        known = properties.get("ssl.ca.location")
        if known:
            where = f"{known} does not contain it"
        elif properties.get("ssl.ca.pem"):
            where = "the given certificates do not contain it"
        else:
            where = "no ssl.ca.location is set"
        return Explanation(
            f"the broker's certificate is not signed by an authority that this client trusts: {where}",
            "set ssl.ca.location to the certificate of the authority that signed the broker's",
        )
    return Explanation(f"the broker's certificate is refused: {why}", f"check {_tls_settings()}")


def _tls_settings() -> str:
    return "ssl.ca.location, ssl.certificate.location and ssl.key.location"


def shortened(text: str) -> str:
    """librdkafka's text without what no reader needs: how long it was in which state."""
    return _SUFFIX.sub("", text.strip())
