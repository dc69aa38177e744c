"""Both sides compared: whatever differs must be seen."""

from __future__ import annotations

from typing import Any

import pytest

from bench.content import Digest, Fingerprint, difference

RECORD: tuple[Any, ...] = (17, b"key", b"value", [("a", b"1"), ("b", None)])


def digest(*records: tuple[Any, ...], whole: bool = True) -> Digest:
    fingerprint = Fingerprint(whole=whole)
    for record in records:
        fingerprint.add(*record)
    return fingerprint.digest()


@pytest.mark.parametrize(
    "other",
    [
        (18, b"key", b"value", [("a", b"1"), ("b", None)]),
        (17, None, b"value", [("a", b"1"), ("b", None)]),
        (17, b"", b"keyvalue", [("a", b"1"), ("b", None)]),
        (17, b"key", None, [("a", b"1"), ("b", None)]),
        (17, b"key", b"valu", [("a", b"1"), ("b", None)]),
        (17, b"keyv", b"alue", [("a", b"1"), ("b", None)]),
        (17, b"key", b"value", [("b", None), ("a", b"1")]),
        (17, b"key", b"value", [("a", b"1"), ("b", b"")]),
        (17, b"key", b"value", [("a", b"1")]),
        (17, b"key", b"value", None),
    ],
)
def test_every_field_counts(other: tuple[Any, ...]) -> None:
    assert digest(RECORD) == digest(RECORD)
    assert digest(other) != digest(RECORD)


def test_order_counts_and_batches_do_not() -> None:
    a, b = (1, None, b"a", None), (1, None, b"b", None)
    assert digest(a, b) != digest(b, a)
    settled = Fingerprint()
    settled.add(*a)
    settled.settle()
    settled.add(*b)
    assert settled.digest() == digest(a, b)


def test_no_headers_and_an_empty_list_of_them_are_the_same() -> None:
    assert digest((1, None, b"a", None)) == digest((1, None, b"a", []))


def test_the_same_on_both_sides_is_no_difference() -> None:
    assert difference({0: digest(RECORD), 1: digest()}, {0: digest(RECORD)}) == ""


def test_a_difference_names_the_partition() -> None:
    here = {0: digest(RECORD), 1: digest(RECORD, RECORD)}
    assert "partition 1: 2 records became 3" in difference(here, {**here, 1: digest(RECORD, RECORD, RECORD)})
    changed = (17, b"key", b"other", None)
    assert "partition 0: 1 records, but not the same" in difference(here, {**here, 0: digest(changed)})
    assert "partition 2: 0 records became 1" in difference(here, {**here, 2: digest(RECORD)})


def test_nothing_is_no_copy_of_nothing() -> None:
    assert difference({0: digest()}, {0: digest()}) == "there was nothing to copy"


def test_timestamps_and_headers_can_be_left_out_and_nothing_else() -> None:
    assert digest(RECORD, whole=False) == digest((99, b"key", b"value", None), whole=False)
    assert digest(RECORD, whole=False) != digest((17, b"key", b"valu", None), whole=False)
    assert digest(RECORD, whole=False) != digest((17, None, b"value", None), whole=False)
