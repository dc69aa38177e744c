"""`causeway run`: runs mirrors until a signal. A live table on a terminal, otherwise lines or JSON."""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from causeway.api.arguments import load
from causeway.api.runner import Runner
from causeway.cli.options import ConfigFile, Mirrors, Overrides, StopAtEnd
from causeway.cli.serving import serving
from causeway.cli.signals import handling
from causeway.config import LogSettings, Settings
from causeway.core.clock import now_ms
from causeway.core.snapshot import EventView
from causeway.errors import CausewayError, ConfigError
from causeway.replication.event_log import SayEvent
from causeway.reporting import lines
from causeway.reporting.table import line, table

LINE_SECONDS = 5.0
OBJECT_SECONDS = 60.0
"""Log collectors get progress less often: metrics cover the rest."""
TABLE_SECONDS = 0.5
Reworded = Callable[[str, str], str]
"""(advice, alias of the failed cluster or "") → the advice, in another tool's terms."""
_STYLES = {"error": "red", "warning": "yellow"}


def run(
    config: ConfigFile,
    mirror: Mirrors = None,
    stop_at_end: StopAtEnd = False,
    override: Overrides = None,
) -> None:
    """Run mirrors until Ctrl-C or SIGTERM."""
    run_settings(load(config, override or []), mirror or [], stop_at_end)


def run_settings(
    settings: Settings, names: list[str], stop_at_end: bool, reworded: Reworded = lambda todo, _: todo
) -> None:
    """Run mirrors, whatever configuration the settings come from; `reworded` puts advice in its terms."""
    console = Console(stderr=True, highlight=False)
    structured = _structured(settings.log, console)
    speak = _speaking(console, structured)

    def say(name: str, event: EventView) -> None:
        speak(name, replace(event, todo=reworded(event.todo, "")))

    try:
        runner = Runner(settings, mirrors=names or None, stop_at_end=stop_at_end, on_event=say)
        with serving(settings, runner, say), _signals(runner), runner:
            # Everything loaded so far lives as long as the process. Every scrape creates ten thousand
            # objects, which would make the garbage collector scan all of it again and again.
            gc.collect()
            gc.freeze()
            if console.is_terminal and not structured:
                _show_table(runner, console)
            else:
                _show_lines(runner, structured)
            runner.wait()
    except CausewayError as error:
        error.todo = reworded(error.todo, error.cluster)
        if isinstance(error, ConfigError):
            error.problems = tuple(reworded(problem, "") for problem in error.problems)
        if not structured:
            raise
        print(lines.failure(error), file=sys.stderr, flush=True)
        raise typer.Exit(error.exit_code) from None


def _structured(log: LogSettings, console: Console) -> bool:
    return log.format == "json" or (log.format == "auto" and not console.is_terminal)


def _speaking(console: Console, structured: bool) -> SayEvent:
    def say(name: str, event: EventView) -> None:
        if structured:
            print(lines.structured(name, event), file=sys.stderr, flush=True)
        elif console.is_terminal:
            console.print(Text(f"{name}: {lines.words(event)}", _STYLES.get(event.level, "dim")))
        else:
            print(lines.plain(name, event), file=sys.stderr, flush=True)

    return say


def _show_table(runner: Runner, console: Console) -> None:
    with Live(table(runner.progress()), console=console, auto_refresh=False) as live:
        while runner.running:
            live.update(table(runner.progress()), refresh=True)
            time.sleep(TABLE_SECONDS)
        live.update(table(runner.progress()), refresh=True)


def _show_lines(runner: Runner, structured: bool) -> None:
    every = OBJECT_SECONDS if structured else LINE_SECONDS
    said_at = time.monotonic()
    while runner.running:
        time.sleep(0.1)
        if time.monotonic() - said_at >= every:
            said_at = time.monotonic()
            _say_progress(runner, structured)
    _say_progress(runner, structured)


def _say_progress(runner: Runner, structured: bool) -> None:
    for progress in runner.progress():
        said = lines.progress(progress, now_ms()) if structured else line(progress)
        print(said, file=sys.stderr, flush=True)


def _signals(runner: Runner) -> AbstractContextManager[None]:
    """Ctrl-C and SIGTERM request a stop; both leave no open transaction and exit with 0."""

    def stop(_number: int, _frame: Any) -> None:
        runner.stop()

    return handling({signal.SIGINT: stop, signal.SIGTERM: stop})
