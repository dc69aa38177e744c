"""Kafka REO's keys: environment variables over its YAML, and the file it ships as the default for both.

A variable's name is the key in capitals, with underscores for dots and hyphens. Keys in the file may be
nested, as the tool expects them, or dotted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from causeway.compat.translation import Translation
from causeway.config.config_tree import dotted, shown
from causeway.config.input_limits import check_shape, unreadable
from causeway.config.problems import nearest

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


MOST_BRACKETS = 500
"""The parser takes a second for each thousand that are nested."""


class _Loader(yaml.SafeLoader):
    """Without aliases: a few lines with them can stand for gigabytes, and no key of the tool needs one."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases (*name) cannot be used here", mark)
        return super().compose_node(parent, index)


def parse(text: str, file: str) -> dict[str, Any]:
    """The file's tables; raises ConfigError if it is not YAML or not a table."""
    if sum(map(text.count, "[{")) > MOST_BRACKETS:
        raise unreadable(f"{file}: has more than {MOST_BRACKETS} brackets")
    try:
        tree = yaml.load(text, _Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = f"{file}: {where}not YAML: {error.problem or error.context}"
    except (yaml.YAMLError, ValueError, RecursionError):  # invalid bytes, dates or depths
        problem = f"{file}: not YAML: a value cannot be read"
    else:
        if tree is None or isinstance(tree, dict):
            check_shape(tree, file)
            return tree or {}
        problem = f"{file}: must be a table of keys and values"
    raise unreadable(problem)


@dataclass(frozen=True)
class ReoValue:
    label: str  # as the user wrote the key
    text: str
    given: bool


def read_values(
    translation: Translation, environ: Mapping[str, str], tree: Mapping[Any, Any]
) -> dict[str, ReoValue]:
    """The value of every key; unknown and unusable ones become problems of the translation."""
    values = {key: ReoValue(key, text, False) for key, text in TEXTS.items()}
    values |= {key: ReoValue(key, text, False) for key, (text, _, _) in NUMBERS.items()}
    _from_file(translation, values, tree)
    _from_environment(translation, values, environ)
    return values


def _from_file(
    translation: Translation, values: dict[str, ReoValue], table: Mapping[Any, Any], path: str = ""
) -> None:
    for name, value in table.items():
        key = f"{path}{name}"
        if key in SECTIONS:
            if isinstance(value, dict):
                _from_file(translation, values, value, f"{key}.")
            elif value is not None:
                translation.problem(key, f"must be a table of keys and values, not {shown(value)}")
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
            values[key] = ReoValue(key, str(value), True)


def _meant(key: str) -> str:
    """`, did you mean "topic"?` among the names in the same section, or among all if that is unknown."""
    section, _, name = key.rpartition(".")
    known = (*KEYS, *SECTIONS)
    if section not in SECTIONS:
        return nearest(key, known)
    return nearest(name, [own for other in known if (own := other.removeprefix(f"{section}.")) != other])


def _from_environment(
    translation: Translation, values: dict[str, ReoValue], environ: Mapping[str, str]
) -> None:
    for name in sorted(environ):
        if name in VARIABLES:
            values[VARIABLES[name]] = ReoValue(name, environ[name], True)
        elif name.startswith(OWN_PREFIXES):
            translation.problem(name, f"Kafka REO has no such variable{nearest(name, VARIABLES)}")
