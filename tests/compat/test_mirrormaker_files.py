"""Go MirrorMaker's consumer.config and producer.config, key by key."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.compat.go_mirrormaker.files import CONSUMER, PRODUCER, duration_ms
from support.go_mirrormaker import mirror, problems, settings, translated, write, write_files


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_files()
    return tmp_path


GOOD = {"text": "range", "whole": "7", "duration": "1m30s", "boolean": "true"}
BAD = {"whole": "many", "duration": "30"}
SAID = {
    "whole": 'must be an integer, not "many"',
    "duration": 'must be a duration with its unit, such as "30s", not "30"',
}


@pytest.mark.parametrize("name", [name for name, key in CONSUMER.items() if key.note])
def test_keys_that_tune_its_goroutines_are_not_needed(name: str) -> None:
    before = settings()
    write("c.config", f"bootstrap.servers=paris:9092\ngroup.id=mm\n{name}={GOOD[CONSUMER[name].kind]}\n")
    assert settings() == before
    assert translated().notes[0] == f"c.config:3: {name}: {CONSUMER[name].note}"


@pytest.mark.parametrize("name", [name for name, key in CONSUMER.items() if key.kind in BAD])
def test_a_consumers_value_that_go_refuses(name: str) -> None:
    kind = CONSUMER[name].kind
    write("c.config", f"bootstrap.servers=paris:9092\n{name}={BAD[kind]}\n")
    assert problems() == [f"c.config:2: {name}: {SAID[kind]}"]


@pytest.mark.parametrize(
    ("line", "properties", "consumer"),
    [
        ("socket.timeout=20s", {}, {"socket.timeout.ms": "20000"}),
        ("fetch.message.max.bytes=2097152", {}, {"fetch.message.max.bytes": "2097152"}),
        ("fetch.min.bytes=100", {}, {"fetch.min.bytes": "100"}),
        ("fetch.wait.max.ms=250", {}, {"fetch.wait.max.ms": "250"}),
        ("client.id=mirror-7", {"client.id": "mirror-7"}, {}),
        ("security.protocol=SASL_SSL", {"security.protocol": "SASL_SSL"}, {}),
        ("sasl.password=${env:HOME}", {"sasl.password": "${env:HOME}"}, {}),
        ("ssl.ca.location=/etc/ca.pem", {"ssl.ca.location": "/etc/ca.pem"}, {}),
        ("exclude.internal.topics=true", {}, {}),
        ("socket.timeout=", {}, {}),
    ],
)
def test_what_becomes_a_property_of_the_source(
    line: str, properties: dict[str, str], consumer: dict[str, str]
) -> None:
    write("c.config", f"bootstrap.servers=a:1\ngroup.id=mm\n{line}\n")
    source = settings().clusters["source"]
    assert (source.properties, source.consumer) == (properties, consumer)
    assert len(translated().notes) == 2


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("", "c.config: bootstrap.servers: missing: the brokers to read from, as host:port; "),
        ("zookeeper.connect=zk:2181\n", "c.config:1: zookeeper.connect: bootstrap.servers is needed instead: "
         "Causeway does not use ZooKeeper; "),
    ],
)  # fmt: skip
def test_brokers_are_needed(lines: str, problem: str) -> None:
    write("c.config", lines)
    todo = "add it to the file (MirrorMaker ignores it), or set -X clusters.source.bootstrap_servers=…"
    assert problems() == [problem + todo]


def test_brokers_may_come_from_the_command_line() -> None:
    write("c.config", "zookeeper.connect=zk:2181\n")
    option = "clusters.source.bootstrap_servers=paris:9092"
    loaded = translated("-X", option).settings([option], Path())
    assert loaded.clusters["source"].bootstrap_servers == "paris:9092"


@pytest.mark.parametrize(
    "name",
    ["zookeeper.connect", "zookeeper.kafka.root", "zookeeper.connection.session.timeout",
     "zookeeper.connection.timeout", "zookeeper.max.request.retries", "zookeeper.request.backoff"],
)  # fmt: skip
def test_zookeeper_is_not_needed(name: str) -> None:
    write("c.config", f"bootstrap.servers=a:1\ngroup.id=mm\n{name}=1\n")
    assert settings().clusters["source"].consumer == {}
    assert translated().notes[0] == f"c.config:3: {name}: not needed: Causeway does not use ZooKeeper"


def test_either_name_of_the_brokers() -> None:
    write("c.config", "metadata.broker.list=b:1\nbootstrap.servers=a:1\ngroup.id=mm\n")
    assert settings().clusters["source"].bootstrap_servers == "a:1"
    assert translated().notes[0] == "c.config:1: metadata.broker.list: not needed: bootstrap.servers is set"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("grup.id=a", 'grup.id: unknown key, did you mean "group.id"?'),
        ("foo=a", "foo: unknown key"),
        ("bootstrap.servers=a b",
         'bootstrap.servers: must be "host:port", or several separated by commas, not "a b"'),
        ("exclude.internal.topics=false",
         'exclude.internal.topics: topics that begin with "__" are replicated only if they are '
         'named: remove the key, '
         "and name them with -X 'mirrors.0.topics=[…]'"),
        ("sasl.jaas.config=x password=secret",
         'sasl.jaas.config: needs "required" after the login module'),
        ("nothing", "is neither key=value nor a comment"),
    ],
)  # fmt: skip
def test_refused_keys_of_a_consumer_config(line: str, problem: str) -> None:
    write("c.config", f"metadata.broker.list=a:1\n\n{line}\n")
    assert problems() == [f"c.config:3: {problem}"]


def test_every_problem_in_every_file_is_named_at_once() -> None:
    write("c.config", "foo=1\n")
    write("p.config", "bar=1\n")
    named = [each.partition(": ")[0] for each in problems("--consumer.config=gone", topics="--whitelist=(")]
    assert named == ["c.config:1", "c.config", "gone", "--whitelist", "p.config:1", "p.config"]


# --- producer.config -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, key in PRODUCER.items() if key.note])
def test_keys_that_tune_its_producers_are_not_needed(name: str) -> None:
    before = settings()
    write("p.config", f"bootstrap.servers=tokyo-1:9092,tokyo-2:9092\n{name}={GOOD[PRODUCER[name].kind]}\n")
    assert settings() == before
    assert translated().notes[-1] == f"p.config:2: {name}: {PRODUCER[name].note}"


@pytest.mark.parametrize("name", [name for name, key in PRODUCER.items() if key.kind in BAD])
def test_a_producers_value_that_go_refuses(name: str) -> None:
    kind = PRODUCER[name].kind
    write("p.config", f"metadata.broker.list=a:1\n{name}={BAD[kind]}\n")
    assert problems() == [f"p.config:2: {name}: {SAID[kind]}"]


def test_what_becomes_a_property_of_the_destination() -> None:
    write("p.config", "bootstrap.servers=a:1\nclient.id=mm\nlinger=1s\nsecurity.protocol=ssl\n")
    target = settings().clusters["target"]
    assert target.properties == {"client.id": "mm", "security.protocol": "ssl"}
    assert target.producer == {"linger.ms": "1000"}


@pytest.mark.parametrize("key", ["compression.codec", "compression.type"])
@pytest.mark.parametrize("value", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compression_of_both_generations(key: str, value: str) -> None:
    write("p.config", f"bootstrap.servers=a:1\n{key}={value}\n")
    assert mirror().compression == value


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("compression.codec=snapy",
         'compression.codec: must be one of none, gzip, snappy, lz4, zstd, not "snapy", '
         'did you mean "snappy"?'),
        ("ack=1", 'ack: unknown key, did you mean "acks"?'),
        ("zookeeper.connect=zk:2181", "zookeeper.connect: unknown key"),
        ("ssl.protocol=TLSv1.3", "ssl.protocol: leave it out: it tunes the Java client"),
    ],
)  # fmt: skip
def test_refused_keys_of_a_producer_config(line: str, problem: str) -> None:
    write("p.config", f"bootstrap.servers=a:1\n{line}\n")
    assert problems() == [f"p.config:2: {problem}"]


def test_the_destinations_brokers_are_needed() -> None:
    write("p.config", "acks=1\n")
    assert problems() == [
        "p.config: bootstrap.servers: missing: the brokers to write to, as host:port; add it to the file "
        "(MirrorMaker ignores it), or set -X clusters.target.bootstrap_servers=…"
    ]
    assert not translated("-X", "clusters.target.bootstrap_servers=a:1").problems


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0", 0), ("3s", 3_000), ("1m30s", 90_000), ("250ms", 250), ("1.5h", 5_400_000), ("500us", 0),
        ("1500µs", 2), ("+2s", 2_000), (".5s", 500),
        ("", None), ("3", None), ("3 s", None), ("s", None), ("-1s", None), ("3d", None), ("3s4", None),
    ],
)  # fmt: skip
def test_durations_as_go_writes_them(text: str, milliseconds: int | None) -> None:
    assert duration_ms(text) == milliseconds
