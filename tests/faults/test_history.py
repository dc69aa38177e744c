"""A history comes back from disk as it was, also after the harness itself was killed while it wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.content import TOKEN_HEADER, content, differences, token, token_in
from faults.events import KINDS, Lag
from faults.history import History, Journal
from faults.history_builder import ALL_STEPS, HistoryBuilder


def test_every_kind_of_event_comes_back_from_disk(tmp_path: Path) -> None:
    history = HistoryBuilder(ALL_STEPS, removed=4, replicated=2).history()
    assert {type(event) for event in history.events} == set(KINDS), "the made scenario lacks a kind of event"
    history.write(tmp_path / "history.jsonl")

    again = History.read(tmp_path / "history.jsonl")

    assert again.events == history.events


def test_a_journal_is_on_disk_at_every_moment(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    journal = Journal(path)
    for event in HistoryBuilder(ALL_STEPS).history().events:
        journal.add(event)
        assert History.read(path).events[-1] == event
    assert History.read(path).events == journal.history().events
    journal.close()


def test_an_unfinished_last_line_is_no_event_and_any_other_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    HistoryBuilder(ALL_STEPS).history().write(path)
    whole = path.read_text()
    path.write_text(whole + '{"event":"la')
    assert History.read(path).events == HistoryBuilder(ALL_STEPS).history().events
    path.write_text('{"event":"la\n' + whole)
    with pytest.raises(ValueError):
        History.read(path)
    path.write_text('{"event":"nonsense"}\n' + whole)
    with pytest.raises(ValueError, match="not an event"):
        History.read(path)


def test_a_last_line_that_only_lacks_its_end_is_an_event(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    History([Lag(1, 2)]).write(path)
    path.write_text(path.read_text().rstrip("\n"))
    assert History.read(path).events == (Lag(1, 2),)


def test_a_token_is_found_wherever_it_hides_and_never_when_it_is_damaged() -> None:
    name = token("a", 17)
    data = b"xx" + name.encode() + b"yy"
    assert token_in(None, data, ()) == token_in(data, None, ()) == name
    assert token_in(None, None, [("h", b"~"), (TOKEN_HEADER, name.encode())]) == name
    assert token_in(None, None, [("other", name.encode())]) == ""
    for at in range(len(name)):
        for other in b"0a~.8":
            damaged = bytearray(name.encode())
            if damaged[at] != other:
                damaged[at] = other
                assert token_in(None, bytes(damaged), ()) == ""


def test_contents_differ_in_every_detail() -> None:
    plain = content(b"k", b"v", [("a", b"1"), ("a", None)], 5, "create")
    assert differences(plain, plain) == []
    assert differences(plain, content(b"K", b"v", [("a", b"1"), ("a", None)], 5)) == ["key"]
    assert differences(plain, content(b"k", b"", [("a", b"1"), ("a", None)], 5)) == ["value"]
    assert differences(plain, content(None, None, [("a", b"1"), ("a", None)], 5)) == [
        "key-nullness", "value-nullness",
    ]  # fmt: skip
    for headers in (
        [("a", None), ("a", b"1")],
        [("a", b"1"), ("a", b"")],
        [("a", b"1")],
        [("b", b"1"), ("a", None)],
    ):
        assert differences(plain, content(b"k", b"v", headers, 5)) == ["headers"]
    assert differences(plain, content(b"k", b"v", [("a", b"1"), ("a", None)], 6, "append")) == [
        "timestamp", "timestamp-type",
    ]  # fmt: skip
    empty, null = content(b"", b"", (), 5), content(None, None, (), 5)
    assert differences(empty, null) == ["key-nullness", "value-nullness"]
