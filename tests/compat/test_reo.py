"""Kafka REO's YAML and environment, key by key: defaults, valid values, refused values."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from causeway.compat.kafka_reo.config import translate
from causeway.compat.kafka_reo.keys import (
    KEYS,
    NAME,
    NUMBERS,
    OWN_PREFIXES,
    TEXTS,
    VARIABLES,
    parse,
    variable,
)
from causeway.compat.translation import Translation
from causeway.config import Settings, load
from causeway.errors import ConfigError
from support import typed

SHIPPED = """\
application:
  name: "exactly-once-replicator"

kafka:
  clusters:
    source:
      bootstrap-servers: "localhost-source:9092"
      topic: "source-topic"
    destination:
      bootstrap-servers: "localhost-destination:9092"
      topic: "destination-topic"
#      topic-proxy: ""
  config:
    consumer:
      fetch-min-bytes: "1048576"  # 1MB
      auto-reset: "earliest"
    producer:
      linger-ms: "10"
      compression-type: "gzip"
      delivery-timeout-ms: "604800000"  # P7D
      acks: "all"

streams:
  replication-factor: "3"
  num-standby-replicas: "0"
  num-stream-threads: "3"
  buffer-config:
    max-bytes: "268435456"  # 256 MB
"""
"""The file that is shipped with the tool, unchanged."""


def translated(environ: Mapping[str, str], file: str | None = None) -> Translation:
    return translate(environ, None if file is None else parse(file, "reo.yaml"), file="reo.yaml")


def settings(environ: Mapping[str, str], file: str | None = None) -> Settings:
    return translated(environ, file).settings([], Path())


def problems(environ: Mapping[str, str], file: str | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings(environ, file)
    assert caught.value.exit_code == 3
    return list(caught.value.problems)


def nested(key: str, value: object) -> str:
    """A file with one key in it, in the tool's format."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return yaml.safe_dump(value)


def picture(loaded: Settings) -> dict[str, Any]:
    """The settings that each key becomes."""
    (mirror,) = loaded.mirrors
    return {
        "name": ("from topics" if TEXTS[NAME] in mirror.name else mirror.name, mirror.source_group_name),
        "source": (loaded.clusters["source"].bootstrap_servers, mirror.topics),
        "destination": (loaded.clusters["destination"].bootstrap_servers, mirror.rename),
        "consumer": loaded.clusters["source"].consumer,
        "start": mirror.start,
        "producer": loaded.clusters["destination"].producer,
        "compression": mirror.compression,
        "replicas": mirror.replication_factor,
    }


DEFAULT: dict[str, Any] = {
    "name": ("from topics", "exactly-once-replicator"),
    "source": ("localhost-source:9092", ("source-topic",)),
    "destination": ("localhost-destination:9092", {"source-topic": "destination-topic"}),
    "consumer": {},
    "start": "earliest",
    "producer": {},
    "compression": "gzip",
    "replicas": None,
}


@pytest.mark.parametrize("file", [None, "", "kafka:\nstreams: {}\n"])
def test_defaults(file: str | None) -> None:
    loaded = settings({}, file)

    assert picture(loaded) == DEFAULT
    (mirror,) = loaded.mirrors
    assert (mirror.source, mirror.destination) == (("source",), "destination")
    assert (mirror.partitions, mirror.partitioner) == ("by-key", "murmur2")
    assert mirror.delivery == "exactly-once"
    assert mirror.create_topics
    assert mirror.source_group


