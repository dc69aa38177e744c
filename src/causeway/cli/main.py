"""The command line: one function per command. Only this module turns errors into lines and exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

from causeway.cli.command_table import CommandTable
from causeway.errors import CausewayError
from causeway.version import __version__

app = typer.Typer(
    name="causeway",
    cls=CommandTable,
    help="Mirror Kafka topics between clusters: every record, exactly once, in order, bit for bit.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"causeway {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Mirror Kafka topics between clusters: every record, exactly once, in order, bit for bit."""


def main() -> None:
    try:
        app()
    except CausewayError as error:
        if type(error) is CausewayError and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)  # a bug in a thread: a report needs it
        for line in error.lines():
            print(line, file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader of stdout closed the pipe
        sys.exit(0)
    except Exception:  # noqa: BLE001 - a bug: print the traceback that a report needs, and one line
        traceback.print_exc()
        print("error: this is a bug in Causeway; please report it with the lines above", file=sys.stderr)
        sys.exit(1)
