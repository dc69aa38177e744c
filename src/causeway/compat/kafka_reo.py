"""Kafka REO: environment variables over its YAML, and the file it ships as the default for both.

A variable's name is the key in capitals, with underscores for dots and hyphens. Keys in the file may be
nested, as the tool expects them, or dotted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import yaml

from causeway.compat.reading import fitting, servers, whole
from causeway.compat.translation import ClusterKeys, Translation, mirror_name
from causeway.config import fields
from causeway.config.config_tree import dotted, shown
from causeway.config.mirror import Compression
from causeway.config.problems import nearest
from causeway.errors import ConfigError

NAME = "application.name"
SOURCE, SOURCE_TOPIC = "kafka.clusters.source.bootstrap-servers", "kafka.clusters.source.topic"
DESTINATION = "kafka.clusters.destination.bootstrap-servers"
DESTINATION_TOPIC, PROXY = "kafka.clusters.destination.topic", "kafka.clusters.destination.topic-proxy"
FETCH, RESET = "kafka.config.consumer.fetch-min-bytes", "kafka.config.consumer.auto-reset"
LINGER, COMPRESSION = "kafka.config.producer.linger-ms", "kafka.config.producer.compression-type"
TIMEOUT, ACKS = "kafka.config.producer.delivery-timeout-ms", "kafka.config.producer.acks"
REPLICAS, STANDBYS = "streams.replication-factor", "streams.num-standby-replicas"
THREADS, BUFFER = "streams.num-stream-threads", "streams.buffer-config.max-bytes"

TEXTS: Mapping[str, str] = {
    NAME: "exactly-once-replicator",
    SOURCE: "localhost-source:9092",
    SOURCE_TOPIC: "source-topic",
    DESTINATION: "localhost-destination:9092",
    DESTINATION_TOPIC: "destination-topic",
    PROXY: "",
    RESET: "earliest",
    COMPRESSION: "gzip",
    ACKS: "all",
}
NUMBERS: Mapping[str, tuple[str, int, int]] = {
    FETCH: ("1048576", 0, 100_000_000),
    LINGER: ("10", 0, 900_000),
    TIMEOUT: ("604800000", 0, 2**31 - 1),
    REPLICAS: ("3", -1, 2**15 - 1),
    STANDBYS: ("0", 0, 2**31 - 1),
    THREADS: ("3", 1, 2**31 - 1),
    BUFFER: ("268435456", 0, 2**63 - 1),
}
"""Default, minimum, maximum: what Kafka's clients accept."""
KEYS = (*TEXTS, *NUMBERS)
SECTIONS = {key.rsplit(".", cut)[0] for key in KEYS for cut in range(1, key.count(".") + 1)}
OWN_PREFIXES = ("KAFKA_CLUSTERS_", "KAFKA_CONFIG_", "STREAMS_")
"""Variables with these prefixes are meant for the tool, so an unknown name is a mistake."""


IN_JAR = "config.yaml"
"""`--config` names a resource in the tool's jar. This is the only one there, with the values above."""


def variable(key: str) -> str:
    return re.sub("[.-]", "_", key).upper()


VARIABLES = {variable(key): key for key in KEYS}


def parse(text: str, file: str) -> dict[str, Any]:
    """The file's tables; raises ConfigError if it is not YAML or not a table."""
    try:
        tree = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = f"{file}: {where}not YAML: {error.problem or error.context}"
    except (yaml.YAMLError, ValueError, RecursionError):  # invalid bytes, dates or depths
        problem = f"{file}: not YAML: a value cannot be read"
    else:
        if tree is None or isinstance(tree, dict):
            return tree or {}
        problem = f"{file}: must hold keys with values"
    raise ConfigError("the configuration cannot be read", problems=(problem,))


@dataclass(frozen=True)
class _Value:
    label: str  # as the user wrote the key
    text: str
    given: bool


