"""`causeway kaf-relay`: kaf-relay's config.toml and flags, run by Causeway."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from causeway.cli.compat.entry import convert, enter
from causeway.cli.options import OwnOverrides, StopAtEnd
from causeway.compat.kaf_relay.config import Options, Relay, merged, translate
from causeway.compat.kaf_relay.nodes import Node, NodeResponse, choose
from causeway.compat.wording import reworded
from causeway.config import Settings
from causeway.config.config_tree import read
from causeway.errors import AccessDenied, CausewayError, ConfigError, Unreachable
from causeway.kafka.admin import CONNECT_SECONDS, ClusterView
from causeway.kafka.ledger import read_image
from causeway.planning.clusters import cluster_of
from causeway.version import __version__

POOL_SECONDS = 3.0
"""How long a node may take to respond when there are others."""

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
RelayMode = Annotated[Mode, typer.Option(help="One node, or the first of the pool that responds.")]
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
    relay = _translated(config, mode, stop_at_end, filters, topics)
    try:
        _choose_node(relay, override or [])
    except CausewayError as error:
        error.todo = reworded(relay.translation, "kaf-relay", error.todo, error.cluster)
        raise
    enter("kaf-relay", relay.translation, override or [], directory=Path.cwd(), stop_at_end=stop_at_end)


def convert_kaf_relay(
    config: ConfigFiles = None,
    mode: RelayMode = Mode.single,
    stop_at_end: StopAtEnd = False,
    filters: Filters = None,
    topics: TopicsOption = None,
) -> None:
    """From kaf-relay's config.toml, with its flags."""
    relay = _translated(config, mode, stop_at_end, filters, topics)
    if stop_at_end:
        relay.translation.note("--stop-at-end", "is an option of `causeway run` as well")
    convert(relay.translation, Path.cwd())


def _translated(
    config: list[str] | None,
    mode: Mode,
    stop_at_end: bool,
    filters: list[str] | None,
    topics: list[str] | None,
) -> Relay:
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
    return [value.strip() for row in csv.reader(given or []) for value in row if value.strip()]


def _choose_node(relay: Relay, overrides: list[str]) -> None:
    """Contact the nodes, unless the user chose another one, and read from the one that `choose` returns."""
    settings = relay.translation.settings(overrides, Path.cwd())
    mirror, nodes = settings.mirrors[0], relay.nodes
    if mirror.source != (nodes[0].alias,):
        nodes = tuple(node for node in nodes if node.alias in mirror.source)
        if len(nodes) != 1 or len(mirror.source) != 1:
            return  # not what kaf-relay describes any more
    destination = cluster_of(settings, mirror.destination)
    ClusterView(destination).connect()
    image = read_image(destination, mirror.name)
    node, skipped = choose(_responses(settings, nodes), {source.cluster for source in image.positions})
    relay.read_from(node)
    for reason in skipped:
        print(f"warning: --mode failover: skipping {reason}", file=sys.stderr)
    if len(nodes) > 1:
        print(f"note: --mode failover: reading from {node.alias}", file=sys.stderr)


def _responses(settings: Settings, nodes: tuple[Node, ...]) -> Iterator[NodeResponse]:
    seconds = POOL_SECONDS if len(nodes) > 1 else CONNECT_SECONDS
    for node in nodes:
        try:
            yield NodeResponse(node, ClusterView(cluster_of(settings, node.alias)).connect(seconds))
        except (AccessDenied, Unreachable) as error:
            yield NodeResponse(node, error=error)
