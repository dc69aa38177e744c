"""Compacted topics are equal if the latest records of all keys are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from causeway.core.digests import KeyedDigestBatch
from causeway.core.verify_report import Coordinates
from causeway.verification.rules.compaction import compare_latest
from causeway.verification.rules.difference_types import SourceSpan

ALL = 1 << 60
EVERYTHING = SourceSpan(ALL, ALL)

Row = tuple[str, str | None]  # key and value


def batches(rows: list[Row], offsets: list[int] | None = None) -> list[KeyedDigestBatch]:
    at = offsets if offsets is not None else list(range(len(rows)))
    return [
        (
            at,
            [key.encode() for key, _ in rows],
            [f"{key}={value}".encode() for key, value in rows],
            [value is None for _, value in rows],
        )
    ]


rows = st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from(["1", "2", "3", None])), max_size=30)


@given(rows, st.data())
def test_compaction_makes_no_difference(everything: list[Row], data: st.DataObject) -> None:
    """It may remove any record that a later one of its key follows, and later the last tombstone."""

    def compacted() -> list[tuple[int, Row]]:
        last = {key: offset for offset, (key, _) in enumerate(everything)}
        kept = []
        for offset, (key, value) in enumerate(everything):
            if (last[key] == offset and value is not None) or data.draw(st.booleans()):
                kept.append((offset, (key, value)))
        # A tombstone is never removed before the records that it deletes.
        living = {key for offset, (key, value) in kept if value is not None and offset != last[key]}
        kept += [
            (last[key], (key, None))
            for key in living
            if everything[last[key]][1] is None and (last[key], (key, None)) not in kept
        ]
        return sorted(kept)

    source_rows, destination_rows = compacted(), compacted()

    findings = compare_latest(
        batches([row for _, row in source_rows], [offset for offset, _ in source_rows]),
        batches([row for _, row in destination_rows], [offset for offset, _ in destination_rows]),
        EVERYTHING,
    )

    assert findings.equal
    assert findings.source_records == findings.destination_records


@given(rows, rows)
def test_equal_means_that_the_same_keys_have_the_same_latest_records(
    source_rows: list[Row], destination_rows: list[Row]
) -> None:
    live_source = {key: value for key, value in dict(source_rows).items() if value is not None}
    live_destination = {key: value for key, value in dict(destination_rows).items() if value is not None}

    findings = compare_latest(batches(source_rows), batches(destination_rows), EVERYTHING)

    assert findings.equal == (live_source == live_destination)
    assert findings.source_records == len(live_source)
    assert findings.destination_records == len(live_destination)


def test_each_kind_of_difference_has_its_coordinates() -> None:
    source_rows: list[Row] = [
        ("lost", "1"),
        ("changed", "1"),
        ("deleted", "1"),
        ("deleted", None),
        ("same", "1"),
    ]
    destination_rows: list[Row] = [("same", "1"), ("changed", "2"), ("deleted", "1"), ("strange", "1")]

    findings = compare_latest(batches(source_rows), batches(destination_rows), EVERYTHING)

    assert findings.counts == {"missing": 2, "changed": 1, "unexpected": 1}
    assert findings.first["missing"] == (Coordinates(0, None), Coordinates(3, None))
    assert findings.first["changed"] == (Coordinates(1, 1),)
    assert findings.first["unexpected"] == (Coordinates(None, 3),)


def test_versions_after_the_ledgers_position_may_have_arrived_or_not() -> None:
    """v1 was replicated, v2 is lagging, v3 is after the captured end: the destination may have any."""
    source_rows: list[Row] = [("k", "1"), ("k", "2"), ("k", "3")]
    span = SourceSpan(position=1, end=2)

    counts = {
        version: compare_latest(batches(source_rows), batches([("k", version)]), span).counts
        for version in ("1", "2", "3")
    }

    assert counts == {"1": {"lagging": 1}, "2": {}, "3": {}}


def test_a_trimmed_side_explains_keys_that_only_the_other_has() -> None:
    rows: list[Row] = [("old", "1")]

    expired_on_source = compare_latest(batches([]), batches(rows), SourceSpan(ALL, ALL, source_trimmed=True))
    expired_on_destination = compare_latest(
        batches(rows), batches([]), SourceSpan(ALL, ALL, destination_trimmed=True)
    )

    assert (expired_on_source.equal, expired_on_source.expired_on_source) == (True, 1)
    assert (expired_on_destination.equal, expired_on_destination.expired_on_destination) == (True, 1)
