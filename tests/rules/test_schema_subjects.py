"""Which subjects a topic's schemas belong to, and what they are called at the destination."""

from __future__ import annotations

import json

import pytest

from causeway.core.choices import SubjectStrategy
from causeway.core.schema import RegisteredSchema, Schema, SchemaReference
from causeway.rules.schema_subjects import (
    context_of,
    foreign_versions,
    renamed_subject,
    same_content,
    subjects_of,
    unqualified,
)

RECORD = Schema('{"type":"record","name":"Order","namespace":"com.acme","fields":[]}')
TITLED = Schema('{"title": "an order", "type": "object"}', "JSON")
CANDIDATES = [
    "orders-value", "orders-key", "other-value", "com.acme.Order", "orders-com.acme.Order",
    "other-com.acme.Order", "an order", "orders-an order",
]  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "schema", "chosen"),
    [
        ("topic", RECORD, ["orders-value"]),
        ("record", RECORD, ["com.acme.Order"]),
        ("topic-record", RECORD, ["orders-com.acme.Order"]),
        ("topic", TITLED, ["orders-value"]),
        ("record", TITLED, ["an order"]),
        ("topic-record", TITLED, ["orders-an order"]),
        ("none", RECORD, []),
    ],
)
def test_subjects_of_a_topic(strategy: SubjectStrategy, schema: Schema, chosen: list[str]) -> None:
    assert subjects_of(strategy, "orders", "value", CANDIDATES, schema) == chosen


def test_a_json_schema_without_a_title() -> None:
    assert subjects_of("record", "orders", "value", ["orders"], Schema("true", "JSON")) == []
    assert subjects_of("record", "orders", "value", ["orders"], Schema("{", "JSON")) == []


def test_renamed_topics_get_renamed_subjects() -> None:
    assert renamed_subject("topic", "orders-value", "orders", "paris.orders") == "paris.orders-value"
    assert renamed_subject("topic-record", "orders-a.B", "orders", "paris.orders") == "paris.orders-a.B"
    assert renamed_subject("record", "a.B", "orders", "paris.orders") == "a.B"


def test_contexts() -> None:
    assert unqualified(":.paris:orders-value") == "orders-value"
    assert context_of(":.paris:orders-value") == "paris"
    assert unqualified("orders:value") == "orders:value"
    assert context_of("orders-value") == ""


def test_same_content() -> None:
    spaced = Schema(json.dumps(json.loads(RECORD.text), indent=2))
    assert same_content(RECORD, spaced)
    assert not same_content(RECORD, Schema(RECORD.text, "JSON"))
    assert not same_content(RECORD, Schema(RECORD.text.replace("Order", "Other")))
    assert not same_content(RECORD, Schema(RECORD.text, references=(SchemaReference("a", "b", 1),)))
    assert same_content(Schema("message  A {}", "PROTOBUF"), Schema("message A {}\n", "PROTOBUF"))
    assert not same_content(Schema("{", "JSON"), Schema("{}", "JSON"))


def test_versions_that_others_registered() -> None:
    source = [RegisteredSchema("s", 1, 1, RECORD)]
    foreign = RegisteredSchema("s", 2, 8, TITLED)
    assert foreign_versions(source, [RegisteredSchema("s", 1, 7, RECORD), foreign]) == [foreign]
