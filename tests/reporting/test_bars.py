"""What people see of long work, as text; what it says is decided in test_pace.py."""

from __future__ import annotations

import time
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from causeway.core.progress import Backlog, MirrorProgress, TopicProgress
from causeway.reporting.bars import LINE_SECONDS, Watch
from causeway.reporting.table import line, table

TOPIC = TopicProgress("orders", 1_000, 10, 45_678.0, 9e6, 123_456, 12, 40)


def mirror(name: str, backlog: Backlog | None, state: str = "running") -> MirrorProgress:
    return MirrorProgress(name, state, (TOPIC,), 2, backlog)


def printed(shown: RenderableType, width: int = 100) -> list[str]:
    console = Console(file=StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(shown)
    assert isinstance(console.file, StringIO)
    return [text.rstrip() for text in console.file.getvalue().splitlines()]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_lagging_mirror_has_a_bar_under_the_table() -> None:
    shown = printed(table([mirror("one", Backlog(500, 1_000, 100.0)), mirror("two", None)]))
    assert [text.split()[0] for text in shown[:3]] == ["mirror", "one", "two"]
    assert shown[3] == ""
    name, bar, *said = shown[4].split()
    assert name == "one"
    assert 14 <= bar.count("━") <= 15
    assert said == ["50", "%", "45,678", "records/s", "5", "s", "left"]
    assert len(shown) == 5


def test_a_mirror_that_has_caught_up_has_a_line_and_nothing_else() -> None:
    assert len(printed(table([mirror("one", None)]))) == 2
    assert len(printed(table([mirror("one", Backlog(5, 10, 1.0), state="done")]))) == 2


def test_counts_agree_with_their_nouns() -> None:
    stopped = replace(TOPIC, records=1, stopped=1)
    single = MirrorProgress("one", "running", (stopped,), 1, None)
    assert line(single).startswith("one: running, 1 topic, 1 record, ")
    assert line(single).endswith(", 1 partition stopped")
    both = replace(single, topics=(stopped, replace(stopped, stopped=2)))
    assert line(both).startswith("one: running, 2 topics, 2 records, ")
    assert line(both).endswith(", 3 partitions stopped")
    assert "1 partition stopped" in printed(table([single]))[1]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_time_left_is_not_cut_off(width: int) -> None:
    shown = printed(table([mirror("paris-to-tokyo", Backlog(5_000, 10_000, 0.5))]), width)
    assert shown[-1].endswith("2 h 47 min left")


def test_the_plain_line_says_how_long_it_takes() -> None:
    assert line(mirror("one", Backlog(500, 1_000, 100.0))).endswith("p99 40 ms, 5 s left")
    assert line(mirror("one", Backlog(500, 1_000, -1.0))).endswith("p99 40 ms, lag grows")
    for quiet in (None, Backlog(500, 1_000, None)):
        assert line(mirror("one", quiet)).endswith("p99 40 ms")


def test_a_command_on_a_terminal_shows_what_it_does_and_how_far_it_is(clock: list[float]) -> None:
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    watch = Watch("looking", console)
    watch.say('comparing [1] of "m"')
    watch.progress(0, 8_000)
    clock[0] += 4
    watch.progress(2_000, 8_000)

    about, bar = printed(watch.shown, 80)
    assert about == 'comparing [1] of "m"'
    assert "2,000 of 8,000 offsets, 500/s, 12 s left" in bar
    assert 4 <= bar.count("━") <= 10

    watch.progress(0, 0)
    watch.say("starting Spark")
    about, bar = printed(watch.shown, 80)
    assert about == "starting Spark"
    assert "offsets" not in bar
    assert bar.count("━") == 30  # it moves to and fro


def test_without_a_terminal_long_work_has_a_line_now_and_then(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with Watch("looking", Console(file=StringIO(), force_terminal=False)) as watch:
        watch.say("comparing")
        watch.progress(0, 8_000)
        clock[0] += LINE_SECONDS / 2
        watch.progress(2_000, 8_000)
        assert capsys.readouterr().err == "comparing\n"
        clock[0] += LINE_SECONDS / 2
        watch.progress(4_000, 8_000)
        watch.progress(4_100, 8_000)
        clock[0] += 2 * LINE_SECONDS
        watch.progress(8_000, 8_000)
    said = capsys.readouterr()
    assert said.err == "comparing: 4,000 of 8,000 offsets, 400/s, 10 s left\n"
    assert said.out == ""
