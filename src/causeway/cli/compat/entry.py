"""Shared by all compat commands: print the notes on differences, then run the mirror or print the TOML."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from causeway.cli.run import run_settings
from causeway.compat.concealing import concealed
from causeway.compat.translation import Translation
from causeway.compat.wording import reworded
from causeway.printable import printable


def enter(
    command: str, translation: Translation, overrides: list[str], *, directory: Path, stop_at_end: bool
) -> None:
    """Run the mirror that the tool's configuration describes; `command` is the compat command's name."""
    settings = translation.settings(overrides, directory)
    _print_notes(translation)
    run_settings(settings, [], stop_at_end, partial(reworded, translation, command))


def convert(translation: Translation, directory: Path) -> None:
    """Print the Causeway TOML; it must load once the variables for its secrets are set."""
    translation.settings([], directory)
    printed = concealed(translation)
    _print_notes(printed)
    print(printed.toml(), end="")


def _print_notes(translation: Translation) -> None:
    for note in translation.notes:
        print(printable(f"note: {note}"), file=sys.stderr)