def translate(environ: Mapping[str, str], tree: Mapping[Any, Any] | None, *, file: str = "") -> Translation:
    """The mirror that file and environment describe; the environment takes precedence."""
    translation = Translation(
        "Kafka REO", "the environment" if tree is None else f"{file} and the environment"
    )
    values = {key: _Value(key, text, False) for key, text in TEXTS.items()}
    values |= {key: _Value(key, text, False) for key, (text, _, _) in NUMBERS.items()}
    _from_file(translation, values, tree or {})
    _from_environment(translation, values, environ)
    numbers = {
        key: whole(translation, values[key].label, values[key].text, low, high)
        for key, (_, low, high) in NUMBERS.items()
    }
    _clusters(translation, values, numbers)
    _mirror(translation, values, numbers)
    _say_what_differs(translation, values, "LOG_LEVEL" in environ)
    return translation


def _from_file(
    translation: Translation, values: dict[str, _Value], table: Mapping[Any, Any], path: str = ""
) -> None:
    for name, value in table.items():
        key = f"{path}{name}"
        if key in SECTIONS:
            if isinstance(value, dict):
                _from_file(translation, values, value, f"{key}.")
            elif value is not None:
                translation.problem(key, f"must hold keys with values, not {shown(value)}")
        elif key not in values:
            translation.problem(dotted((key,)), f"Kafka REO has no such key{_meant(key)}")
        elif values[key].given:
            translation.problem(key, "is given twice, dotted and nested")
        else:
            is_number = isinstance(value, int) and not isinstance(value, bool) and key in (*NUMBERS, ACKS)
            if not isinstance(value, str) and not is_number:
                what = "an integer" if key in NUMBERS else "a string, in quotes"
                translation.problem(key, f"must be {what}, not {shown(value)}")
                value = values[key].text  # one problem is enough
            values[key] = _Value(key, str(value), True)


def _meant(key: str) -> str:
    """`, did you mean "topic"?` among the names in the same section, or among all if that is unknown."""
    section, _, name = key.rpartition(".")
    known = (*KEYS, *SECTIONS)
    if section not in SECTIONS:
        return nearest(key, known)
    return nearest(name, [own for one in known if (own := one.removeprefix(f"{section}.")) != one])


def _from_environment(
    translation: Translation, values: dict[str, _Value], environ: Mapping[str, str]
) -> None:
    for name in sorted(environ):
        if name in VARIABLES:
            values[VARIABLES[name]] = _Value(name, environ[name], True)
        elif name.startswith(OWN_PREFIXES):
            translation.problem(name, f"Kafka REO has no such variable{nearest(name, VARIABLES)}")


def _clusters(translation: Translation, values: Mapping[str, _Value], numbers: Mapping[str, int]) -> None:
    for alias, key in (("source", SOURCE), ("destination", DESTINATION)):
        found = ",".join(servers(values[key].text))
        fitting(translation, values[key].label, found, fields.Servers)
        translation.keys[alias] = ClusterKeys(values[key].label)
        translation.clusters[alias] = {"bootstrap_servers": found}
    # Their defaults would only delay records: Causeway does not need them to be fast.
    if values[FETCH].given:
        fetch = max(numbers[FETCH], 1)  # librdkafka has no 0; both mean "immediately"
        translation.clusters["source"]["consumer"] = {"fetch.min.bytes": str(fetch)}
        if fetch > 1:
            translation.note(
                values[FETCH].label, "lets records wait for others; Causeway is as fast without it"
            )
    if values[LINGER].given:
        translation.clusters["destination"]["producer"] = {"linger.ms": str(numbers[LINGER])}


