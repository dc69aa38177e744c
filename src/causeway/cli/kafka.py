"""`causeway kafka`: real Kafka clusters on this machine, for trying things out."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from causeway.config.toml import written
from causeway.local_kafka import DEFAULT_VERSION, EmbeddedCluster, named_clusters
from causeway.local_kafka.client_access import ClientAccess, access_to

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Real Kafka brokers on this machine, to try things out.",
)

_COLUMNS = ("name", "version", "bootstrap servers", "up", "security", "schema registry", "directory")


class KafkaOutput(StrEnum):
    table = "table"
    json = "json"
    toml = "toml"


class KafkaSasl(StrEnum):
    plain = "plain"
    scram = "scram"
    scram_sha_256 = "scram-sha-256"
    scram_sha_512 = "scram-sha-512"

    @property
    def mechanism(self) -> str:
        return "SCRAM-SHA-512" if self is KafkaSasl.scram else self.value.upper()


@app.command()
def start(
    name: Annotated[str, typer.Option("--name", help="A name of your choice.")] = "local",
    port: Annotated[
        int | None,
        typer.Option(help="The first broker's port; the next brokers follow. Default: a free one."),
    ] = None,
    brokers: Annotated[int | None, typer.Option(help="How many brokers. Default: 1.")] = None,
    version: Annotated[
        str | None, typer.Option(help=f"The version of Kafka. Default: {DEFAULT_VERSION}.")
    ] = None,
    sasl: Annotated[
        KafkaSasl | None,
        typer.Option(
            "--sasl",
            help="Clients authenticate, as user causeway with a generated password. scram is scram-sha-512.",
        ),
    ] = None,
    tls: Annotated[
        bool, typer.Option("--tls", help="Clients connect by TLS: a certificate and its CA are made.")
    ] = False,
    registry: Annotated[
        bool, typer.Option("--registry", help="A schema registry beside it: Apicurio, with Confluent's API.")
    ] = False,
) -> None:
    """Start a cluster, or restart a stopped one with its data. It keeps running after this command.

    With --sasl or --tls it prints the cluster's tables for causeway.toml; secrets are in files that only you
    can read. A restarted cluster keeps its security, and makes a new certificate if that expires within 30
    days.
    """
    cluster = named_clusters.start(
        name,
        port=port,
        brokers=brokers,
        version=version,
        mechanism=sasl.mechanism if sasl else None,
        tls=tls,
        registry=registry,
    )
    count = len(cluster.brokers)
    typer.echo(
        f"{cluster.name} runs: {cluster.bootstrap_servers}"
        f" ({count} broker{'s' if count > 1 else ''}, Kafka {cluster.version})"
    )
    if cluster.registry is not None:
        typer.echo(f"schema registry: {cluster.registry.url}")
    access = access_to(cluster)
    if access.mechanism or access.ca_file:
        typer.echo(f"security: {_security(access)}. For causeway.toml:\n\n{_tables(cluster)}")


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
        KafkaOutput,
        typer.Option("--output", "-o", help="How to show them. toml: their tables for causeway.toml."),
    ] = KafkaOutput.table,
) -> None:
    """List the clusters started on this machine, running or not."""
    clusters = named_clusters.clusters()
    described = [_describe(cluster) for cluster in clusters]
    if output is KafkaOutput.toml:
        typer.echo("\n\n".join(map(_tables, clusters)))
    elif output is KafkaOutput.json:
        typer.echo(json.dumps(described, indent=2))
    elif described:
        typer.echo(_table(described))
    else:
        typer.echo("no clusters; start one with: causeway kafka start --name NAME")


def _tables(cluster: EmbeddedCluster) -> str:
    """The cluster's tables in a configuration, with references to its secrets."""
    access, path = access_to(cluster), f"clusters.{cluster.name}"
    lines = [f"[{path}]", f"bootstrap_servers = {written(cluster.bootstrap_servers)}"]
    if access.mechanism:
        lines += ["", f"[{path}.sasl]", f"mechanism = {written(access.mechanism)}"]
        lines += [f"username = {written(access.user)}"]
        lines += [f"password = {written(f'${{file:{access.password_file}}}')}"]
        if access.mechanism == "PLAIN" and not access.ca_file:
            lines += ["unsafe = true  # without TLS, PLAIN sends the password in clear text"]
    if access.ca_file:
        lines += ["", f"[{path}.tls]", f"ca = {written(str(access.ca_file))}"]
    return "\n".join(lines)


def _security(access: ClientAccess) -> str:
    return ", ".join(filter(None, (access.protocol, access.mechanism)))


def _describe(cluster: EmbeddedCluster) -> dict[str, Any]:
    access = access_to(cluster)
    return {
        "name": cluster.name,
        "version": cluster.version,
        "bootstrap_servers": cluster.bootstrap_servers,
        "brokers_up": sum(broker.is_up for broker in cluster.brokers),
        "brokers": len(cluster.brokers),
        "security_protocol": access.protocol,
        "sasl_mechanism": access.mechanism,
        "username": access.user,
        "password_file": str(access.password_file) if access.password_file else None,
        "ca_file": str(access.ca_file) if access.ca_file else None,
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
            ", ".join(filter(None, (one["security_protocol"], one["sasl_mechanism"]))),
            _registry_cell(one),
            one["directory"],
        )
        for one in described
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
