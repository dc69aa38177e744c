"""`causeway ktm`: Kafka Topic Mirror's environment, run by Causeway."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated

import typer

from causeway.cli.compat.entry import enter
from causeway.cli.options import OwnOverrides, StopAtEnd
from causeway.compat import dotenv
from causeway.compat.kafka_topic_mirror import translate
from causeway.compat.reading import text_of
from causeway.compat.translation import Translation

DEFAULT_FILE = Path(".env")

EnvFile = Annotated[
    Path | None, typer.Option("--env-file", help="File with variables; by default .env, if it exists.")
]


def ktm(
    env_file: EnvFile = None,
    stop_at_end: StopAtEnd = False,
    override: OwnOverrides = None,
) -> None:
    """Run the mirror that Kafka Topic Mirror's environment variables describe."""
    enter("ktm", translated(env_file), override or [], directory=Path(), stop_at_end=stop_at_end)


def translated(env_file: Path | None) -> Translation:
    file = env_file or (DEFAULT_FILE if DEFAULT_FILE.is_file() else None)
    read = dotenv.parse(text_of(file)) if file else None
    return translate(os.environ, hostname=socket.gethostname(), dotenv=read, file=str(file or ""))
