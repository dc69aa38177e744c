"""`causeway config …` and `causeway init`: the configuration's reference, and a first configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from causeway.config import reference as config_reference
from causeway.config import sample
from causeway.errors import UsageError

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="The configuration's reference."
)


@app.callback()
def config() -> None:
    """What can be configured."""


@app.command()
def reference() -> None:
    """Print every key with its type, default and description, as Markdown."""
    typer.echo(config_reference.render(), nl=False)


def init(
    path: Annotated[Path, typer.Argument(help="File to write; - prints it.")] = Path("causeway.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write a commented configuration to start from."""
    if str(path) == "-":
        typer.echo(sample.render(), nl=False)
        return
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(sample.render())
    except FileExistsError:
        raise UsageError(
            "the file exists already", where=str(path), todo="--force overwrites it; another name keeps it"
        ) from None
    except OSError as error:
        raise UsageError("the file cannot be written", where=str(path), why=error.strerror or "") from None
    typer.echo(f"wrote {path}", err=True)
