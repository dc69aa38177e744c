"""Alignment names every difference by its kind and place, whatever the distance and the window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.digests import DigestBatch, DigestReader
from causeway.core.verify_report import Coordinates, DifferenceKind, Findings
from causeway.verification.rules.alignment import Effort, align
from causeway.verification.rules.difference_types import SourceSpan
from causeway.verification.rules.subsequence import common_subsequence

TINY = Effort(windows=(8, 16, 32), proof=4, far_proof=2, one_in=2)
ALL = 1 << 60
EVERYTHING = SourceSpan(position=ALL, end=ALL)

Record = tuple[int, str]  # an offset and a content


def digest(content: object) -> bytes:
    return blake2b(str(content).encode(), digest_size=16).digest()


def side(records: list[Record], batch: int = 5) -> DigestReader:
    def read(start: int) -> Iterator[DigestBatch]:
        wanted = [(offset, digest(content)) for offset, content in records if offset >= start]
        for i in range(0, len(wanted), batch):
            part = wanted[i : i + batch]
            yield [offset for offset, _ in part], [content for _, content in part]

    return read


def compare(
    source: list[Record], destination: list[Record], span: SourceSpan = EVERYTHING, effort: Effort = TINY
) -> Findings:
    return align(side(source), side(destination, 7), span, effort=effort)


def numbered(contents: list[str], first: int = 0, step: int = 1) -> list[Record]:
    return [(first + step * i, content) for i, content in enumerate(contents)]


def topic(length: int) -> list[str]:
    return [f"r{i}" for i in range(length)]


def places(findings: Findings, kind: DifferenceKind) -> list[tuple[int | None, int | None]]:
    return [(at.source, at.destination) for at in findings.first.get(kind, ())]


lengths = st.integers(1, 400)
efforts = st.sampled_from([TINY, Effort(), Effort(windows=(4, 8), proof=2, far_proof=2, one_in=1)])


@st.composite
def a_topic_and_a_place(draw: st.DrawFn) -> tuple[list[str], int]:
    length = draw(lengths)
    return topic(length), draw(st.integers(0, length - 1))


@given(st.lists(st.sampled_from("abcdefgh")), st.integers(1, 3), efforts)
def test_equal_sides_are_clean_whatever_their_offsets(contents: list[str], step: int, effort: Effort) -> None:
    source, destination = numbered(contents, 10, step), numbered(contents, 500)

    findings = compare(source, destination, effort=effort)

    assert findings.equal
    assert findings.source_records == findings.destination_records == len(contents)
    assert findings.first == {}


@given(a_topic_and_a_place(), efforts)
def test_a_dropped_record_is_missing_at_its_offset(made: tuple[list[str], int], effort: Effort) -> None:
    contents, at = made
    destination = numbered(contents[:at] + contents[at + 1 :])

    findings = compare(numbered(contents, 100, 2), destination, effort=effort)

    assert findings.counts == {"missing": 1}
    assert places(findings, "missing") == [(100 + 2 * at, None)]


@given(a_topic_and_a_place(), st.data(), efforts)
def test_a_repeated_record_is_duplicated_and_names_its_original(
    made: tuple[list[str], int], data: st.DataObject, effort: Effort
) -> None:
    contents, at = made
    again = data.draw(st.integers(at + 1, len(contents)))  # anywhere after the original
    destination = numbered([*contents[:again], contents[at], *contents[again:]])

    findings = compare(numbered(contents, 100), destination, effort=effort)

    assert findings.counts == {"duplicated": 1}
    [(original, copy)] = places(findings, "duplicated")
    assert original == 100 + at
    assert copy in (at, again)  # next to its original, either of the two may count as the copy


@given(a_topic_and_a_place(), st.data(), efforts)
def test_swapped_records_are_out_of_order_at_any_distance(
    made: tuple[list[str], int], data: st.DataObject, effort: Effort
) -> None:
    contents, i = made
    j = data.draw(st.integers(0, len(contents) - 1))
    i, j = min(i, j), max(i, j)
    swapped = list(contents)
    swapped[i], swapped[j] = contents[j], contents[i]

    findings = compare(numbered(contents), numbered(swapped), effort=effort)

    assert set(findings.counts) <= {"out_of_order"}
    moved = places(findings, "out_of_order")
    if j - i > 2:
        assert sorted(moved, key=str) == sorted([(i, j), (j, i)], key=str)
    elif i < j:  # two or three neighbours: moving any one of them restores the order
        assert 1 <= findings.counts["out_of_order"] <= 2
        assert {offset for offset, _ in moved} <= {i, i + 1, j}
    else:
        assert findings.equal


@given(a_topic_and_a_place(), efforts)
def test_a_changed_record_is_changed_at_both_offsets(made: tuple[list[str], int], effort: Effort) -> None:
    contents, at = made
    destination = numbered([*contents[:at], "changed", *contents[at + 1 :]], 30)

    findings = compare(numbered(contents), destination, effort=effort)

    assert findings.counts == {"changed": 1}
    assert places(findings, "changed") == [(at, 30 + at)]


@given(a_topic_and_a_place(), efforts)
def test_a_foreign_record_is_unexpected(made: tuple[list[str], int], effort: Effort) -> None:
    contents, at = made
    destination = numbered([*contents[:at], "foreign", *contents[at:]])

    findings = compare(numbered(contents), destination, effort=effort)

    assert findings.counts == {"unexpected": 1}
    assert places(findings, "unexpected") == [(None, at)]


Edit = tuple[str, int]


@given(
    st.lists(st.tuples(st.sampled_from(["drop", "change", "add", "keep"]), st.integers(12, 40)), max_size=12)
)
def test_several_edits_keep_their_kinds_and_coordinates(edits: list[Edit]) -> None:
    """Each edit is followed by enough equal records for both sides to agree again."""
    source: list[Record] = []
    destination: list[Record] = []
    expected: dict[str, list[tuple[int | None, int | None]]] = {
        "missing": [],
        "changed": [],
        "unexpected": [],
    }
    for number, (edit, stretch) in enumerate(edits):
        source_offset, destination_offset = len(source), len(destination)
        if edit != "add":
            source.append((source_offset, f"edited {number}"))
        if edit == "drop":
            expected["missing"].append((source_offset, None))
        elif edit == "change":
            destination.append((destination_offset, f"changed {number}"))
            expected["changed"].append((source_offset, destination_offset))
        elif edit == "add":
            destination.append((destination_offset, f"foreign {number}"))
            expected["unexpected"].append((None, destination_offset))
        else:
            destination.append((destination_offset, f"edited {number}"))
        for i in range(stretch):
            source.append((len(source), f"{number}/{i}"))
            destination.append((len(destination), f"{number}/{i}"))

    findings = compare(source, destination)

    for kind, wanted in expected.items():
        assert places(findings, kind) == wanted[:10]  # type: ignore[arg-type]
        assert findings.counts.get(kind, 0) == len(wanted)  # type: ignore[call-overload]
    assert set(findings.counts) <= set(expected)


@pytest.mark.parametrize("lost", [33, 100, 1_000, 5_000])
@pytest.mark.parametrize("at", [0, 50, 2_900])
def test_a_loss_larger_than_every_window_is_a_loss_and_nothing_else(lost: int, at: int) -> None:
    contents = topic(3_000)
    gone = [f"gone {i}" for i in range(lost)]

    findings = compare(numbered([*contents[:at], *gone, *contents[at:]]), numbered(contents))

    assert findings.counts == {"missing": lost}
    assert places(findings, "missing") == [(at + i, None) for i in range(10)]


@pytest.mark.parametrize("repeated", [33, 1_000])
def test_a_replayed_stretch_larger_than_every_window_is_duplicated(repeated: int) -> None:
    contents = topic(3_000)
    destination = [*contents[:2_000], *contents[2_000 - repeated : 2_000], *contents[2_000:]]

    findings = compare(numbered(contents), numbered(destination))

    assert findings.counts == {"duplicated": repeated}
    assert places(findings, "duplicated")[0] == (2_000 - repeated, 2_000)


def test_a_long_stretch_that_changed_is_changed_and_the_rest_agrees() -> None:
    contents = topic(3_000)
    changed = [*contents[:1_000], *(f"x{i}" for i in range(500)), *contents[1_500:]]

    findings = compare(numbered(contents), numbered(changed))

    assert findings.counts == {"changed": 500}
    assert places(findings, "changed")[0] == (1_000, 1_000)


def test_sides_that_never_meet_are_changed_throughout() -> None:
    findings = compare(numbered(topic(3_000)), numbered([f"x{i}" for i in range(3_000)]))

    assert findings.counts == {"changed": 3_000}


def test_a_destination_with_every_fifth_record_lost_the_others_and_moved_none() -> None:
    contents = topic(3_000)

    findings = compare(numbered(contents), numbered(contents[::5]))

    assert findings.counts == {"missing": 2_400}


def test_differences_beyond_the_limit_are_still_counted() -> None:
    contents = topic(3_000)
    effort = Effort(windows=(8, 16, 32), proof=4, far_proof=2, one_in=2, limit=100)

    findings = compare(numbered(contents), numbered([f"x{i}" for i in range(2_900)]), effort=effort)

    assert findings.approximate
    assert findings.counts == {"changed": 2_900, "missing": 100}


few = st.lists(st.sampled_from("abcdefghijkl"), max_size=60)


@given(few, few, efforts)
def test_every_record_is_accounted_for_whatever_both_sides_hold(
    left: list[str], right: list[str], effort: Effort
) -> None:
    """Records repeat on both sides here: occurrences are counted, not only presence."""
    source, destination = Counter(left), Counter(right)

    findings = compare(numbered(left), numbered(right), effort=effort)
    counts = Counter(findings.counts)

    assert findings.equal == (left == right)
    assert findings.source_records == len(left)
    assert findings.destination_records == len(right)
    assert counts["missing"] + counts["changed"] == (source - destination).total()
    surplus = destination - source
    assert counts["duplicated"] == sum(count for content, count in surplus.items() if content in source)
    assert counts["unexpected"] + counts["changed"] == sum(
        count for content, count in surplus.items() if content not in source
    )


@given(few, st.data())
def test_a_record_dropped_among_identical_ones_is_one_missing(
    contents: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, max(0, len(contents) - 1)))
    kept = contents[:at] + contents[at + 1 :]

    findings = compare(numbered(contents), numbered(kept), effort=Effort())

    assert findings.counts == ({"missing": 1} if contents else {})
    for coordinates in findings.first.get("missing", ()):
        assert coordinates.source is not None
        assert contents[coordinates.source] == contents[at]


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_which_records_are_required_depends_on_the_ledger_and_on_the_captured_end(
    arrived: int, position: int, end: int
) -> None:
    contents = topic(60)

    findings = compare(numbered(contents), numbered(contents[:arrived]), SourceSpan(position, end))

    missing = max(0, position - arrived)
    assert Counter(findings.counts)["missing"] == missing
    assert Counter(findings.counts)["lagging"] == max(0, end - max(position, arrived))
    assert places(findings, "missing") == [(arrived + i, None) for i in range(min(10, missing))]


@given(st.integers(1, 200), st.integers(0, 200))
def test_destination_records_from_before_the_sources_log_start_are_expired_not_unexpected(
    expired_on_source: int, kept: int
) -> None:
    contents = topic(expired_on_source + kept)

    findings = compare(
        numbered(contents)[expired_on_source:], numbered(contents), SourceSpan(ALL, ALL, source_trimmed=True)
    )

    assert findings.equal
    assert findings.expired_on_source == expired_on_source


@given(st.integers(1, 200), st.integers(0, 200))
def test_source_records_from_before_the_destinations_log_start_are_not_missing(
    expired_on_destination: int, kept: int
) -> None:
    contents = topic(expired_on_destination + kept)

    findings = compare(
        numbered(contents),
        numbered(contents)[expired_on_destination:],
        SourceSpan(ALL, ALL, destination_trimmed=True),
    )

    assert findings.equal
    assert findings.expired_on_destination == expired_on_destination


def test_trimming_excuses_nothing_after_the_first_match() -> None:
    contents = topic(100)
    source = numbered(contents)[20:]
    destination = numbered([*contents[:50], "foreign", *contents[51:]])

    findings = compare(source, destination, SourceSpan(ALL, ALL, source_trimmed=True))

    assert findings.counts == {"changed": 1}
    assert findings.first["changed"] == (Coordinates(50, 50),)


@given(few, few)
def test_the_common_subsequence_is_common_rises_and_is_the_longest(left: list[str], right: list[str]) -> None:
    a, b = [digest(content) for content in left], [digest(content) for content in right]

    pairs = common_subsequence(a, b)

    assert all(a[i] == b[j] for i, j in pairs)
    assert all(p[0] < q[0] and p[1] < q[1] for p, q in pairwise(pairs))
    assert len(pairs) == _longest(left, right)


def _longest(left: list[str], right: list[str]) -> int:
    row = [0] * (len(right) + 1)
    for content in left:
        before = 0
        for j, other in enumerate(right):
            before, row[j + 1] = row[j + 1], before + 1 if content == other else max(row[j + 1], row[j])
    return row[-1]
