"""Shows a download's progress on stderr: a bar on a terminal, otherwise a line before and a line after."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from causeway.core.plural import counted

OnLine = Callable[[str], None]

_SIZE = re.compile(r"^\.+ \((\d+)kB\)$")


@dataclass
class IvyTally:
    """Counts from Ivy's output: Ivy first finds all modules, then downloads their jars.

    Ivy prints a jar's size after downloading it, so the remaining work is known only as a number of jars.
    """

    found: int = 0
    downloaded: int = 0
    kilobytes: int = 0
    _jar: bool = False  # the current download is a jar, not a description

    def read(self, line: str) -> None:
        if line.startswith("\tfound "):
            self.found += 1
        elif line.startswith("downloading ") and ".jar" in line:
            self._jar = True
        elif line.startswith("\t[SUCCESSFUL ]") and self._jar:
            self.downloaded += 1
            self._jar = False
        elif self._jar and (size := _SIZE.match(line)):
            self.kilobytes += int(size[1])

    @property
    def downloading(self) -> bool:
        """Whether it is downloading jars already."""
        return self._jar or self.downloaded > 0

    def rate(self, seconds: float) -> str:
        """The rate since the first jar, and the time left if the other jars are like those so far."""
        if not self.downloaded or seconds <= 0:
            return ""
        left = (self.found - self.downloaded) * seconds / self.downloaded
        speed = f"{self.kilobytes / 1024 / seconds:,.1f} MB/s"
        return speed if left <= 0 else f"{speed}, {_duration(left)} left"


def _duration(seconds: float) -> str:
    """Rounded up; in minutes if there are several."""
    return f"{math.ceil(seconds)} s" if seconds <= 90 else f"{math.ceil(seconds / 60)} min"


@contextmanager
def showing(what: str) -> Iterator[OnLine]:
    """Pass Ivy's lines to the yielded function."""
    with _bar(what) if sys.stderr.isatty() else _two_lines(what) as on_line:
        yield on_line


@contextmanager
def _bar(what: str) -> Iterator[OnLine]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    columns = (
        TextColumn("{task.description}", markup=False),  # a name may look like an emoji's code
        BarColumn(None, table_column=Column(max_width=30)),  # shrinks on a narrow terminal
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    name = what.partition(":")[2]  # without its group, to fit 80 columns
    tally = IvyTally()
    began = 0.0  # at the first jar
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"resolving {name}", total=None, rate="")

        def on_line(line: str) -> None:
            nonlocal began
            tally.read(line)
            if tally.downloading:
                began = began or time.monotonic()
                progress.update(
                    task,
                    description=f"downloading {name}",
                    total=tally.found,
                    completed=tally.downloaded,
                    rate=tally.rate(time.monotonic() - began),
                )
            else:
                progress.update(task, completed=tally.found)

        yield on_line


@contextmanager
def _two_lines(what: str) -> Iterator[OnLine]:
    tally = IvyTally()
    started = time.monotonic()
    print(f"downloading {what} and its dependencies", file=sys.stderr, flush=True)
    yield tally.read
    seconds = time.monotonic() - started
    size = tally.kilobytes / 1024
    print(
        f"downloaded {counted(tally.downloaded, 'jar')} ({size:,.0f} MB) in {seconds:.0f} s",
        file=sys.stderr,
        flush=True,
    )
