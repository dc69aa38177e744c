"""Progress bars: of mirrors below the live table, and of commands that take long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from causeway.printable import printable
from causeway.reporting.pace import Bar, ProgressRate

WIDTH = 30
LINE_SECONDS = 10.0


def bars(lines: Sequence[Bar]) -> Table:
    """The bars, one per line, with their texts; a narrow terminal gets shorter bars."""
    result = Table.grid(padding=(0, 2, 0, 0))
    result.add_column(overflow="ellipsis", no_wrap=True)
    result.add_column(max_width=WIDTH)
    for _ in ("percent", "rate"):
        result.add_column(justify="right", no_wrap=True)
    result.add_column(no_wrap=True)
    for bar in lines:
        result.add_row(
            Text(bar.what),
            ProgressBar(total=1.0, completed=bar.share),
            bar.percent,
            bar.rate,
            bar.left,
        )
    return result


class _BarBelowText(Progress):
    """The bar below its description: on one line a narrow terminal would cut off the time left."""

    def get_renderables(self) -> Iterator[RenderableType]:
        for task in self.tasks:
            yield Text(task.description, overflow="ellipsis", no_wrap=True)
        yield from super().get_renderables()


class Watch:
    """Reports on stderr what a command does and its progress: a bar on a terminal, otherwise lines."""

    def __init__(self, first: str, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._rate = ProgressRate()
        self._step = first
        self._line_at = time.monotonic()
        self._bar = _BarBelowText(
            BarColumn(None, table_column=Column(max_width=WIDTH)),
            TextColumn("{task.fields[progress]}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(first, total=None, progress="")

    @property
    def shown(self) -> RenderableType:
        """What a terminal shows now."""
        return self._bar.get_renderable()

    def __enter__(self) -> Watch:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """Report a new step, or something about the current one."""
        self._step = text = printable(text)
        if self._console.is_terminal:
            self._bar.update(self._task, description=text)
        else:
            self._print(text)

    def progress(self, done: int, total: int) -> None:
        """Report the progress; a total of 0 means unknown."""
        now = time.monotonic()
        self._rate.update(now, done, total)
        progress = self._rate.text(now)
        if self._console.is_terminal:
            self._bar.update(self._task, progress=progress)
            # Set directly: update() ignores a total of None (unknown), and the clock would stop at the end
            # of the first piece of work.
            task = self._bar.tasks[0]
            task.total, task.completed = (total, done) if total else (None, 0)
            task.finished_time = None
        elif done < total and now - self._line_at >= LINE_SECONDS:
            self._print(f"{self._step}: {progress}")

    def _print(self, text: str) -> None:
        self._line_at = time.monotonic()
        print(text, file=sys.stderr, flush=True)
