"""`causeway kafka`: real Kafka clusters on this machine, for trying things out."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from causeway.local_kafka import DEFAULT_VERSION, EmbeddedCluster, named_clusters

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Real Kafka brokers on this machine, to try things out.",
)

_COLUMNS = ("name", "version", "bootstrap servers", "up", "schema registry", "directory")


class KafkaOutput(StrEnum):
    table = "table"
    json = "json"


@app.command()
def start(
    name: Annotated[str, typer.Option("--name", help="A name of your choice.")],
    port: Annotated[
        int | None,
        typer.Option(help="The first broker's port; the next brokers follow. Default: a free one."),
    ] = None,
    brokers: Annotated[int | None, typer.Option(help="How many brokers. Default: 1.")] = None,
    version: Annotated[
        str | None, typer.Option(help=f"The version of Kafka. Default: {DEFAULT_VERSION}.")
    ] = None,
    registry: Annotated[
        bool, typer.Option("--registry", help="A schema registry beside it: Apicurio, with Confluent's API.")
    ] = False,
) -> None:
    """Start a cluster, or restart a stopped one with its data. It keeps running after this command."""
    cluster = named_clusters.start(name, port=port, brokers=brokers, version=version, registry=registry)
    count = len(cluster.brokers)
    typer.echo(
        f"{cluster.name} runs: {cluster.bootstrap_servers}"
        f" ({count} broker{'s' if count > 1 else ''}, Kafka {cluster.version})"
    )
    if cluster.registry is not None:
        typer.echo(f"schema registry: {cluster.registry.url}")


@app.command()
def stop(
    name: Annotated[str, typer.Argument(help="The name it was started with.")],
    delete: Annotated[bool, typer.Option("--delete", help="Remove its data too.")] = False,
) -> None:
    """Stop a cluster. Its data stays, unless --delete is given."""
    was_up = named_clusters.stop(name, delete=delete)
    done = "deleted" if delete else "stopped" if was_up else "was not running"
    typer.echo(f"{name} {done}")


@app.command("list")
def list_clusters(
    output: Annotated[
        KafkaOutput, typer.Option("--output", "-o", help="How to show them.")
    ] = KafkaOutput.table,
) -> None:
    """List the clusters started on this machine, running or not."""
    described = [_describe(cluster) for cluster in named_clusters.clusters()]
    if output is KafkaOutput.json:
        typer.echo(json.dumps(described, indent=2))
    elif described:
        typer.echo(_table(described))
    else:
        typer.echo("no clusters; start one with: causeway kafka start --name NAME")


def _describe(cluster: EmbeddedCluster) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "version": cluster.version,
        "bootstrap_servers": cluster.bootstrap_servers,
        "brokers_up": sum(broker.is_up for broker in cluster.brokers),
        "brokers": len(cluster.brokers),
        "schema_registry": cluster.registry.url if cluster.registry is not None else None,
        "schema_registry_up": cluster.registry is not None and cluster.registry.is_up,
        "directory": str(cluster.directory),
    }


def _registry_cell(described: dict[str, Any]) -> str:
    url = described["schema_registry"]
    if url is None:
        return "-"
    return str(url) if described["schema_registry_up"] else "stopped"


def _table(described: list[dict[str, Any]]) -> str:
    rows = [_COLUMNS] + [
        (
            one["name"],
            one["version"],
            one["bootstrap_servers"],
            f"{one['brokers_up']}/{one['brokers']}",
            _registry_cell(one),
            one["directory"],
        )
        for one in described
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
