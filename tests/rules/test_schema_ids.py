"""Where a record names its schemas, and what changes where an id is rewritten."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.rules.header_names import Headers
from causeway.rules.schema_ids import HEADER_NAMES, NamedSchema, Parts, named_schemas, rewritten

GUID = uuid.UUID("1f6c3d0e-5a9b-4c7d-8e2f-0a1b2c3d4e5f")
IDS = st.integers(1, 2**31 - 1)
DATA = st.none() | st.binary(max_size=12)
HEADERS = st.none() | st.lists(
    st.tuples(st.sampled_from(["a", *HEADER_NAMES.values()]), st.none() | st.binary(max_size=20)), max_size=4
)


def prefix(number: int, content: bytes = b"content") -> bytes:
    return b"\0" + number.to_bytes(4, "big") + content


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"\0\0\0\0",
        b"text that is no schema's",
        b"\1" + GUID.bytes,
        (5).to_bytes(8, "big"),
        prefix(0),
        b"\0\xff\xff\xff\xffx",
    ],
    ids=["null", "empty", "an int", "text", "a guid is in headers alone", "a small long", "zero", "negative"],
)
def test_what_is_no_id(data: bytes | None) -> None:
    assert named_schemas(Parts(data, data, None)) == []


def test_prefixes_of_key_and_value() -> None:
    parts = Parts(prefix(7), prefix(300), None)
    assert named_schemas(parts) == [NamedSchema("key", 7), NamedSchema("value", 300)]
    assert named_schemas(parts, ("value",)) == [NamedSchema("value", 300)]


def test_a_header_replaces_the_prefix() -> None:
    """With a header the value is the bare content, which may begin with any bytes."""
    headers: Headers = [("__value_schema_id", b"\1" + GUID.bytes + b"\0")]
    assert named_schemas(Parts(prefix(7), prefix(8), headers)) == [
        NamedSchema("key", 7),
        NamedSchema("value", str(GUID), in_header=True),
    ]


def test_the_last_header_counts() -> None:
    headers: Headers = [("__key_schema_id", prefix(1, b"")), ("__key_schema_id", prefix(2, b""))]
    assert named_schemas(Parts(b"k", None, headers)) == [NamedSchema("key", 2, in_header=True)]
    changed = rewritten(Parts(b"k", None, headers), NamedSchema("key", 2, in_header=True), 9)
    assert changed == (b"k", None, [("__key_schema_id", prefix(1, b"")), ("__key_schema_id", prefix(9, b""))])


def test_a_header_that_names_nothing() -> None:
    assert named_schemas(Parts(None, prefix(8), [("__value_schema_id", b"?")])) == []
    assert named_schemas(Parts(None, prefix(8), [("__value_schema_id", b"")])) == []
    assert named_schemas(Parts(None, prefix(8), [("__value_schema_id", None)])) == [NamedSchema("value", 8)]


@given(DATA, DATA, HEADERS, IDS)
def test_four_bytes_change_and_nothing_else(
    key: bytes | None, value: bytes | None, headers: Headers | None, to: int
) -> None:
    parts = Parts(key, value, headers)
    for schema in named_schemas(parts):
        if isinstance(schema.id, str):
            continue
        changed = rewritten(parts, schema, to)
        renamed = schema._replace(id=to)
        assert [each for each in named_schemas(changed) if each.part == schema.part] == [renamed]
        assert rewritten(changed, renamed, schema.id) == parts


@given(IDS, st.binary(max_size=20))
def test_every_prefix_is_found(number: int, content: bytes) -> None:
    data = prefix(number, content)
    assert named_schemas(Parts(data, None, None)) == [NamedSchema("key", number)]
    assert named_schemas(Parts(None, data, None)) == [NamedSchema("value", number)]
