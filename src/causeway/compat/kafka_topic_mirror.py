"""Kafka Topic Mirror: its environment variables, with its defaults, also from a `.env` file.

A variable set to the empty string differs from an unset one: the tool then uses the zero value of the type
instead of its default. This module does the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from causeway.compat.dotenv import Dotenv
from causeway.compat.metrics_endpoint import listen
from causeway.compat.reading import fitting, servers, whole
from causeway.compat.translation import ClusterKeys, Translation, mirror_name
from causeway.config import fields
from causeway.config.config_tree import shown
from causeway.config.problems import nearest

REQUIRED = ("INPUT_TOPIC", "OUTPUT_TOPIC")
DEFAULTS: Mapping[str, str] = {
    "CLIENT_ID": "",
    "CONSUMER_GROUP": "",
    "INPUT_BROKERS": "localhost:9092",
    "NEWEST_OFFSET": "true",
    "OUTPUT_BROKERS": "localhost:9092",
    "MAX_PUBLISH": "1000",
    "PROM_SERVER_ADDR": "",
}
NAMES = (*REQUIRED, *DEFAULTS)

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_LEAST_QUEUED = 1_000  # space for a transaction's positions besides its records
_MOST_QUEUED = 10_000_000  # maximum of queue_records
_MOST_PUBLISHED = 2**63 - 1


def translate(
    environ: Mapping[str, str], *, hostname: str, dotenv: Dotenv | None = None, file: str = ""
) -> Translation:
    """The mirror that the variables describe; the environment takes precedence over the file."""
    translation = Translation(
        "Kafka Topic Mirror", f"the environment and {file}" if dotenv else "the environment"
    )
    _report_file(translation, dotenv or Dotenv(), file)
    given = {
        **(dotenv.values if dotenv else {}),
        **{name: environ[name] for name in NAMES if name in environ},
    }
    values = {**DEFAULTS, **given}

    topics = {name: _topic(translation, name, values.get(name, "")) for name in REQUIRED}
    brokers = {
        name: _brokers(translation, name, values[name]) for name in ("INPUT_BROKERS", "OUTPUT_BROKERS")
    }
    _refuse_cycle(translation, topics, brokers)
    client = values["CLIENT_ID"] or f"kafka_topic_mirror_{hostname}"
    group = values["CONSUMER_GROUP"] or f"{topics['INPUT_TOPIC']}_ktm"
    if values["CONSUMER_GROUP"]:
        fitting(translation, "CONSUMER_GROUP", group, fields.GroupName)

    for alias, name in (("input", "INPUT_BROKERS"), ("output", "OUTPUT_BROKERS")):
        translation.keys[alias] = ClusterKeys(name)
        translation.clusters[alias] = {
            "bootstrap_servers": ",".join(brokers[name]),
            "properties": {"client.id": client},
        }
    mirror: dict[str, Any] = {
        "name": mirror_name(group),
        "source": "input",
        "destination": "output",
        "topics": [topics["INPUT_TOPIC"]],
        "partitions": "by-key",
        "partitioner": "fnv1a",
        "start": _start(translation, given, values["NEWEST_OFFSET"]),
        "compression": "snappy",
        "source_group_name": group,
        "queue_records": _queued(translation, values["MAX_PUBLISH"]),
    }
    if topics["INPUT_TOPIC"] != topics["OUTPUT_TOPIC"]:
        mirror["rename"] = {topics["INPUT_TOPIC"]: topics["OUTPUT_TOPIC"]}
    translation.mirrors.append(mirror)
    _note_differences(translation, values)
    return translation


def _report_file(translation: Translation, dotenv: Dotenv, file: str) -> None:
    problems = dict(dotenv.problems)
    for name, line in dotenv.lines.items():
        if name not in NAMES:
            problems[line] = f"{name}: Kafka Topic Mirror has no such variable{nearest(name, NAMES)}"
    for line in sorted(problems):
        translation.problem(f"{file}: line {line}", problems[line])
    for line, remark in dotenv.remarks.items():
        translation.note(f"{file}: line {line}", remark)


def _topic(translation: Translation, name: str, text: str) -> str:
    if not text:
        translation.problem(name, "missing; Kafka Topic Mirror requires it")
        return text
    return fitting(translation, name, text, fields.TopicName)


def _brokers(translation: Translation, name: str, text: str) -> list[str]:
    brokers = servers(text)
    if brokers:
        fitting(translation, name, ",".join(brokers), fields.Servers)
    else:
        translation.problem(name, 'must name a broker, for example "localhost:9092"')
    return brokers


def _refuse_cycle(
    translation: Translation, topics: Mapping[str, str], brokers: Mapping[str, list[str]]
) -> None:
    """Reject a cycle by the brokers' names, as the tool does; planning does it by the clusters' ids."""
    shared = [server for server in brokers["INPUT_BROKERS"] if server in brokers["OUTPUT_BROKERS"]]
    if shared and topics["INPUT_TOPIC"] and topics["INPUT_TOPIC"] == topics["OUTPUT_TOPIC"]:
        translation.problem(
            "OUTPUT_TOPIC",
            f"is INPUT_TOPIC, and {shown(shared[0])} is on both sides: records would be replicated in a loop",
        )


def _start(translation: Translation, given: Mapping[str, str], text: str) -> str:
    if text in _TRUE:
        translation.note(
            "NEWEST_OFFSET",
            f"{text if 'NEWEST_OFFSET' in given else 'true by default'}: records in INPUT_TOPIC before the "
            f"first start are not replicated; NEWEST_OFFSET=false replicates them",
        )
        return "latest"
    if not text:
        translation.note("NEWEST_OFFSET", "is empty, which Kafka Topic Mirror reads as false")
    elif text not in _FALSE:
        translation.problem("NEWEST_OFFSET", f"must be true or false, not {shown(text)}")
    return "earliest"


def _queued(translation: Translation, text: str) -> int:
    """Maximum number of records in memory: two batches, as in the tool."""
    batch = whole(translation, "MAX_PUBLISH", text or "0", 0, _MOST_PUBLISHED)
    queued = min(max(2 * batch, _LEAST_QUEUED), _MOST_QUEUED)
    translation.note(
        "MAX_PUBLISH",
        "batch sizes adapt to the load, and no batch waits to be full; this only limits the producer queue, "
        f"to {queued} records",
    )
    return queued


def _note_differences(translation: Translation, values: Mapping[str, str]) -> None:
    translation.note(
        "CONSUMER_GROUP",
        "offsets are committed to it on the source for lag monitoring, but never read: positions are in a "
        "ledger on the destination, written in one transaction with their records (acks=all instead of 1), "
        "so each record arrives once",
    )
    translation.note(
        "OUTPUT_TOPIC",
        "is created if it does not exist; keys select the same partitions as before (FNV-1a), records "
        "without a key are spread over all partitions instead of going to one",
    )
    listen(translation, "PROM_SERVER_ADDR", values["PROM_SERVER_ADDR"], "ktm")
