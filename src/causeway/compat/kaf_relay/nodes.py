"""kaf-relay's sources: its two generations, and the nodes of a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from causeway.compat.kaf_relay import keys as keys
from causeway.compat.kaf_relay.clients import alias, cluster, keys_of
from causeway.compat.kaf_relay.keys import KeyReader, Keys
from causeway.compat.reading import fitting
from causeway.compat.translation import Translation
from causeway.config import fields
from causeway.errors import IntegrityError


@dataclass(frozen=True)
class FileGeneration:
    nodes: str
    node: Keys
    target: str
    written: Keys
    group: str  # the key that names the consumer group
    kept: str  # what records keep here but lose in kaf-relay


CONSUMERS = FileGeneration(
    "consumers",
    keys.CONSUMER,
    "producer",
    keys.PRODUCER,
    "consumers[].group_id",
    "records keep their timestamps and headers; kaf-relay drops both",
)
SOURCES = FileGeneration(
    "sources",
    keys.SOURCE,
    "target",
    keys.TARGET,
    "source_pool.group_id",
    "records keep their own timestamps, so none gets the header _t",
)


@dataclass(frozen=True)
class Node:
    alias: str
    group: str = ""
    commits: bool = False  # to that group, for lag tools


def generation_of(translation: Translation, tree: Mapping[str, Any]) -> FileGeneration | None:
    """The generation the tables belong to; a problem if they belong to both."""
    old = [name for name in ("consumers", "producer") if name in tree]
    new = [name for name in ("sources", "target", "source_pool") if name in tree]
    if old and new:
        translation.problem(
            ", ".join([*old, *new]),
            "tables of two generations of kaf-relay: keep [[consumers]] and [producer], or [[sources]] "
            "and [target]",
        )
        return None
    return CONSUMERS if old else SOURCES


def read_nodes(
    translation: Translation,
    reader: KeyReader,
    generation: FileGeneration,
    tree: Mapping[str, Any],
    group: str,  # of the whole pool
    directory: Path,
    *,
    single: bool,
) -> tuple[Node, ...]:
    """Add the nodes as clusters: all of them, or only the first."""
    tables = tree.get(generation.nodes, [])
    tables = [tables] if isinstance(tables, dict) else tables
    if not isinstance(tables, list) or not tables:
        translation.problem(
            generation.nodes, f"missing: each node to read from is written as [[{generation.nodes}]]"
        )
        return ()
    nodes: list[Node] = []
    for index, table in enumerate(tables):
        path = f"{generation.nodes}[{index}]"
        values = reader.table(path, table, generation.node, called=f"{generation.nodes}[]")
        if single and nodes:
            continue
        name = alias(values.get("name"), f"node{index + 1}", translation.clusters)
        translation.clusters[name] = cluster(translation, path, values, directory)
        translation.keys[name] = keys_of(translation, path, values)
        if generation is CONSUMERS:
            group = str(values.get("group_id", ""))
        fitting(translation, generation.group, group, fields.GroupName)
        commits = bool(group) and (generation is SOURCES or values.get("offset_commit_interval") != 0)
        nodes.append(Node(name, group, commits))
    if len(tables) > len(nodes):
        reader.remark(
            generation.nodes, f"--mode single reads from the first of {len(tables)} nodes, {nodes[0].alias}"
        )
    return tuple(nodes)


def check_cluster(cluster_id: str, replicated_from: Collection[str]) -> None:
    """Raises IntegrityError if the mirror has positions, and they belong to other clusters than this one.

    The nodes of a file hold the same records, and another node would deliver all of them again.
    """
    if replicated_from and cluster_id not in replicated_from:
        raise IntegrityError(
            "the ledger's positions belong to another cluster: reading from this one could repeat every "
            "record",
            where=f"replicated from cluster {', '.join(sorted(replicated_from))}",
            why=f"this one is cluster {cluster_id}",
            todo="read from that cluster, or from all nodes with --mode failover",
        )
