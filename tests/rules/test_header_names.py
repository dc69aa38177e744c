"""Names of headers become text and the same bytes again; which of them any client can write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.rules.header_names import as_text, encoded, is_plain, odd_names


@given(st.binary(max_size=30))
def test_every_name_is_encoded_to_its_original_bytes(name: bytes) -> None:
    assert encoded(as_text(name)) == name


@pytest.mark.parametrize("name", [b"", b"a", "ключ".encode(), b"a b", b"\x1b[31m"])
def test_names_that_any_client_can_write(name: bytes) -> None:
    assert is_plain(as_text(name))


@pytest.mark.parametrize("name", [b"\0", b"a\0b", b"\xff", b"a\xc3", b"\xed\xa0\x80"])
def test_names_that_not_every_client_can_write(name: bytes) -> None:
    assert odd_names([("a", b""), (as_text(name), None)]) == [1]
