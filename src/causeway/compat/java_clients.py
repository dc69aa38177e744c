"""Translates properties of Java's Kafka clients to librdkafka's.

Most names are equal or have a counterpart. A property that only tunes the Java client gets a note that it is
not needed. What librdkafka takes in another form (keystores, login modules) is rejected with its name there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from causeway.compat.translation import Translation
from causeway.config.problems import nearest
from causeway.config.properties import JAVA_NAMES, REFUSED


class GivenProperty(NamedTuple):
    value: str
    where: str  # file, line and key, for messages


SECURITY = re.compile(r"security\.protocol|security\.providers|(?:sasl|ssl)\..+")
"""What MirrorMaker 2 applies to all clients of a cluster, besides its brokers."""

_SAME = {
    "client.id", "client.rack", "client.dns.lookup", "security.protocol", "sasl.mechanism",
    "sasl.kerberos.service.name", "ssl.key.password", "metadata.max.age.ms", "connections.max.idle.ms",
    "reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms", "retry.backoff.max.ms",
    "socket.connection.setup.timeout.ms", "fetch.min.bytes", "max.partition.fetch.bytes",
    "linger.ms", "batch.size",
}  # fmt: skip
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
}
_GROUP = "not needed: partitions are assigned without a consumer group"
_BYTES = "not needed: keys and values are replicated as bytes"
_JAVA_ALONE = "not needed: it tunes the Java client"
_NOT_NEEDED = {
    "max.request.size": "not needed: the destination's own limits decide",
    "fetch.max.bytes": "not needed: queue_bytes limits what is fetched ahead",
    "max.poll.records": "not needed: transaction sizes adapt to the load",
    "max.block.ms": "not needed: the consumer waits while the producer's queue is full",
    **dict.fromkeys(
        ("group.protocol", "group.remote.assignor", "group.instance.id", "session.timeout.ms",
         "heartbeat.interval.ms", "rebalance.timeout.ms", "max.poll.interval.ms", "auto.commit.interval.ms",
         "partition.assignment.strategy", "exclude.internal.topics", "internal.leave.group.on.close"),
        _GROUP,
    ),
    **dict.fromkeys(("key.serializer", "value.serializer", "key.deserializer", "value.deserializer"), _BYTES),
    **dict.fromkeys(
        ("partitioner.class", "partitioner.ignore.keys", "partitioner.adaptive.partitioning.enable",
         "partitioner.availability.timeout.ms"),
        "not needed: records keep their partition",
    ),
    **dict.fromkeys(
        ("request.timeout.ms", "default.api.timeout.ms", "metadata.max.idle.ms", "metadata.recovery.strategy",
         "socket.connection.setup.timeout.max.ms", "metric.reporters", "metrics.sample.window.ms",
         "metrics.num.samples", "metrics.recording.level", "enable.metrics.push", "auto.include.jmx.reporter",
         "security.providers", "ssl.protocol", "ssl.enabled.protocols", "ssl.provider",
         "ssl.keymanager.algorithm", "ssl.trustmanager.algorithm", "ssl.secure.random.implementation",
         "sasl.kerberos.kinit.cmd", "sasl.kerberos.ticket.renew.window.factor",
         "sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.min.time.before.relogin",
         "sasl.login.refresh.window.factor", "sasl.login.refresh.window.jitter",
         "sasl.login.refresh.min.period.seconds", "sasl.login.refresh.buffer.seconds",
         "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms", "sasl.login.retry.backoff.ms",
         "sasl.login.retry.backoff.max.ms"),
        _JAVA_ALONE,
    ),
}  # fmt: skip
_OIDC = 'librdkafka has "sasl.oauthbearer.method" = "oidc" with "sasl.oauthbearer.client.id" and so on'
_UNSUPPORTED = {
    "interceptor.classes": "Java code cannot be run; to drop records, write a filter in Python",
    "ssl.cipher.suites": 'librdkafka uses OpenSSL\'s names for them, under "ssl.cipher.suites"',
    "ssl.engine.factory.class": "Java code cannot be run",
    "sasl.client.callback.handler.class": "Java code cannot be run",
    "sasl.login.callback.handler.class": _OIDC,
    "sasl.login.class": "Java code cannot be run",
    "sasl.oauthbearer.token.endpoint.url": _OIDC,
}
_STORES = re.compile(r"ssl\.(truststore|keystore)\..+")
_MODULE = re.compile(r"\s*(?:[\w$]+\.)*([\w$]+)\s+\w+(.*?);?\s*", re.DOTALL)
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;]+))""")
_KNOWN = _SAME | {*_RENAMED, *_NOT_NEEDED, *_UNSUPPORTED, *REFUSED, *JAVA_NAMES, "ssl.keystore.location"}


