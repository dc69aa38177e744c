"""What a download says of itself, from the words of Ivy."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from causeway.local_kafka.progress import IvyTally, showing

RESOLVING = (":: resolving ::", "\tfound a#b;1 in public", ".. (2kB)", "\tfound c#d;1 in public")


def jar(name: str, kilobytes: int) -> tuple[str, ...]:
    """Ivy's lines for one jar: its size, that of its checksum, and that it is there."""
    return (
        f"downloading https://x/{name}-1.jar ...",
        f"{'.' * 300} ({kilobytes}kB)",
        ".. (0kB)",
        f"\t[SUCCESSFUL ] a#{name};1!{name}.jar (12ms)",
    )


def read(*lines: str) -> IvyTally:
    tally = IvyTally()
    for line in lines:
        tally.read(line)
    return tally


def test_descriptions_are_found_and_jars_are_downloaded() -> None:
    tally = read(*RESOLVING)
    assert (tally.found, tally.downloaded, tally.kilobytes, tally.downloading) == (2, 0, 0, False)
    tally = read(*RESOLVING, *jar("b", 4_096))
    assert (tally.found, tally.downloaded, tally.kilobytes, tally.downloading) == (2, 1, 4_096, True)


def test_a_jar_that_is_on_its_way_is_not_there_yet() -> None:
    tally = read(*RESOLVING, *jar("b", 10)[:2])
    assert (tally.downloaded, tally.downloading) == (0, True)
    assert tally.rate(5.0) == ""


def test_the_time_left_is_that_of_jars_like_those_so_far() -> None:
    found = [f"\tfound a#{number};1 in public" for number in range(4)]
    tally = read(*found, *jar("0", 4_096))
    assert tally.rate(2.0) == "2.0 MB/s, 6 s left"
    assert tally.rate(61.0) == "0.1 MB/s, 4 min left"
    for number in range(1, 4):
        for line in jar(str(number), 4_096):
            tally.read(line)
    assert tally.rate(8.0) == "2.0 MB/s"


def test_a_jar_that_was_not_found_before_is_no_negative_time() -> None:
    assert read(*jar("b", 1_024)).rate(1.0) == "1.0 MB/s"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_jars_rate_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    with showing("org.example:a:top:1.0") as on_line:  # :top: is an emoji elsewhere
        for line in (*RESOLVING, *jar("b", 4_096)):
            on_line(line)
    last = terminal.getvalue()
    assert "downloading a:top:1.0" in last
    assert "1/2" in last
    assert "MB/s" in last
    assert "1 s left" in last


def test_without_a_terminal_there_are_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with showing("org.example:top:1.0") as on_line:
        for line in (*RESOLVING, *jar("b", 4_096)):
            on_line(line)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "downloading org.example:top:1.0 and its dependencies",
        "downloaded 1 jar (4 MB) in 0 s",
    ]
