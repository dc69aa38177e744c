"""`causeway mirrormaker`: Go MirrorMaker's flags, read as Go reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from causeway.cli.doors import entry
from causeway.doors import mirrormaker as door


class GoCommand(TyperCommand):
    """Leaves all arguments as they are: `-whitelist=x` would be eleven short options otherwise."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = args
        return args


def mirrormaker(context: typer.Context) -> None:
    """Run the mirror that Go MirrorMaker's flags and files describe."""
    given = door.read_flags(context.args, run=True)
    if given.help:
        print(door.help_text("mirrormaker", run=True))
        return
    entry.enter(
        "mirrormaker",
        door.translate(given),
        given.texts("X"),
        directory=Path.cwd(),
        stop_at_end=given.boolean("stop-at-end"),
    )


def convert_mirrormaker(context: typer.Context) -> None:
    """From Go MirrorMaker's flags and files."""
    given = door.read_flags(context.args, run=False)
    if given.help:
        print(door.help_text("convert mirrormaker", run=False))
        return
    entry.convert(door.translate(given), Path.cwd())