def test_without_a_configured_name_mirrors_of_other_topics_have_other_names() -> None:
    """The second would take the first one's lease and ledger."""

    def name(source: str, destination: str, file: str | None = None, **more: str) -> str:
        topics = {"KAFKA_CLUSTERS_SOURCE_TOPIC": source, "KAFKA_CLUSTERS_DESTINATION_TOPIC": destination}
        (mirror,) = settings({**topics, **more}, file).mirrors
        assert mirror.source_group_name == "exactly-once-replicator"  # which `adopt` reads
        return mirror.name

    names = [name("a", "copy"), name("b", "copy"), name("a", "a"), name("a-a", "b"), name("a", "a-b")]
    assert len(set(names)) == len(names)
    assert name("a", "copy") == names[0]
    assert names[0].startswith("exactly-once-replicator-a-copy-")
    # The name that is shipped with the tool counts as no name, wherever it is set.
    assert name("a", "copy", SHIPPED) == names[0]
    assert name("a", "copy", APPLICATION_NAME="exactly-once-replicator") == names[0]
    moved = {"KAFKA_CLUSTERS_SOURCE_BOOTSTRAP_SERVERS": "elsewhere:9092"}
    assert name("a", "copy", **moved) == names[0]
    assert len(name("s" * 249, "d" * 249)) <= 100

    notes = translated({}).notes
    assert [note for note in notes if note.startswith("application.name: the mirror's name is exactly-once-")]
    named = translated({"APPLICATION_NAME": "replicator-1"}).notes
    assert not [note for note in named if "the mirror's name is" in note]


def test_the_file_that_the_tool_comes_with() -> None:
    assert picture(settings({}, SHIPPED)) == {
        **DEFAULT,
        "consumer": {"fetch.min.bytes": "1048576"},
        "producer": {"linger.ms": "10"},
        "replicas": 3,
    }


GIVEN: list[tuple[str, str, dict[str, Any]]] = [
    ("application.name", "replicator-1", {"name": ("replicator-1", "replicator-1")}),
    (
        "kafka.clusters.source.bootstrap-servers",
        "one:9092, two:9093,",
        {"source": ("one:9092,two:9093", ("source-topic",))},
    ),
    (
        "kafka.clusters.source.topic",
        "a.b",
        {
            "source": ("localhost-source:9092", ("a.b",)),
            "destination": ("localhost-destination:9092", {"a.b": "destination-topic"}),
        },
    ),
    (
        "kafka.clusters.destination.bootstrap-servers",
        "three:9092",
        {"destination": ("three:9092", {"source-topic": "destination-topic"})},
    ),
    (
        "kafka.clusters.destination.topic",
        "copy",
        {"destination": ("localhost-destination:9092", {"source-topic": "copy"})},
    ),
    (
        "kafka.clusters.destination.topic",
        "source-topic",
        {"destination": ("localhost-destination:9092", {})},
    ),
    ("kafka.clusters.destination.topic-proxy", "between", {}),
    ("kafka.config.consumer.fetch-min-bytes", "65536", {"consumer": {"fetch.min.bytes": "65536"}}),
    ("kafka.config.consumer.fetch-min-bytes", "0", {"consumer": {"fetch.min.bytes": "1"}}),
    ("kafka.config.consumer.auto-reset", "latest", {"start": "latest"}),
    ("kafka.config.consumer.auto-reset", "earliest", {}),
    ("kafka.config.producer.linger-ms", "0", {"producer": {"linger.ms": "0"}}),
    *(
        ("kafka.config.producer.compression-type", kind, {"compression": kind})
        for kind in ("none", "gzip", "snappy", "lz4", "zstd")
    ),
    ("kafka.config.producer.delivery-timeout-ms", "120000", {}),
    *(("kafka.config.producer.acks", acks, {}) for acks in ("all", "-1", "1", "0")),
    ("streams.replication-factor", "2", {"replicas": 2}),
    ("streams.replication-factor", "-1", {}),  # the broker's own
    ("streams.num-standby-replicas", "1", {}),
    ("streams.num-stream-threads", "8", {}),
    ("streams.buffer-config.max-bytes", "1", {}),
]


@pytest.mark.parametrize(("key", "text", "expected"), GIVEN)
def test_a_key_that_is_given(key: str, text: str, expected: dict[str, Any]) -> None:
    wanted = {**DEFAULT, **expected}
    assert picture(settings({variable(key): text})) == wanted
    assert picture(settings({}, nested(key, text))) == wanted
    assert picture(settings({}, yaml.safe_dump({key: text}))) == wanted  # dotted


def test_the_environment_wins_over_the_file() -> None:
    environ = {variable(key): text for key, text, _ in GIVEN}  # the last of each
    assert settings(environ, SHIPPED) == settings(environ)
    assert settings(environ, SHIPPED) != settings({}, SHIPPED)


