"""`causeway run`: mirrors until told to stop; a live table on a terminal, plain lines without one."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape

from causeway.cli.options import ConfigFile, Mirrors, Overrides, StopAtEnd
from causeway.config import Settings, load
from causeway.mirror.run import Run
from causeway.model.snapshot import EventView
from causeway.observe.lines import plain, words
from causeway.observe.table import line, table

LINE_SECONDS = 5.0
TABLE_SECONDS = 0.5
_STYLES = {"error": "red", "warning": "yellow"}


def run(
    config: ConfigFile,
    mirror: Mirrors = None,
    stop_at_end: StopAtEnd = False,
    override: Overrides = None,
) -> None:
    """Run mirrors until Ctrl-C or SIGTERM."""
    run_settings(load(config, override or []), mirror or [], stop_at_end)


def run_settings(settings: Settings, names: list[str], stop_at_end: bool) -> None:
    """Run mirrors, wherever their settings came from."""
    console = Console(stderr=True, highlight=False)

    def say(name: str, event: EventView) -> None:
        if console.is_terminal:
            style = _STYLES.get(event.level, "dim")
            console.print(f"[{style}]{escape(f'{name}: {words(event)}')}[/{style}]")
        else:
            print(plain(name, event), file=sys.stderr, flush=True)

    running = Run(settings, names, stop_at_end, say)
    with _signals(running):
        running.prepare()
        running.start(lambda log: say("spark", EventView(0, "info", f"starting; Spark's own log is {log}")))
    with _signals(running):  # once more: Spark's start installs a handler of its own
        if console.is_terminal:
            _show_table(running, console)
        else:
            _show_lines(running)
        running.finish()


def _show_table(running: Run, console: Console) -> None:
    with Live(table(running.progress()), console=console, auto_refresh=False) as live:
        while running.running:
            live.update(table(running.progress()), refresh=True)
            time.sleep(TABLE_SECONDS)
        live.update(table(running.progress()), refresh=True)


def _show_lines(running: Run) -> None:
    said_at = time.monotonic()
    while running.running:
        time.sleep(0.1)
        if time.monotonic() - said_at >= LINE_SECONDS:
            said_at = time.monotonic()
            for progress in running.progress():
                print(line(progress), file=sys.stderr, flush=True)
    for progress in running.progress():
        print(line(progress), file=sys.stderr, flush=True)


@contextlib.contextmanager
def _signals(running: Run) -> Iterator[None]:
    """Ctrl-C and SIGTERM ask for a stop; both leave no open transaction, and exit 0."""

    def stop(_number: int, _frame: Any) -> None:
        running.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
