"""`causeway convert mm2`: MirrorMaker 2's properties file as Causeway's TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from causeway.cli.compat import entry
from causeway.compat.mirrormaker2.config import translate


def convert_mm2(
    file: Annotated[Path, typer.Argument(help="MirrorMaker 2's mm2.properties.")],
) -> None:
    """From MirrorMaker 2's properties file."""
    entry.convert(translate(file), Path())