def test_every_key_has_a_test() -> None:
    assert {key for key, _, _ in GIVEN} == set(KEYS)


def test_integers_need_no_quotes() -> None:
    file = "kafka.config.producer: {linger-ms: 20, acks: 1}\nstreams: {replication-factor: 2}"
    assert picture(settings({}, file)) == {**DEFAULT, "producer": {"linger.ms": "20"}, "replicas": 2}


def test_how_variables_are_named() -> None:
    assert variable("kafka.clusters.source.bootstrap-servers") == "KAFKA_CLUSTERS_SOURCE_BOOTSTRAP_SERVERS"
    assert variable("kafka.clusters.destination.topic-proxy") == "KAFKA_CLUSTERS_DESTINATION_TOPIC_PROXY"


_TOPIC = "must be a topic name: 1 to 249 letters, digits, dots, hyphens and underscores, not "
_SERVERS = 'must be "host:port", or several separated by commas, not '


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        ("application.name", "", "must not be empty"),
        (
            "application.name",
            "g" * 250,
            f'must have at most 249 characters, none of them a control character, not "{"g" * 59}…',
        ),
        ("kafka.clusters.source.bootstrap-servers", "", f'{_SERVERS}""'),
        ("kafka.clusters.destination.bootstrap-servers", "here:there", f'{_SERVERS}"here:there"'),
        ("kafka.clusters.source.topic", "orders.*", f'{_TOPIC}"orders.*"'),
        ("kafka.clusters.destination.topic", "", f'{_TOPIC}""'),
        (
            "kafka.config.consumer.fetch-min-bytes",
            "1MB",
            'must be an integer between 0 and 100000000, not "1MB"',
        ),
        (
            "kafka.config.consumer.auto-reset",
            "none",
            'must be "earliest" or "latest": "none" gives no start for a new mirror',
        ),
        (
            "kafka.config.consumer.auto-reset",
            "early",
            'must be one of "earliest", "latest", not "early", did you mean "earliest"?',
        ),
        ("kafka.config.producer.linger-ms", "-1", 'must be an integer between 0 and 900000, not "-1"'),
        (
            "kafka.config.producer.compression-type",
            "gzipped",
            'must be one of "none", "gzip", "snappy", "lz4", "zstd", not "gzipped", did you mean "gzip"?',
        ),
        ("kafka.config.producer.delivery-timeout-ms", "P7D", 'must be an integer of at least 0, not "P7D"'),
        ("kafka.config.producer.acks", "2", 'must be one of "all", "-1", "0", "1", not "2"'),
        ("streams.replication-factor", "0", "must be at least 1, or -1 for the broker's default, not 0"),
        ("streams.replication-factor", "three", 'must be an integer between -1 and 32767, not "three"'),
        ("streams.num-standby-replicas", "", 'must be an integer of at least 0, not ""'),
        ("streams.num-stream-threads", "0", 'must be an integer of at least 1, not "0"'),
        ("streams.buffer-config.max-bytes", "256MB", 'must be an integer of at least 0, not "256MB"'),
    ],
)
def test_a_value_that_is_refused(key: str, text: str, problem: str) -> None:
    assert problems({variable(key): text}) == [f"{variable(key)}: {problem}"]
    assert problems({}, nested(key, text)) == [f"{key}: {problem}"]


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (
            "kafka: {clusters: {source: {topics: a}}}",
            'kafka.clusters.source.topics: Kafka REO has no such key, did you mean "topic"?',
        ),
        ("kafka.config.producer.retries: 3", "kafka.config.producer.retries: Kafka REO has no such key"),
        (
            "kafka.cluster.source.topic: a",
            "kafka.cluster.source.topic: Kafka REO has no such key, "
            'did you mean "kafka.clusters.source.topic"?',
        ),
        ("something: {else: 1}", "something: Kafka REO has no such key"),
        ('"two\\nlines": 1', '"two\\nlines": Kafka REO has no such key'),
        ("kafka: 3", "kafka: must be a table of keys and values, not 3"),
        ("kafka: {clusters: [a, b]}", "kafka.clusters: must be a table of keys and values, not a list"),
        (
            "kafka.clusters.source.topic: {name: a}",
            "kafka.clusters.source.topic: must be a string, in quotes, not a table",
        ),
        (
            "kafka.clusters.source.topic: 007",
            "kafka.clusters.source.topic: must be a string, in quotes, not 7",
        ),
        (
            "kafka.clusters.source.topic: 2024-01-01",
            'kafka.clusters.source.topic: must be a string, in quotes, not "2024-01-01"',
        ),
        ("application.name:", "application.name: must be a string, in quotes, not null"),
        (
            "kafka.config.producer.linger-ms: true",
            "kafka.config.producer.linger-ms: must be an integer, not true",
        ),
        (
            "kafka.config.producer.linger-ms: 1.5",
            "kafka.config.producer.linger-ms: must be an integer, not 1.5",
        ),
        (
            "application.name: a\napplication: {name: b}",
            "application.name: is given twice, dotted and nested",
        ),
    ],
)
def test_a_file_that_is_refused(file: str, problem: str) -> None:
    assert problems({}, file) == [problem]


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("a: b: c", "reo.yaml: line 1, column 5: not YAML: mapping values are not allowed here"),
        (
            "\tkafka: 1",
            "reo.yaml: line 1, column 1: not YAML: found character '\\t' that cannot start any token",
        ),
        ("a: 2024-13-45", "reo.yaml: not YAML: a value cannot be read"),
        ("- kafka", "reo.yaml: must be a table of keys and values"),
        ("just text", "reo.yaml: must be a table of keys and values"),
    ],
)
def test_a_file_that_is_no_configuration(file: str, problem: str) -> None:
    assert problems({}, file) == [problem]


