"""Properties of Java's clients in mm2.properties, as librdkafka's properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.compat.mirrormaker2.config import translate
from causeway.compat.translation import Translation
from causeway.config import MirrorSettings, Settings
from causeway.errors import ConfigError

ONE_WAY = "clusters=A,B\nA.bootstrap.servers=a:1\nB.bootstrap.servers=b:1\nA->B.enabled=true\n"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def translated(lines: str) -> Translation:
    path = Path("m")
    path.write_text(ONE_WAY + lines)
    return translate(path)


def settings(lines: str) -> Settings:
    return translated(lines).settings([], Path())


def mirror(lines: str) -> MirrorSettings:
    return settings(lines).mirrors[0]


def problems(lines: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings(lines)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("line", "client", "properties"),
    [
        ("A.consumer.fetch.max.wait.ms=100", "consumer", {"fetch.wait.max.ms": "100"}),
        ("A.consumer.fetch.min.bytes=5", "consumer", {"fetch.min.bytes": "5"}),
        ("A.consumer.max.partition.fetch.bytes=5", "consumer", {"max.partition.fetch.bytes": "5"}),
        ("A.consumer.client.rack=r1", "consumer", {"client.rack": "r1"}),
        ("A.consumer.receive.buffer.bytes=-1", "consumer", {"socket.receive.buffer.bytes": "0"}),
        ("A.security.protocol=SSL", "properties", {"security.protocol": "SSL"}),
        ("security.protocol=SSL", "properties", {"security.protocol": "SSL"}),
        ("security.protocol=SSL\nA.security.protocol=PLAINTEXT", "properties",
         {"security.protocol": "PLAINTEXT"}),
        ("A.sasl.mechanism=PLAIN", "properties", {"sasl.mechanism": "PLAIN"}),
        ("A.ssl.endpoint.identification.algorithm=", "properties",
         {"ssl.endpoint.identification.algorithm": "none"}),
        ("A.ssl.key.password=${env:HOME}", "properties", {"ssl.key.password": "${env:HOME}"}),
        ("A.ssl.key.password=a${b", "properties", {"ssl.key.password": "a$${b"}),
        ("A.ssl.truststore.type=PEM\nA.ssl.truststore.location=/ca.pem", "properties",
         {"ssl.ca.location": "/ca.pem"}),
        ("A.ssl.keystore.type=PKCS12\nA.ssl.keystore.location=/k.p12\nA.ssl.keystore.password=x",
         "properties",
         {"ssl.keystore.location": "/k.p12", "ssl.keystore.password": "x"}),
        ("A.ssl.keystore.type=pem\nA.ssl.keystore.location=/k.pem", "properties",
         {"ssl.certificate.location": "/k.pem", "ssl.key.location": "/k.pem"}),
        (f'A.sasl.jaas.config={PLAIN} required username="alice" password="a b;\\\\"c\\\\"";', "properties",
         {"sasl.username": "alice", "sasl.password": 'a b;"c"'}),
        (f"A.sasl.jaas.config={SCRAM} required \\\n  username='alice' \\\n  password=secret;", "properties",
         {"sasl.username": "alice", "sasl.password": "secret"}),
    ],
)  # fmt: skip
def test_what_becomes_a_property_of_the_source(line: str, client: str, properties: dict[str, str]) -> None:
    source = settings(f"{line}\n").clusters["A"]
    assert getattr(source, client) == properties


def test_what_becomes_a_property_of_the_destination() -> None:
    lines = (
        "B.producer.linger.ms=20\nB.producer.batch.size=65536\nB.producer.send.buffer.bytes=1000\n"
        "B.producer.compression.zstd.level=3\n"
    )
    assert settings(lines).clusters["B"].producer == {
        "linger.ms": "20",
        "batch.size": "65536",
        "socket.send.buffer.bytes": "1000",
        "compression.level": "3",
    }


@pytest.mark.parametrize("value", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compression_is_the_mirrors(value: str) -> None:
    assert mirror(f"B.producer.compression.type={value}\n").compression == value


def test_an_unknown_compression() -> None:
    assert problems("B.producer.compression.type=bzip2\n") == [
        'm:5: B.producer.compression.type: must be one of none, gzip, snappy, lz4, zstd, not "bzip2"'
    ]


@pytest.mark.parametrize(
    ("value", "granted"), [("33554432", 33_554_432), ("32768", 2**20), (str(2**40), 2047 * 2**20)]
)
def test_the_producers_memory_is_the_mirrors_queue(value: str, granted: int) -> None:
    assert mirror(f"B.producer.buffer.memory={value}\n").queue_bytes == granted
    notes = translated(f"B.producer.buffer.memory={value}\n").notes
    nearest = f"m:5: B.producer.buffer.memory: is {granted}, the nearest possible value"
    assert notes == ([nearest] if granted != int(value) else [])


def test_the_start_of_topics() -> None:
    assert mirror("").start == "earliest"
    assert mirror("A.consumer.auto.offset.reset=earliest\n").start == "earliest"
    assert mirror("A.consumer.auto.offset.reset=latest\n").start == "latest"
    assert translated("A.consumer.auto.offset.reset=latest\n").notes == [
        "m:5: A.consumer.auto.offset.reset: applies to topics that were never replicated; a position that "
        "is out of range stops its partition"
    ]  # fmt: skip
    assert problems("A.consumer.auto.offset.reset=none\n") == [
        'm:5: A.consumer.auto.offset.reset: must be earliest or latest, not "none"'
    ]


def test_a_flow_with_properties_of_its_own_has_clusters_of_its_own() -> None:
    loaded = settings(
        "A.consumer.fetch.min.bytes=1\nA->B.consumer.fetch.min.bytes=2\nA->B.consumer.client.id=x\n"
        "A->B.producer.override.linger.ms=9\nB.producer.linger.ms=5\nB->A.enabled=true\n"
        "A.security.protocol=SSL\n"
    )
    there, back = loaded.mirrors
    assert (there.source, there.destination) == (("A-to-B-source",), "A-to-B-destination")
    assert (back.source, back.destination) == (("B",), "A")
    assert loaded.clusters["A-to-B-source"].consumer == {"client.id": "x", "fetch.min.bytes": "1"}
    assert loaded.clusters["A-to-B-source"].properties == {"security.protocol": "SSL"}
    assert loaded.clusters["A-to-B-source"].bootstrap_servers == "a:1"
    assert loaded.clusters["A-to-B-destination"].producer == {"linger.ms": "9"}
    assert loaded.clusters["B"].producer == {"linger.ms": "5"}


def test_source_consumer_and_producer_override_override_the_clusters() -> None:
    clusters = settings(
        "A.consumer.fetch.min.bytes=1\nA->B.source.consumer.fetch.min.bytes=2\n"
        "B.producer.linger.ms=1\nA->B.producer.override.linger.ms=2\n"
    ).clusters
    assert clusters["A-to-B-source"].consumer == {"fetch.min.bytes": "2"}
    assert clusters["A-to-B-destination"].producer == {"linger.ms": "2"}
    assert set(clusters) == {"A-to-B-source", "A-to-B-destination"}


@pytest.mark.parametrize("prefix", ["producer", "target.producer", "source.producer"])
def test_a_flows_producer_writes_offset_syncs_and_no_records(prefix: str) -> None:
    """MirrorMaker 2's producer for records is Connect's, which has the target's properties and overrides."""
    translation = translated(f"B.producer.linger.ms=1\nA->B.{prefix}.linger.ms=2\n")
    clusters = translation.settings([], Path()).clusters
    assert set(clusters) == {"A", "B"}
    assert clusters["B"].producer == {"linger.ms": "1"}
    assert translation.notes == [
        f"m:6: A->B.{prefix}.linger.ms: MirrorMaker 2 uses it for offset syncs, not for records: "
        "B.producer.linger.ms or A->B.producer.override.linger.ms applies to records"
    ]


