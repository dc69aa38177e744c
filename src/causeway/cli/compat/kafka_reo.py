"""`causeway reo`: Kafka REO's YAML and environment, run by Causeway."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from causeway.cli.compat.entry import enter
from causeway.cli.options import OwnOverrides, StopAtEnd
from causeway.compat.kafka_reo.config import translate
from causeway.compat.kafka_reo.keys import IN_JAR, parse
from causeway.compat.reading import text_of
from causeway.compat.translation import Translation
from causeway.config.input_limits import is_file

ReoConfigFile = Annotated[
    Path | None, typer.Option("--config", help="Kafka REO's YAML file; environment variables override it.")
]


def reo(
    config: ReoConfigFile = None,
    stop_at_end: StopAtEnd = False,
    override: OwnOverrides = None,
) -> None:
    """Run the mirror that Kafka REO's YAML and environment variables describe."""
    enter("reo", translated(config), override or [], directory=Path(), stop_at_end=stop_at_end)


def translated(config: Path | None) -> Translation:
    in_jar = config == Path(IN_JAR) and not is_file(config)
    tree = parse(text_of(config), str(config)) if config and not in_jar else None
    translation = translate(os.environ, tree, file=str(config or ""))
    if in_jar:
        translation.note(
            "--config",
            f"there is no file {IN_JAR} here; Kafka REO reads it from its jar, so its defaults are used",
        )
    return translation