def test_a_file_that_refers_to_itself_is_refused() -> None:
    assert problems({}, "kafka: &all {clusters: *all}") == [
        "reo.yaml: line 1, column 24: not YAML: aliases (*name) cannot be used here"
    ]


def test_unknown_variables_are_refused_if_they_can_only_be_meant_for_the_tool() -> None:
    assert settings({"HOME": "/", "KAFKA_HEAP_OPTS": "-Xmx1g", "JAVA_HOME": "/jdk"})
    assert problems({"KAFKA_CLUSTERS_SOURCE_BOOTSTRAP": "a:1", "STREAMS_STATE_DIR": "x"}) == [
        "KAFKA_CLUSTERS_SOURCE_BOOTSTRAP: Kafka REO has no such variable, "
        'did you mean "KAFKA_CLUSTERS_SOURCE_BOOTSTRAP_SERVERS"?',
        "STREAMS_STATE_DIR: Kafka REO has no such variable",
    ]


def noted(environ: Mapping[str, str], file: str | None = None) -> list[str]:
    return [note.split(":")[0] for note in translated(environ, file).notes]


def test_differences_have_a_note_by_key() -> None:
    always = [
        "application.name", "application.name", "kafka.clusters.destination.topic-proxy",
        "kafka.clusters.destination.topic", "records",
    ]  # fmt: skip
    assert noted({}) == always
    assert noted({}, SHIPPED) == [
        "kafka.config.consumer.fetch-min-bytes", *always, "kafka.config.producer.delivery-timeout-ms",
        "streams.num-standby-replicas", "streams.num-stream-threads", "streams.buffer-config.max-bytes",
        "streams.replication-factor",
    ]  # fmt: skip
    assert noted({"KAFKA_CONFIG_PRODUCER_ACKS": "1", "LOG_LEVEL": "DEBUG"}) == [
        *always, "KAFKA_CONFIG_PRODUCER_ACKS", "LOG_LEVEL",
    ]  # fmt: skip


def test_the_proxy_topic_is_not_needed_and_has_a_note() -> None:
    by_default = translated({"KAFKA_CLUSTERS_DESTINATION_TOPIC": "copy"}).notes
    assert (
        "kafka.clusters.destination.topic-proxy: not needed: records are written to the destination topic "
        'directly, and "copy-proxy" is neither read nor written'
    ) in by_default
    given = translated({"KAFKA_CLUSTERS_DESTINATION_TOPIC_PROXY": "between"}).notes
    assert any(
        note.startswith("KAFKA_CLUSTERS_DESTINATION_TOPIC_PROXY: not needed") and '"between"' in note
        for note in given
    )


