"""`causeway convert TOOL …`: prints what a compat command would run, as Causeway's TOML."""

from __future__ import annotations

from pathlib import Path

import typer

from causeway.cli.compat import go_mirrormaker as mirrormaker_command
from causeway.cli.compat import kaf_relay as kaf_relay_command
from causeway.cli.compat import kafka_reo as reo_command
from causeway.cli.compat import kafka_topic_mirror as ktm_command
from causeway.cli.compat import mirrormaker2 as mm2_command
from causeway.cli.compat.entry import convert as print_toml

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Other tools' configurations as Causeway's.",
)


@app.callback()
def convert() -> None:
    """Print the Causeway configuration that another tool's configuration describes."""


@app.command()
def ktm(env_file: ktm_command.EnvFile = None) -> None:
    """From Kafka Topic Mirror's environment variables."""
    print_toml(ktm_command.translated(env_file), Path())


@app.command()
def reo(config: reo_command.ReoConfigFile = None) -> None:
    """From Kafka REO's YAML and environment variables."""
    print_toml(reo_command.translated(config), Path())


app.command("kaf-relay")(kaf_relay_command.convert_kaf_relay)
app.command("mirrormaker", cls=mirrormaker_command.GoCommand)(mirrormaker_command.convert_mirrormaker)
app.command("mm2")(mm2_command.convert_mm2)
