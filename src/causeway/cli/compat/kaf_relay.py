"""`causeway kaf-relay`: kaf-relay's config.toml and flags, run by Causeway."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from causeway.cli.compat.entry import convert, enter
from causeway.cli.options import OwnOverrides, StopAtEnd
from causeway.compat.kaf_relay.config import Options, merged, translate
from causeway.compat.kaf_relay.nodes import check_cluster
from causeway.compat.translation import Translation
from causeway.compat.wording import reworded
from causeway.config import Settings
from causeway.config.config_tree import read
from causeway.errors import CausewayError, ConfigError, UsageError
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import read_image
from causeway.planning.clusters import cluster_of
from causeway.version import __version__

DEFAULT_FILE = "config.toml"


class Mode(StrEnum):
    single = "single"
    failover = "failover"


def _version(wanted: bool) -> None:
    if wanted:
        print(f"causeway {__version__}")
        raise typer.Exit


ConfigFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help=f"kaf-relay's file; several are merged in order. {DEFAULT_FILE} by default.",
    ),
]
RelayMode = Annotated[Mode, typer.Option(help="The first node, or a pool of all of them.")]
Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="FILE.py", help="A filter, written in Python; may be repeated."),
]
TopicsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", metavar="SOURCE:TARGET[:PARTITION]", help="A topic; overrides the file's. May be repeated."
    ),
]
Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
]


def kaf_relay(
    config: ConfigFiles = None,
    mode: RelayMode = Mode.single,
    stop_at_end: StopAtEnd = False,
    filters: Filters = None,
    topics: TopicsOption = None,
    version: Version = False,
    override: OwnOverrides = None,
) -> None:
    """Run the mirror that kaf-relay's configuration describes."""
    translation = _translated(config, mode, stop_at_end, filters, topics)
    settings = translation.settings(override or [], Path.cwd())
    try:
        _check_source(settings)
    except CausewayError as error:
        error.todo = reworded(translation, "kaf-relay", error.todo, error.cluster)
        raise
    enter("kaf-relay", translation, override or [], directory=Path.cwd(), stop_at_end=stop_at_end)


def convert_kaf_relay(
    config: ConfigFiles = None,
    mode: RelayMode = Mode.single,
    stop_at_end: StopAtEnd = False,
    filters: Filters = None,
    topics: TopicsOption = None,
) -> None:
    """From kaf-relay's config.toml, with its flags."""
    translation = _translated(config, mode, stop_at_end, filters, topics)
    if stop_at_end:
        translation.note("--stop-at-end", "is an option of `causeway run` as well")
    convert(translation, Path.cwd())


def _translated(
    config: list[str] | None,
    mode: Mode,
    stop_at_end: bool,
    filters: list[str] | None,
    topics: list[str] | None,
) -> Translation:
    files = _each(config) or [DEFAULT_FILE]
    options = Options(mode, stop_at_end, tuple(_each(topics)), tuple(_each(filters)))
    return translate(merged(_trees(files)), ", ".join(files), options, Path.cwd())


def _trees(files: list[str]) -> Iterator[dict[str, object]]:
    """Read every file; one error names all that cannot be read."""
    problems: list[str] = []
    for file in files:
        try:
            yield read(Path(file)).tree
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError("the configuration cannot be read", problems=tuple(problems))


def _each(given: list[str] | None) -> list[str]:
    """kaf-relay's flags may be repeated, and each may hold several values separated by commas."""
    try:
        return [value.strip() for row in csv.reader(given or []) for value in row if value.strip()]
    except csv.Error:
        raise UsageError("a flag has a line break, or more in it than a line of CSV") from None


def _check_source(settings: Settings) -> None:
    """A mirror of one node stays with the cluster that it has replicated from; a pool knows its clusters."""
    mirror = settings.mirrors[0]
    sources = [alias for alias in mirror.source if alias not in settings.pools]
    if len(mirror.source) != 1 or not sources:
        return
    destination = cluster_of(settings, mirror.destination)
    ClusterView(destination).connect()
    replicated_from = {source.cluster for source in read_image(destination, mirror.name).positions}
    if replicated_from:
        check_cluster(ClusterView(cluster_of(settings, sources[0])).connect(), replicated_from)