def test_the_page_names_every_key_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs/from-reo.md").read_text().partition("## Every key")[2]
    rows = dict(re.findall(r"^\| `([a-z.-]+)` \| `(.*?)` \| ", page, re.MULTILINE))
    shipped = {**TEXTS, **{key: text for key, (text, _, _) in NUMBERS.items()}}
    assert rows == {**shipped, "kafka.clusters.destination.topic-proxy": "<destination.topic>-proxy"}


def causeway(
    *arguments: str, environ: Mapping[str, str], directory: Path
) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in VARIABLES and not name.startswith(OWN_PREFIXES)
    }
    return typed.causeway(*arguments, environ={**inherited, **environ}, directory=directory)


@pytest.mark.parametrize("command", [("reo",), ("convert", "reo")])
def test_bad_configuration_ends_with_exit_code_3(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "config.yaml").write_text("kafka.config.consumer.auto-reset: none\n")
    environ = {"KAFKA_CONFIG_PRODUCER_LINGER": "5"}

    ended = causeway(*command, "--config=config.yaml", environ=environ, directory=tmp_path)

    assert ended.returncode == 3
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == [
        "error: 2 settings of Kafka REO cannot be honoured",
        "  - KAFKA_CONFIG_PRODUCER_LINGER: Kafka REO has no such variable, "
        'did you mean "KAFKA_CONFIG_PRODUCER_LINGER_MS"?',
        '  - kafka.config.consumer.auto-reset: must be "earliest" or "latest": "none" gives no '
        "start for a new mirror",
        "where: config.yaml and the environment",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"kafka: [", "config.yaml: line 1, column 9: not YAML: "),
        (b"\xff\xfe\xff", "config.yaml: byte 0: not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "config.yaml").write_bytes(content)

    ended = causeway("reo", "--config", "config.yaml", environ={}, directory=tmp_path)

    assert ended.returncode == 3
    lines = ended.stderr.splitlines()
    assert lines[0] == "error: the configuration cannot be read"
    assert lines[1].startswith(f"  - {problem}")
    assert len(lines) == 2


def test_another_file_that_does_not_exist_is_an_error_as_in_the_tool(tmp_path: Path) -> None:
    ended = causeway("reo", "--config", "mine.yaml", environ={}, directory=tmp_path)
    assert ended.returncode == 3
    assert ended.stderr.splitlines()[1:] == ["  - mine.yaml: No such file or directory"]


def test_a_missing_config_yaml_is_the_one_in_the_tools_jar(tmp_path: Path) -> None:
    environ = {"KAFKA_CLUSTERS_SOURCE_TOPIC": "a"}
    without = causeway("convert", "reo", environ=environ, directory=tmp_path)
    ended = causeway("convert", "reo", "--config=config.yaml", environ=environ, directory=tmp_path)
    assert ended.returncode == 0, ended.stderr
    note = "there is no file config.yaml here; Kafka REO reads it from its jar, so its defaults are used"
    assert f"note: --config: {note}" in ended.stderr.splitlines()
    (tmp_path / "reo.toml").write_text(ended.stdout)
    (tmp_path / "without.toml").write_text(without.stdout)
    assert load(tmp_path / "reo.toml") == load(tmp_path / "without.toml")


def test_a_converted_configuration_loads_to_the_same_settings(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(SHIPPED)
    environ = {"KAFKA_CLUSTERS_SOURCE_TOPIC": "with.dots", "APPLICATION_NAME": "replicator-1"}

    ended = causeway("convert", "reo", "--config=config.yaml", environ=environ, directory=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert "note: kafka.clusters.destination.topic-proxy: not needed" in ended.stderr
    config = tmp_path / "reo.toml"
    config.write_text(ended.stdout)
    assert load(config) == settings(environ, SHIPPED)
