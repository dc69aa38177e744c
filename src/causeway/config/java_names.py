"""The properties of Java's clients: what each is called in librdkafka, or why it is not used here.

This is the one table of them: for the property tables of a cluster, and for other tools' files.
`client_names.py` translates what takes more than another name (certificates, logins).
"""

from __future__ import annotations

from collections.abc import Mapping

RENAMED: Mapping[str, str] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "max.request.size": "message.max.bytes",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
    "sasl.oauthbearer.assertion.template.file": "sasl.oauthbearer.assertion.jwt.template.file",
}
"""Names that differ alone; -1, the system's default for buffers, is 0 in librdkafka."""

SHARED: frozenset[str] = frozenset(
    {
        "client.id", "client.rack", "client.dns.lookup", "security.protocol", "sasl.mechanism",
        "sasl.kerberos.service.name", "ssl.key.password", "metadata.max.age.ms", "connections.max.idle.ms",
        "reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms", "retry.backoff.max.ms",
        "socket.connection.setup.timeout.ms", "fetch.min.bytes", "max.partition.fetch.bytes",
        "linger.ms", "batch.size", "sasl.oauthbearer.scope",
        "sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.sub.claim.name", "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase", "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.exp.seconds", "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.jti.include", "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.assertion.claim.sub", "metadata.recovery.rebootstrap.trigger.ms",
    }
)  # fmt: skip
"""Names with the same meaning in both."""

_CA = "CA certificates: a PEM or PKCS12 file"
_KEYSTORE = "client certificate: a PEM or PKCS12 file"

TRANSLATED: Mapping[str, str] = {
    "sasl.jaas.config": "user name and password of PlainLoginModule and ScramLoginModule, or the client of "
    "OAuthBearerLoginModule",
    "sasl.login.callback.handler.class": "accepted if it is Kafka's OAuthBearerLoginCallbackHandler",
    "sasl.oauthbearer.token.endpoint.url": "a URL, or file:/path of a token",
    "ssl.endpoint.identification.algorithm": "empty is none, which needs tls.unsafe",
    "ssl.cipher.suites": "OpenSSL's names",
    "ssl.truststore.location": _CA,
    "ssl.truststore.type": _CA,
    "ssl.truststore.password": "password of a PKCS12 file",
    "ssl.truststore.certificates": "CA certificates as PEM text",
    "ssl.keystore.location": _KEYSTORE,
    "ssl.keystore.type": _KEYSTORE,
    "ssl.keystore.password": "password of a PKCS12 file",
    "ssl.keystore.key": "private key as PEM text",
    "ssl.keystore.certificate.chain": "client certificate as PEM text",
}
"""Names whose values are translated too."""

_GROUP = "partitions are assigned without a consumer group"
_BYTES = "keys and values are replicated as bytes"
_JAVA_ALONE = "it tunes the Java client"
_PLACES = "the mirror's partitions and partitioner place the records"

UNUSED_HERE: Mapping[str, str] = {
    **dict.fromkeys(
        ("group.protocol", "group.remote.assignor", "group.instance.id", "session.timeout.ms",
         "heartbeat.interval.ms", "max.poll.interval.ms", "auto.commit.interval.ms",
         "partition.assignment.strategy"),
        _GROUP,
    ),
    **dict.fromkeys(
        ("request.timeout.ms", "metadata.recovery.strategy", "enable.metrics.push",
         "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin"),
        _JAVA_ALONE,
    ),
    "fetch.max.bytes": "queue_bytes limits what is fetched ahead",
    "max.poll.records": "transaction sizes adapt to the load",
    "share.acknowledgement.mode": "share groups are not used",
}  # fmt: skip
"""Names of both that a mirror does not need. In another tool's file they tune that tool."""

JAVA_ALONE: Mapping[str, str] = {
    **dict.fromkeys(
        ("rebalance.timeout.ms", "exclude.internal.topics", "internal.leave.group.on.close"), _GROUP
    ),
    **dict.fromkeys(("key.serializer", "value.serializer", "key.deserializer", "value.deserializer"), _BYTES),
    **dict.fromkeys(
        ("partitioner.class", "partitioner.ignore.keys", "partitioner.adaptive.partitioning.enable",
         "partitioner.availability.timeout.ms"),
        _PLACES,
    ),
    **dict.fromkeys(
        ("default.api.timeout.ms", "metadata.max.idle.ms", "socket.connection.setup.timeout.max.ms",
         "metric.reporters", "metrics.sample.window.ms", "metrics.num.samples", "metrics.recording.level",
         "auto.include.jmx.reporter", "security.providers", "ssl.protocol", "ssl.enabled.protocols",
         "ssl.provider", "ssl.keymanager.algorithm", "ssl.trustmanager.algorithm",
         "ssl.secure.random.implementation", "sasl.kerberos.ticket.renew.window.factor",
         "sasl.kerberos.ticket.renew.jitter", "sasl.login.refresh.window.factor",
         "sasl.login.refresh.window.jitter", "sasl.login.refresh.min.period.seconds",
         "sasl.login.refresh.buffer.seconds", "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms",
         "sasl.login.retry.backoff.ms", "sasl.login.retry.backoff.max.ms",
         "sasl.oauthbearer.scope.claim.name", "sasl.oauthbearer.header.urlencode"),
        _JAVA_ALONE,
    ),
    **dict.fromkeys(
        ("sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer",
         "sasl.oauthbearer.jwks.endpoint.url", "sasl.oauthbearer.jwks.endpoint.refresh.ms",
         "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
         "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", "sasl.oauthbearer.clock.skew.seconds"),
        "brokers validate tokens",
    ),
    "max.block.ms": "the consumer waits while the producer's queue is full",
    "config.providers": "${env:NAME}, ${file:/path} and ${dir:/path:key} work in every value",
    "transaction.two.phase.commit.enable": "the mirror commits its transactions itself",
    "share.acquire.mode": "share groups are not used",
    "bootstrap.controllers": "brokers are asked",
}  # fmt: skip
"""Names that librdkafka does not have, and that no mirror needs."""

_CODE = "Java code cannot be run"

UNSUPPORTED: Mapping[str, str] = {
    "interceptor.classes": f"{_CODE}; to drop records, write a filter in Python",
    "ssl.engine.factory.class": _CODE,
    "sasl.client.callback.handler.class": _CODE,
    "sasl.login.class": _CODE,
    "sasl.oauthbearer.jwt.retriever.class": f"{_CODE}; set token_url or token_file in the [sasl] table",
    "sasl.oauthbearer.jwt.validator.class": f"{_CODE}; brokers validate tokens",
    "buffer.memory": "set the mirror's queue_bytes",
}
"""Names that mean something, and cannot be honoured."""
