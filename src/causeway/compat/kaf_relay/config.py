"""kaf-relay: its config.toml, of both generations, and its flags.

The older generation has [[consumers]] and [producer], the newer one [[sources]] and [target]; the rest
is alike. --mode single reads from the first node, --mode failover from a pool of all nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from causeway.compat.kaf_relay import keys as keys
from causeway.compat.kaf_relay.clients import alias, cluster, keys_of
from causeway.compat.kaf_relay.filters import filters
from causeway.compat.kaf_relay.keys import KeyReader, Values
from causeway.compat.kaf_relay.nodes import FileGeneration, Node, generation_of, read_nodes
from causeway.compat.kaf_relay.pool import add_pool, in_failover_mode
from causeway.compat.kaf_relay.topics import RelayTopic, placed, shared, topics
from causeway.compat.metrics_endpoint import listen
from causeway.compat.translation import Translation, mirror_name
from causeway.config.config_tree import shown
from causeway.config.problems import nearest

_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_ACKNOWLEDGED = ("tcp", "leader", "cluster", "default")
_MOST_QUEUED = 10_000_000  # maximum of queue_records
_LONGEST_LINGER = 900_000  # maximum of linger.ms
_FLAGS = ("config", "mode", "stop-at-end", "topic", "version")


@dataclass(frozen=True)
class Options:
    """kaf-relay's flags."""

    mode: str = "single"
    stop_at_end: bool = False
    topics: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()


_TABLES = ("app", "topics", "source_pool", "sources", "target", "consumers", "producer", "filters", "filter")


