"""`causeway mirrormaker`: Go MirrorMaker's flags, parsed as Go parses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from causeway.cli.compat import entry
from causeway.compat.go_mirrormaker import command


class GoCommand(TyperCommand):
    """Leaves all arguments unparsed: `-whitelist=x` would otherwise be eleven short options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = args
        return args


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=GoCommand)
def mirrormaker(context: typer.Context) -> None:
    """Run the mirror that Go MirrorMaker's flags and files describe."""
    given = command.read_flags(context.args, run=True)
    if given.help:
        print(command.help_text("mirrormaker", run=True))
        return
    entry.enter(
        "mirrormaker",
        command.translate(given),
        given.texts("X"),
        directory=Path.cwd(),
        stop_at_end=given.boolean("stop-at-end"),
    )


def convert_mirrormaker(context: typer.Context) -> None:
    """From Go MirrorMaker's flags and files."""
    given = command.read_flags(context.args, run=False)
    if given.help:
        print(command.help_text("convert mirrormaker", run=False))
        return
    entry.convert(command.translate(given), Path.cwd())
