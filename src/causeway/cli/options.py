"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[Path, typer.Argument(help="The configuration file.")]
Mirrors = Annotated[list[str] | None, typer.Option(help="Only this mirror; may be repeated.")]
StopAtEnd = Annotated[
    bool, typer.Option("--stop-at-end", help="Replicate up to the current log ends, then exit.")
]
Overrides = Annotated[
    list[str] | None, typer.Option("-X", metavar="KEY=VALUE", help="Set a key of the configuration.")
]
Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Where the mirror serves, if not where [web] says: http://127.0.0.1:7081."
    ),
]
Authority = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        metavar="FILE",
        help="Certificates of authorities (PEM) to trust for the mirror's https address.",
    ),
]
ClientCertificate = Annotated[
    Path | None,
    typer.Option(
        "--cert", metavar="FILE", help="Our certificate and its key (PEM), where the mirror demands one."
    ),
]
OwnOverrides = Annotated[
    list[str] | None, typer.Option("-X", metavar="KEY=VALUE", help="Set a key of Causeway's own.")
]
"""-X of the compat commands, whose configuration is another tool's."""
OneMirror = Annotated[str | None, typer.Option(help="The mirror, where there are several.")]