def merged(trees: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge several files: a later one wins, key by key; lists are replaced as a whole."""
    whole: dict[str, Any] = {}
    for tree in trees:
        for key, value in tree.items():
            before = whole.get(key)
            if isinstance(value, dict) and isinstance(before, dict):
                value = merged([before, value])
            whole[key] = value
    return whole


def translate(tree: Mapping[str, Any], origin: str, options: Options, directory: Path) -> Translation:
    """The mirror that the files and the flags describe."""
    translation = Translation("kaf-relay", origin)
    reader = KeyReader(translation)
    for name in tree:
        if name in _FLAGS:
            translation.problem(name, f"is an option: pass it as --{name}")
        elif name not in _TABLES:
            translation.problem(name, f"unknown table{nearest(name, _TABLES)}")
    generation = generation_of(translation, tree)
    if generation is None:
        return translation
    single = options.mode == "single"
    of_app, of_retry, of_pool = (
        table if single else in_failover_mode(table)
        for table in (keys.APP, keys.RETRY_BACKOFF, keys.SOURCE_POOL)
    )
    app = reader.table("app", tree.get("app", {}), of_app)
    retry = reader.table("app.retry_backoff", app.get("retry_backoff", {}), of_retry)
    listen(translation, "app.metrics_server_addr", str(app.get("metrics_server_addr", "")), "kaf-relay")
    pool = reader.table("source_pool", tree.get("source_pool", {}), of_pool)
    group = str(pool.get("group_id") or app.get("group_id") or "")
    target = reader.table(generation.target, tree.get(generation.target, {}), generation.written)
    chosen_topics = topics(translation, tree.get("topics", {}), options.topics)
    nodes = read_nodes(translation, reader, generation, tree, group, directory, single=single)
    destination = alias(target.get("name"), "target", translation.clusters)
    translation.clusters[destination] = _written_to(translation, generation, target, directory)
    translation.keys[destination] = keys_of(translation, generation.target, target)
    source = nodes[0].alias if nodes else ""
    if nodes and not single:
        source = add_pool(translation, nodes, app, retry, pool)
    mirror = {
        "name": _name(reader, nodes, chosen_topics),
        "source": source,
        "destination": destination,
        "topics": list(chosen_topics),
        **_routes(translation, chosen_topics, target),
        **_delivery(translation, generation, target),
        **_group(nodes),
    }
    chosen_filters = filters(translation, reader, tree, options.filters, directory)
    if chosen_filters:
        mirror["filters"] = chosen_filters
    translation.mirrors.append(mirror)
    _note_differences(reader, generation, options, nodes, bool(chosen_filters))
    reader.finish()
    return translation


def _group(nodes: tuple[Node, ...]) -> dict[str, Any]:
    """The group of the first node; a pool has one for all its nodes."""
    commits = bool(nodes) and nodes[0].commits
    return {"source_group_name": nodes[0].group} if commits else {"source_group": False}


def _choice(translation: Translation, key: str, values: Values, choices: tuple[str, ...]) -> str:
    value = str(values.get(key.rpartition(".")[2], ""))
    if value and value not in choices:
        translation.problem(
            key, f"must be one of {', '.join(choices)}, not {shown(value)}{nearest(value, choices)}"
        )
    return value


def _routes(translation: Translation, chosen: dict[str, RelayTopic], target: Values) -> dict[str, Any]:
    """Topic names and partitions at the destination."""
    routes: dict[str, Any] = {}
    rename = {topic.source: topic.target for topic in chosen.values() if topic.target != topic.source}
    places = placed(translation, target.get("partitioning", {}), chosen)
    together = shared(chosen.values())
    if together:
        routes["merge"] = True
    if rename:
        routes["rename"] = rename
    if places:
        routes["partition_map"] = places
    for name, sources in together.items():
        translation.note(
            f"topics.{', topics.'.join(sources)}",
            f"share the topic {name}; each has its own positions, so a restart skips no record",
        )
    return routes


def _delivery(translation: Translation, generation: FileGeneration, target: Values) -> dict[str, Any]:
    path = generation.target
    _choice(translation, f"{path}.commit_ack_type", target, _ACKNOWLEDGED)
    compression = _choice(translation, f"{path}.compression", target, _COMPRESSIONS)
    size = target.get("buffer_size", 0)
    if not isinstance(size, int) or size < 0:
        translation.problem(f"{path}.buffer_size", f"must not be negative, not {size}")
        size = 0
    queue = {"queue_records": min(size, _MOST_QUEUED)} if size else {}
    return {"compression": compression or "none", **queue}


def _written_to(
    translation: Translation, generation: FileGeneration, target: Values, directory: Path
) -> dict[str, Any]:
    if not target:
        translation.problem(generation.target, f"missing: [{generation.target}] is the destination")
        return {}
    table = cluster(translation, generation.target, target, directory)
    linger = target.get("flush_frequency")
    if isinstance(linger, float):
        if not 0 <= linger <= _LONGEST_LINGER:
            translation.problem(f"{generation.target}.flush_frequency", "must be between 0s and 15m")
        table["producer"] = {"linger.ms": f"{linger:g}"}
    return table


def _name(reader: KeyReader, nodes: tuple[Node, ...], chosen: Mapping[str, RelayTopic]) -> str:
    """Stable, because the ledger is named after it; relays of other topics get other names."""
    group = nodes[0].group if nodes else ""
    name = mirror_name(f"kaf-relay-{group or next(iter(chosen), '')}")
    if not group:
        reader.remark(
            "topics",
            f"the mirror and its ledger are named {name}, from the first topic; set -X mirrors.0.name=… to "
            f"keep the name when another topic comes first",
        )
    return name


def _note_differences(
    reader: KeyReader, generation: FileGeneration, options: Options, nodes: tuple[Node, ...], filtered: bool
) -> None:
    reader.remark("topics", "target topics that do not exist are created")
    reader.remark("topics", generation.kept)
    if nodes and nodes[0].commits:
        reader.remark(
            generation.group,
            "offsets are committed to it on the source for lag monitoring and never read: positions are in "
            "a ledger on the destination",
        )
    elif nodes:
        reader.remark(
            generation.nodes,
            "no offsets are committed on the source, as in kaf-relay; -X mirrors.0.source_group=true "
            "commits them for lag monitoring",
        )
    if options.mode == "failover":
        reader.remark(
            "--mode failover",
            "the nodes become a pool; a node must have the records that were replicated last before the "
            "mirror reads on from it",
        )
        if len({(node.group, node.commits) for node in nodes}) > 1:
            reader.remark(generation.group, "the first node's holds for all of them")
        if options.stop_at_end:
            reader.remark(
                "--stop-at-end", "kaf-relay rejects it with --mode failover; here both work together"
            )
        if filtered:
            reader.remark(
                "--filter", "kaf-relay rejects filters with --mode failover; here both work together"
            )
