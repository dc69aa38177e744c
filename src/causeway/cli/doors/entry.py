"""What all doors have in common: say what differs, then run, or print the TOML instead."""

from __future__ import annotations

import sys
from pathlib import Path

from causeway.cli.run import run_settings
from causeway.doors.translation import Translation
from causeway.errors import IntegrityError


def enter(
    door: str, translation: Translation, overrides: list[str], *, directory: Path, stop_at_end: bool
) -> None:
    """Run the mirror that the tool's configuration describes; `door` is the command's name."""
    settings = translation.settings(overrides, directory)
    _say(translation)
    try:
        run_settings(settings, [], stop_at_end)
    except IntegrityError as error:
        # Whoever comes through a door has no configuration of ours yet.
        error.todo = error.todo.replace(
            "`causeway adopt CONFIG", f"`causeway convert {door} … > FILE`, then `causeway adopt FILE"
        )
        raise


def convert(translation: Translation, directory: Path) -> None:
    """Print the Causeway TOML; what it says must load."""
    translation.settings([], directory)
    _say(translation)
    print(translation.toml(), end="")


def _say(translation: Translation) -> None:
    for note in translation.notes:
        print(f"note: {note}", file=sys.stderr)
