"""Shows on stderr how far a download is: a moving bar on a terminal, a line before and after elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

OnLine = Callable[[str], None]


@dataclass
class Tally:
    """What Ivy's output says so far: it first finds all modules, then downloads their jars."""

    found: int = 0
    downloaded: int = 0

    def read(self, line: str) -> None:
        if line.startswith("\tfound "):
            self.found += 1
        elif line.startswith("downloading ") and ".jar" in line:
            self.downloaded += 1


@contextmanager
def showing(what: str) -> Iterator[OnLine]:
    """Feed the yielded function with Ivy's lines."""
    with _bar(what) if sys.stderr.isatty() else _two_lines(what) as on_line:
        yield on_line


@contextmanager
def _bar(what: str) -> Iterator[OnLine]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tally = Tally()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"resolving {what}", total=None)

        def on_line(line: str) -> None:
            tally.read(line)
            if tally.downloaded:
                progress.update(
                    task, description=f"downloading {what}", total=tally.found, completed=tally.downloaded
                )
            else:
                progress.update(task, completed=tally.found)

        yield on_line


@contextmanager
def _two_lines(what: str) -> Iterator[OnLine]:
    tally = Tally()
    started = time.monotonic()
    print(f"downloading {what} and the jars it needs", file=sys.stderr, flush=True)
    yield tally.read
    seconds = time.monotonic() - started
    print(f"downloaded {tally.downloaded} jars in {seconds:.0f} s", file=sys.stderr, flush=True)
