from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.config.units import format_duration, format_size, parse_duration, parse_size

TEN_YEARS_MS = 10 * 365 * 86_400_000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("30s", 30), ("5m", 300), ("2h", 7_200), ("1d", 86_400), ("1.5s", 1.5), ("0s", 0)],
)
def test_reads_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512B", 512),
        ("64KiB", 65_536),
        ("1MiB", 1_048_576),
        ("1GiB", 2**30),
        ("1KB", 1_000),
        ("1MB", 10**6),
        ("2GB", 2 * 10**9),
        ("1.5KiB", 1_536),
    ],
)
def test_reads_sizes(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize(
    "text",
    [30, 30.0, True, None, "", "30", "s", "-1s", "30 s", "30S", "1.5ms", "1e3s", "5min", "٣s", "30s\n"],
)
def test_refuses_what_is_no_duration(text: object) -> None:
    with pytest.raises(ValueError, match=r'such as "30s"$'):
        parse_duration(text)


@pytest.mark.parametrize(
    "text", [1024, True, "", "1024", "1M", "1mib", "-1B", "0.5B", "1 MiB", "9" * 400 + "B"]
)
def test_refuses_what_is_no_size(text: object) -> None:
    with pytest.raises(ValueError, match=r'such as "64MiB"$'):
        parse_size(text)


@given(st.integers(0, TEN_YEARS_MS))
def test_a_duration_survives_being_written(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds / 1_000)) == milliseconds / 1_000


@given(st.integers(0, 2**39))
def test_a_size_survives_being_written(count: int) -> None:
    assert parse_size(format_size(count)) == count


@given(st.integers(1, 9_999), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_a_written_duration_is_never_longer(number: int, unit: str) -> None:
    assert len(format_duration(parse_duration(f"{number}{unit}"))) <= len(f"{number}{unit}")


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused_with_a_value_error(text: str) -> None:
    for read in (parse_duration, parse_size):
        with contextlib.suppress(ValueError):
            assert read(text) >= 0
