"""A ledger record that another program wrote, or that was damaged, is refused and never half understood."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.core.ledger_record import _KINDS, VERSION, UnknownRecord, decode
from causeway.core.position import Position

KINDS = {**_KINDS, "position": Position}
FIELDS = st.sampled_from(sorted({field.name for kind in KINDS.values() for field in fields(kind)}))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=8,
)


def refused_or_read(value: bytes) -> None:
    try:
        decode(value)
    except UnknownRecord as error:
        assert len(str(error)) < 2_000


@pytest.mark.parametrize("value", [b"[" * 100_000, b'{"v":' * 50_000, b"1" * 100_000, b"\xff", b"", b"null"])
def test_what_is_no_record(value: bytes) -> None:
    with pytest.raises(UnknownRecord):
        decode(value)


@settings(max_examples=150)
@pytest.mark.no_cover
@given(st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes(value: bytes) -> None:
    refused_or_read(value)


@settings(max_examples=200)
@pytest.mark.no_cover
@given(st.sampled_from(sorted(KINDS)), st.dictionaries(FIELDS, VALUES, max_size=8))
def test_any_record_of_a_known_version(kind: str, body: dict[str, Any]) -> None:
    refused_or_read(json.dumps({"v": VERSION, "kind": kind, **body}).encode())
