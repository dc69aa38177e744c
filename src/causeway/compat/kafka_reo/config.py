"""Translates Kafka REO's configuration to one mirror of one topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from causeway.compat.kafka_reo.keys import (
    ACKS,
    BUFFER,
    COMPRESSION,
    DESTINATION,
    DESTINATION_TOPIC,
    FETCH,
    LINGER,
    NAME,
    NUMBERS,
    PROXY,
    REPLICAS,
    RESET,
    SOURCE,
    SOURCE_TOPIC,
    STANDBYS,
    TEXTS,
    THREADS,
    TIMEOUT,
    ReoValue,
    read_values,
)
from causeway.compat.reading import fitting, servers, whole
from causeway.compat.translation import ClusterKeys, Translation, mirror_name
from causeway.config import fields
from causeway.config.config_tree import shown
from causeway.config.mirror import Compression
from causeway.config.problems import nearest


def translate(environ: Mapping[str, str], tree: Mapping[Any, Any] | None, *, file: str = "") -> Translation:
    """The mirror that file and environment describe; the environment takes precedence."""
    translation = Translation(
        "Kafka REO", "the environment" if tree is None else f"{file} and the environment"
    )
    values = read_values(translation, environ, tree or {})
    numbers = {
        key: whole(translation, values[key].label, values[key].text, low, high)
        for key, (_, low, high) in NUMBERS.items()
    }
    _clusters(translation, values, numbers)
    _mirror(translation, values, numbers)
    _note_differences(translation, values, "LOG_LEVEL" in environ)
    return translation


def _clusters(translation: Translation, values: Mapping[str, ReoValue], numbers: Mapping[str, int]) -> None:
    for alias, key in (("source", SOURCE), ("destination", DESTINATION)):
        brokers = ",".join(servers(values[key].text))
        fitting(translation, values[key].label, brokers, fields.Servers)
        translation.keys[alias] = ClusterKeys(values[key].label)
        translation.clusters[alias] = {"bootstrap_servers": brokers}
    # Their defaults would only delay records: Causeway does not need them to be fast.
    if values[FETCH].given:
        fetch = max(numbers[FETCH], 1)  # librdkafka has no 0; both mean "immediately"
        translation.clusters["source"]["consumer"] = {"fetch.min.bytes": str(fetch)}
        if fetch > 1:
            translation.note(
                values[FETCH].label,
                "delays records until a fetch has this size; Causeway is as fast without it",
            )
    if values[LINGER].given:
        translation.clusters["destination"]["producer"] = {"linger.ms": str(numbers[LINGER])}


def _mirror(translation: Translation, values: Mapping[str, ReoValue], numbers: Mapping[str, int]) -> None:
    name = values[NAME]
    if name.text:
        fitting(translation, name.label, name.text, fields.GroupName)
    else:
        translation.problem(name.label, "must not be empty")
    topics = {}
    for key in (SOURCE_TOPIC, DESTINATION_TOPIC):
        topics[key] = fitting(translation, values[key].label, values[key].text, fields.TopicName)
    mirror: dict[str, Any] = {
        "name": _mirror_name(translation, name, topics[SOURCE_TOPIC], topics[DESTINATION_TOPIC]),
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
        translation.problem(
            values[REPLICAS].label, "must be at least 1, or -1 for the broker's default, not 0"
        )
    translation.mirrors.append(mirror)


def _mirror_name(translation: Translation, name: ReoValue, source: str, destination: str) -> str:
    """The application's name; with the default name, which all installations share, the topics as well.

    A name contains no space, so `mirror_name` adds a hash of the text: `a-b`, `c` and `a`, `b-c` differ.
    """
    if name.text != TEXTS[NAME]:
        return mirror_name(name.text)
    derived = mirror_name(f"{name.text} {source} {destination}")
    translation.note(
        name.label,
        f"the mirror's name is {derived}, from its topics; set another with APPLICATION_NAME or -X "
        f"mirrors.0.name=…",
    )
    return derived


def _start(translation: Translation, reset: ReoValue) -> str:
    if reset.text == "none":
        translation.problem(
            reset.label, 'must be "earliest" or "latest": "none" gives no start for a new mirror'
        )
        return "earliest"
    return _one_of(translation, reset, ("earliest", "latest"))


def _one_of(translation: Translation, value: ReoValue, choices: tuple[str, ...]) -> str:
    if value.text not in choices:
        wanted = ", ".join(f'"{choice}"' for choice in choices)
        translation.problem(
            value.label, f"must be one of {wanted}, not {shown(value.text)}{nearest(value.text, choices)}"
        )
    return value.text


def _note_differences(translation: Translation, values: Mapping[str, ReoValue], has_log_level: bool) -> None:
    note = translation.note
    note(
        values[NAME].label,
        "is the consumer group to which offsets are committed on the source for lag monitoring; it is never "
        "read: positions are in a ledger on the destination, written in one transaction with the records",
    )
    proxy = values[PROXY].text or f"{values[DESTINATION_TOPIC].text}-proxy"
    note(
        values[PROXY].label,
        f"not needed: records are written to the destination topic directly, and {shown(proxy)} is neither "
        f"read nor "
        "written",
    )
    note(
        values[DESTINATION_TOPIC].label,
        "is created if it does not exist; keys select partitions as in Java producers (murmur2), as before; "
        "-X mirrors.0.partitions=preserve keeps the source's partitions instead",
    )
    note("records", "headers, timestamps, null keys, tombstones and offset 0 are replicated as well")
    if _one_of(translation, values[ACKS], ("all", "-1", "0", "1")) in ("0", "1"):
        note(values[ACKS].label, "acks=all is used anyway: exactly-once needs it")
    texts = {
        TIMEOUT: "records are retried without a time limit",
        STANDBYS: "not needed: there are no state stores",
        THREADS: "there is one task for each core; -X mirrors.0.shards=N sets their number",
        BUFFER: "Kafka REO does not read it; memory is limited by -X mirrors.0.queue_bytes=32MiB",
    }
    for key, text in texts.items():
        if values[key].given:
            note(values[key].label, text)
    if values[REPLICAS].given:
        note(
            values[REPLICAS].label,
            "applies to the topics that Causeway creates, including the destination topic",
        )
    if has_log_level:
        note("LOG_LEVEL", "not used: errors and progress are printed, and Spark's log is a file")
