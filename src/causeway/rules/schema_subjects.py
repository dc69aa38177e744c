"""Subjects: which ones a topic's schemas are registered under, and their names at the destination. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from causeway.core.choices import SubjectStrategy
from causeway.core.schema import Part, RegisteredSchema, Schema

_RECORD_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_QUALIFIED = re.compile(r":\.?([^:]*):(.*)", re.DOTALL)


def unqualified(subject: str) -> str:
    """A subject's name without its context: `:.eu:orders-value` is `orders-value` in the context `.eu`."""
    match = _QUALIFIED.fullmatch(subject)
    return match[2] if match else subject


def context_of(subject: str) -> str:
    """The context in a subject's name; empty for the default one."""
    match = _QUALIFIED.fullmatch(subject)
    return match[1] if match else ""


def topic_subject(topic: str, part: Part) -> str:
    return f"{topic}-{part}"


def subjects_of(
    strategy: SubjectStrategy, topic: str, part: Part, candidates: Iterable[str], schema: Schema
) -> list[str]:
    """Of the subjects that have a schema, those that records of this topic use it under."""
    own = topic_subject(topic, part)
    match strategy:
        case "topic":
            chosen = [name for name in candidates if name == own]
        case "topic-record":
            chosen = [
                name
                for name in candidates
                if name.startswith(f"{topic}-") and _is_record(name.removeprefix(f"{topic}-"), schema)
            ]
        case "record":
            chosen = [name for name in candidates if _is_record(name, schema)]
        case _:
            chosen = []
    return sorted(set(chosen))


def may_be_subject_of(strategy: SubjectStrategy, topic: str, part: Part, subject: str) -> bool:
    """Whether a subject is named by this topic, as far as its name shows."""
    if strategy == "topic":
        return subject == topic_subject(topic, part)
    own = (topic_subject(topic, "key"), topic_subject(topic, "value"))
    return strategy == "topic-record" and subject.startswith(f"{topic}-") and subject not in own


def _is_record(name: str, schema: Schema) -> bool:
    """Whether this may be the record's full name: JSON Schemas have a title, which may be any text."""
    if schema.type == "JSON":
        try:
            content = json.loads(schema.text)
        except ValueError:
            return False
        return isinstance(content, dict) and content.get("title") == name
    return _RECORD_NAME.fullmatch(name) is not None and name not in ("key", "value")


def renamed_subject(strategy: SubjectStrategy, subject: str, topic: str, to_topic: str) -> str:
    """The subject's name at the destination: it begins with the topic's name there."""
    if strategy == "record":
        return subject
    return to_topic + subject.removeprefix(topic)


def same_content(left: Schema, right: Schema) -> bool:
    """Whether two registries hold the same schema, however each one formats it."""
    if left.type != right.type or len(left.references) != len(right.references):
        return False
    if left.text == right.text:
        return True
    if left.type == "PROTOBUF":
        return left.text.split() == right.text.split()
    try:
        return bool(json.loads(left.text) == json.loads(right.text))
    except ValueError:
        return False


def missing_versions(
    source: Sequence[RegisteredSchema], destination: Sequence[RegisteredSchema]
) -> list[RegisteredSchema]:
    """Versions of the source's subject that the destination does not have."""
    return foreign_versions(destination, source)


def foreign_versions(
    source: Sequence[RegisteredSchema], destination: Sequence[RegisteredSchema]
) -> list[RegisteredSchema]:
    """Versions of the destination's subject that the source does not have: others register there too."""
    return [
        there for there in destination if not any(same_content(here.schema, there.schema) for here in source)
    ]