def translated(given: Mapping[str, GivenProperty], translation: Translation) -> dict[str, str]:
    """librdkafka's properties; every other property becomes a note or a problem."""
    properties = _stores(given, translation)
    for name, (value, where) in given.items():
        if _STORES.fullmatch(name):
            continue
        if name == "sasl.jaas.config":
            properties |= _login(value, where, translation)
        elif name == "ssl.endpoint.identification.algorithm":
            properties[name] = value or "none"
        elif name in _SAME:
            properties[name] = value
        elif name in _RENAMED:
            properties[_RENAMED[name]] = "0" if value == "-1" else value  # the system's default size
        elif name in _NOT_NEEDED or name.startswith("metrics.context."):
            translation.note(where, _NOT_NEEDED.get(name, _JAVA_ALONE))
        elif name in REFUSED:
            translation.note(where, f"Causeway sets it itself: {REFUSED[name]}")
        else:
            translation.problem(where, _UNSUPPORTED.get(name) or f"unknown key{nearest(name, _KNOWN)}")
    return properties


def _stores(given: Mapping[str, GivenProperty], translation: Translation) -> dict[str, str]:
    """Certificates: librdkafka reads PEM, and PKCS#12 for keystores, but not Java's own JKS."""
    properties: dict[str, str] = {}
    for name, (value, where) in given.items():
        store = _STORES.fullmatch(name)
        if store is None:
            continue
        kind = given.get(f"ssl.{store[1]}.type", GivenProperty("JKS", "")).value.upper()
        match name, kind:
            case (("ssl.truststore.type" | "ssl.keystore.type"), _):
                pass  # the keys beside it decide whether it can be used
            case "ssl.truststore.location", "PEM":
                properties["ssl.ca.location"] = value
            case "ssl.truststore.certificates", "PEM":
                properties["ssl.ca.pem"] = value
            case "ssl.keystore.location", "PEM":
                properties |= {"ssl.certificate.location": value, "ssl.key.location": value}
            case "ssl.keystore.certificate.chain", "PEM":
                properties["ssl.certificate.pem"] = value
            case "ssl.keystore.key", "PEM":
                properties["ssl.key.pem"] = value
            case (("ssl.keystore.location" | "ssl.keystore.password"), "PKCS12"):
                properties[name] = value
            case (("ssl.keystore.location" | "ssl.keystore.password"), _):
                translation.problem(
                    where,
                    f'librdkafka reads PKCS#12 keystores, under "{name}", and PEM files, under '
                    '"ssl.certificate.location" and "ssl.key.location"; set ssl.keystore.type',
                )
            case _:
                translation.problem(where, JAVA_NAMES.get(name) or f"unknown key{nearest(name, _KNOWN)}")
    return properties


def _login(value: str, where: str, translation: Translation) -> dict[str, str]:
    """User and password from a JAAS line. No message quotes the line: it contains the password."""
    match = _MODULE.fullmatch(value)
    module = match[1] if match else ""
    if match is None or module not in ("PlainLoginModule", "ScramLoginModule"):
        what = f"{module} cannot be used" if module.endswith("LoginModule") else "no login module is named"
        translation.problem(
            where,
            f"{what}; PlainLoginModule and ScramLoginModule can, and for others librdkafka has "
            '"sasl.oauthbearer.*" and "sasl.kerberos.*"',
        )
        return {}
    options = {
        name: re.sub(r"\\(.)", r"\1", double or single) or plain
        for name, double, single, plain in _OPTION.findall(match[2])
    }
    missing = [name for name in ("username", "password") if not options.get(name)]
    if missing:
        translation.problem(where, f"has no {' and no '.join(missing)}")
        return {}
    return {"sasl.username": options["username"], "sasl.password": options["password"]}
