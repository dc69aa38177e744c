"""`causeway config …` and `causeway init`: what is configured, the reference, and a first configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from causeway.api.arguments import load
from causeway.cli.options import ConfigFile, Mirrors, Overrides
from causeway.config import reference as config_reference
from causeway.config import sample
from causeway.config.effective import effective
from causeway.errors import UsageError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="The configuration: what is in effect, and what can be set.",
)


@app.callback()
def config() -> None:
    """What can be configured."""


@app.command()
def show(config: ConfigFile, mirror: Mirrors = None, override: Overrides = None) -> None:
    """Print the effective configuration as TOML: defaults filled in, secrets as *** or as references."""
    from causeway.planning.clusters import chosen  # it imports the Kafka client

    settings = load(config, override or [])
    shown = (effective(settings, each) for each in chosen(settings, mirror or []))
    typer.echo("\n".join(shown).rstrip())


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