@pytest.mark.parametrize("cluster", ["", "A."])
def test_a_clusters_security_overrides_a_flows_consumer(cluster: str) -> None:
    """MirrorMaker 2 copies it to source.consumer, which overrides the flow's consumer."""
    lines = "A->B.consumer.security.protocol=SASL_SSL\nA->B.consumer.sasl.mechanism=PLAIN\n"
    source = settings(f"{cluster}security.protocol=SSL\n{lines}").clusters["A-to-B-source"]
    assert source.properties == {"security.protocol": "SSL"}
    assert source.consumer == {"sasl.mechanism": "PLAIN"}


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("A.consumer.isolation.level=read_committed",
         "Causeway sets it itself: records of aborted transactions must not be replicated"),
        ("A.consumer.check.crcs=false",
         "Causeway sets it itself: records damaged on disk or in transit must not be replicated"),
        ("A.consumer.max.poll.records=10", "not needed: transaction sizes adapt to the load"),
        ("A.consumer.session.timeout.ms=10", "not needed: partitions are assigned without a consumer group"),
        ("A.consumer.fetch.max.bytes=10", "not needed: queue_bytes limits what is fetched ahead"),
        ("B.producer.acks=1", "Causeway sets it itself: every record must be acknowledged by all in-sync "
         "replicas, "
         "retried and kept in order"),
        ("B.producer.max.request.size=10", "not needed: the destination's own limits decide"),
        ("B.producer.partitioner.class=x",
         "not needed: the mirror's partitions and partitioner place the records"),
        ("B.producer.key.serializer=x", "not needed: keys and values are replicated as bytes"),
        ("B.producer.metric.reporters=x", "not needed: it tunes the Java client"),
        ("B.consumer.fetch.min.bytes=1", 'not needed: "B" is only written to'),
        ("A.producer.linger.ms=1", 'not needed: "A" is only read'),
        ("A.admin.request.timeout.ms=1", "not needed by the admin client"),
        ("A->B.admin.request.timeout.ms=1", "not needed by the admin client"),
        ("A.ssl.enabled.protocols=TLSv1.3", "not needed: it tunes the Java client"),
    ],
)  # fmt: skip
def test_properties_that_only_the_java_client_needs(line: str, note: str) -> None:
    translation = translated(f"{line}\n")
    translation.settings([], Path())
    assert translation.notes == [f"m:5: {line.partition('=')[0]}: {note}"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("A.consumer.fetch.min.byte=1", 'unknown key, did you mean "fetch.min.bytes"?'),
        ("B.producer.interceptor.classes=x",
         "Java code cannot be run; to drop records, write a filter in Python"),
        ("A.ssl.truststore.location=/t.jks",
         "JKS cannot be read. Convert it: `keytool -importkeystore -srckeystore /t.jks -destkeystore /t.p12 "
         "-deststoretype PKCS12`, then set ssl.truststore.type to PKCS12; or further, `openssl pkcs12 -in "
         "/t.p12 -nokeys -out /t.pem`, and set it to PEM"),
        ("A.ssl.keystore.location=/k.jks",
         "JKS cannot be read. Convert it: `keytool -importkeystore -srckeystore /k.jks -destkeystore /k.p12 "
         "-deststoretype PKCS12`, then set ssl.keystore.type to PKCS12; or further, `openssl pkcs12 -in "
         "/k.p12 -nodes -out /k.pem`, and set it to PEM"),
        ("A.sasl.login.callback.handler.class=x",
         "Java code cannot be run; set token_url or token_file in the [sasl] table"),
        ("A.sasl.jaas.config=a.Krb5LoginModule required keyTab=hidden;",
         "only PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule can be used; for Kerberos, "
         "librdkafka has sasl.kerberos.*"),
        ("A.sasl.jaas.config=hidden", 'needs "required" after the login module'),
        (f"A.sasl.jaas.config={PLAIN} required user=u;", "has no username and no password"),
        ("A.consumer.bootstrap.servers=hidden:1", "all clients use A.bootstrap.servers"),
        ("A.admin.bootstrap.servers=hidden:1",
         "the admin client uses the cluster's value; set it as A.bootstrap.servers"),
    ],
)  # fmt: skip
def test_properties_that_librdkafka_does_not_support(line: str, problem: str) -> None:
    found_problems = problems(f"{line}\n")
    assert found_problems == [f"m:5: {line.partition('=')[0]}: {problem}"]
    assert "hidden" not in found_problems[0]


def test_an_admin_client_with_the_clusters_own_is_fine() -> None:
    lines = "A.admin.bootstrap.servers=a:1\nA.security.protocol=SSL\nA.admin.security.protocol=SSL\n"
    assert translated(lines).notes == []
    assert settings(lines).clusters["A"].properties == {"security.protocol": "SSL"}