def _mirror(translation: Translation, values: Mapping[str, _Value], numbers: Mapping[str, int]) -> None:
    name = values[NAME]
    if name.text:
        fitting(translation, name.label, name.text, fields.GroupName)
    else:
        translation.problem(name.label, "must not be empty")
    topics = {}
    for key in (SOURCE_TOPIC, DESTINATION_TOPIC):
        topics[key] = fitting(translation, values[key].label, values[key].text, fields.TopicName)
    mirror: dict[str, Any] = {
        "name": _called(translation, name, topics[SOURCE_TOPIC], topics[DESTINATION_TOPIC]),
        "source": "source",
        "destination": "destination",
        "topics": [topics[SOURCE_TOPIC]],
        "partitions": "by-key",
        "partitioner": "murmur2",
        "start": _start(translation, values[RESET]),
        "compression": _one_of(translation, values[COMPRESSION], get_args(Compression)),
        "source_group_name": name.text,
    }
    if topics[SOURCE_TOPIC] != topics[DESTINATION_TOPIC]:
        mirror["rename"] = {topics[SOURCE_TOPIC]: topics[DESTINATION_TOPIC]}
    if values[REPLICAS].given and numbers[REPLICAS] > 0:
        mirror["replication_factor"] = numbers[REPLICAS]
    elif values[REPLICAS].given and numbers[REPLICAS] == 0:
        translation.problem(values[REPLICAS].label, "must be at least 1, or -1 to leave it open, not 0")
    translation.mirrors.append(mirror)


def _called(translation: Translation, name: _Value, source: str, destination: str) -> str:
    """The application's name; with the default name, which all installations share, the topics as well.

    A name contains no space, so `mirror_name` adds a hash of the text: `a-b`, `c` and `a`, `b-c` differ.
    """
    if name.text != TEXTS[NAME]:
        return mirror_name(name.text)
    called = mirror_name(f"{name.text} {source} {destination}")
    translation.note(
        name.label,
        f"the mirror is called {called}, after its topics; APPLICATION_NAME or -X mirrors.0.name=… names it",
    )
    return called


def _start(translation: Translation, reset: _Value) -> str:
    if reset.text == "none":
        translation.problem(
            reset.label, 'must be "earliest" or "latest": "none" says nowhere to begin with a new mirror'
        )
        return "earliest"
    return _one_of(translation, reset, ("earliest", "latest"))


def _one_of(translation: Translation, value: _Value, choices: tuple[str, ...]) -> str:
    if value.text not in choices:
        wanted = ", ".join(f'"{choice}"' for choice in choices)
        translation.problem(
            value.label, f"must be one of {wanted}, not {shown(value.text)}{nearest(value.text, choices)}"
        )
    return value.text


def _say_what_differs(translation: Translation, values: Mapping[str, _Value], has_log_level: bool) -> None:
    note = translation.note
    note(
        values[NAME].label,
        "names the group that is advanced on the source for lag tools but never read: "
        "positions are in a ledger on the destination, written in one transaction with the records",
    )
    proxy = values[PROXY].text or f"{values[DESTINATION_TOPIC].text}-proxy"
    note(
        values[PROXY].label,
        f"not needed: records go to the destination topic at once, and {shown(proxy)} is neither read nor "
        "written",
    )
    note(
        values[DESTINATION_TOPIC].label,
        "is created if it does not exist; keys choose partitions as Java producers do (murmur2), as before; "
        "-X mirrors.0.partitions=preserve keeps the source's partitions instead",
    )
    note("records", "headers, timestamps, null keys, tombstones and offset 0 are carried as well")
    if _one_of(translation, values[ACKS], ("all", "-1", "0", "1")) in ("0", "1"):
        note(values[ACKS].label, "acks=all is used all the same: exactly once needs it")
    said = {
        TIMEOUT: "no record is given up: it is sent again for as long as it takes",
        STANDBYS: "not needed: there is no state to stand by for",
        THREADS: "the work is shared by as many tasks as there are cores; -X mirrors.0.shards=N sets their "
        "number",
        BUFFER: "Kafka REO does not read it; memory is bounded by -X mirrors.0.queue_bytes=32MiB",
    }
    for key, text in said.items():
        if values[key].given:
            note(values[key].label, text)
    if values[REPLICAS].given:
        note(
            values[REPLICAS].label,
            "is for the topics that Causeway creates, the destination topic among them",
        )
    if has_log_level:
        note("LOG_LEVEL", "not used: problems and progress are printed, Spark's own log goes to a file")
