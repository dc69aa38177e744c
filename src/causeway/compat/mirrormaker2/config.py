"""MirrorMaker 2's mm2.properties: a mirror for each enabled flow.

Precedence as in MirrorMaker 2, the later one overriding:
- replication: the file's `key`, the flow's `A->B.key`;
- consumer: `A->B.consumer.key`, `A.consumer.key`, `A->B.source.consumer.key`;
- producer: `B.producer.key`, `A->B.producer.override.key`. Connect's worker creates the producer for records,
  and it knows the target cluster's settings; `A->B.producer.key` configures the producer for offset syncs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from causeway.compat import expressions, java_clients, properties_file
from causeway.compat.java_clients import GivenProperty
from causeway.compat.mirrormaker2.layers import Flow, Layers, inside, layers_of
from causeway.compat.reading import whole
from causeway.compat.translation import Translation

TOOL = "MirrorMaker 2"

_MIRROR = "org.apache.kafka.connect.mirror."
_DEFAULT_POLICY = f"{_MIRROR}DefaultReplicationPolicy"
_IDENTITY_POLICIES = (
    f"{_MIRROR}IdentityReplicationPolicy",
    "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy",
)
_NEVER = (r"(?:__|\.).*", r".*[-.]internal")
"""Internal topics by the replication policies; MirrorMaker 2 skips them even if `topics` names them."""
_NOT_BY_DEFAULT = (r".*\.replica",)
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_QUEUE = (2**20, 2047 * 2**20)
_LONGEST_REFRESH = 3600
_ADMIN = "the admin client uses the cluster's value; set it as {}.{}"


def translate(path: Path) -> Translation:
    """Causeway's tables, with notes on differences and problems for what cannot be honoured."""
    translation = Translation(TOOL, str(path))
    file = properties_file.read(path, "java", translation)
    if translation.problems:
        return translation
    layers = layers_of(file, translation)
    if not layers.flows:
        if not translation.problems:
            translation.problem("clusters", "no flow is enabled; enable one with A->B.enabled = true")
        return translation
    aliases = _aliases(layers, translation)
    of_flows: dict[str, dict[str, Any]] = {}  # clusters with properties of a single flow
    for flow in layers.flows:
        source, destination = aliases[flow.source], aliases[flow.target]
        name = f"{source}-to-{destination}"
        consumer, producer = _consumer(layers, flow), _producer(layers, flow)
        mirror: dict[str, Any] = {"name": name, "source": source, "destination": destination}
        if consumer != inside(layers.clusters[flow.source], "consumer."):
            mirror["source"] = f"{name}-source"
            of_flows[mirror["source"]] = _cluster(layers, flow.source, consumer, {}, translation)
        if producer != inside(layers.clusters[flow.target], "producer."):
            mirror["destination"] = f"{name}-destination"
            of_flows[mirror["destination"]] = _cluster(layers, flow.target, {}, producer, translation)
        _topics(layers, flow, mirror, translation)
        _numbers(layers, flow, mirror, translation)
        _mirror_keys(consumer, producer, mirror, translation)
        translation.mirrors.append(mirror)
    used = {alias for mirror in translation.mirrors for alias in (mirror["source"], mirror["destination"])}
    for alias, own in aliases.items():
        if own in used:
            table = layers.clusters[alias]
            translation.clusters[own] = _cluster(
                layers, alias, inside(table, "consumer."), inside(table, "producer."), translation
            )
    translation.clusters |= of_flows
    return translation


def _aliases(layers: Layers, translation: Translation) -> dict[str, str]:
    """Causeway's aliases, which have no dots, of the clusters in flows."""
    used = {alias for flow in layers.flows for alias in (flow.source, flow.target)}
    aliases: dict[str, str] = {}
    for alias in layers.clusters:
        if alias not in used:
            translation.note("clusters", f'"{alias}" is in no enabled flow')
            continue
        own = re.sub("[^A-Za-z0-9_-]", "-", alias)
        while own in aliases.values():
            own += "_"
        if own != alias:
            translation.note("clusters", f'"{alias}" has the alias "{own}" here; topic names do not change')
        aliases[alias] = own
    return aliases


def _consumer(layers: Layers, flow: Flow) -> dict[str, GivenProperty]:
    own, cluster = layers.of(flow), layers.clusters[flow.source]
    # MirrorMaker 2 copies a cluster's connection settings, or the file's, to each of its clients.
    of_cluster = {key for key in layers.top | cluster if java_clients.SECURITY.fullmatch(key)}
    of_flow = {key: given for key, given in inside(own, "consumer.").items() if key not in of_cluster}
    return {**of_flow, **inside(cluster, "consumer."), **inside(own, "source.consumer.")}


def _producer(layers: Layers, flow: Flow) -> dict[str, GivenProperty]:
    overrides = inside(layers.of(flow), "producer.override.")
    return {**inside(layers.clusters[flow.target], "producer."), **overrides}


def _cluster(
    layers: Layers,
    alias: str,
    consumer: Mapping[str, GivenProperty],
    producer: Mapping[str, GivenProperty],
    translation: Translation,
) -> dict[str, Any]:
    """A cluster's table, without the client keys that `_mirror_keys` sets on the mirror."""
    own = layers.clusters[alias]
    common = {key: given for key, given in (layers.top | own).items() if java_clients.SECURITY.fullmatch(key)}
    servers = own.get("bootstrap.servers") or layers.top.get("bootstrap.servers")
    if servers is None:
        translation.problem(f"{alias}.bootstrap.servers", "missing: bootstrap brokers, as host:port")
    brokers = {"bootstrap.servers": servers} if servers else {}
    for key, given in inside(own, "admin.").items():
        if key not in common and key not in brokers:
            translation.note(given.where, "not needed by the admin client")
        elif given.value != (common | brokers)[key].value:
            translation.problem(given.where, _ADMIN.format(alias, key))
    tables = {"properties": java_clients.translated(common, translation)}
    for kind, layer in (("consumer", consumer), ("producer", producer)):
        for key in brokers:
            if key in layer and layer[key].value != brokers[key].value:
                translation.problem(layer[key].where, f"all clients use {alias}.{key}")
        left = {key: given for key, given in layer.items() if key not in (*_MIRROR_KEYS[kind], *brokers)}
        tables[kind] = java_clients.translated(left, translation, common)
    cluster: dict[str, Any] = {"bootstrap_servers": servers.value} if servers else {}
    return cluster | {key: table for key, table in tables.items() if table}


_MIRROR_KEYS = {"consumer": ("auto.offset.reset",), "producer": ("compression.type", "buffer.memory")}


def _topics(layers: Layers, flow: Flow, mirror: dict[str, Any], translation: Translation) -> None:
    prefix, separator = _prefix(layers, flow, translation)
    mirror["topics"] = _expressions(layers.get(flow, "topics"), [".*"], translation)
    if not mirror["topics"] and not translation.problems:
        translation.problem(f"{flow}.topics", "is empty, so no topic would be replicated")
    excluded = layers.get(flow, "topics.exclude") or layers.get(flow, "topics.blacklist")
    mirror["exclude"] = [*_NEVER, *_expressions(excluded, list(_NOT_BY_DEFAULT), translation)]
    back = any((other.source, other.target) == (flow.target, flow.source) for other in layers.flows)
    if prefix:
        mirror["prefix"] = prefix
        # Topics that came from the target, directly or through others, are not replicated back to it.
        step, target = (re.escape(text).replace(r"\-", "-") for text in (separator, flow.target))
        mirror["exclude"].append(f"(?:.*{step})?{target}{step}.*")
    elif back:
        translation.note(
            f"{flow}",
            "topics keep their names in both directions: a topic that is replicated both ways is refused, "
            "because its "
            "records would loop, unless both mirrors have provenance = true and on_existing_records = "
            '"append"',
        )
    if not prefix and sum(other.target == flow.target for other in layers.flows) > 1:
        translation.note(
            f"{flow}",
            "another flow writes to topics with the same names; if they share one, the mirror that starts "
            "second "
            'needs on_existing_records = "append"',
        )


def _prefix(layers: Layers, flow: Flow, translation: Translation) -> tuple[str, str]:
    separator = given.value if (given := layers.get(flow, "replication.policy.separator")) else "."
    policy = layers.get(flow, "replication.policy.class")
    if policy is not None and policy.value in _IDENTITY_POLICIES:
        return "", separator
    if policy is not None and policy.value != _DEFAULT_POLICY:
        translation.problem(
            policy.where,
            "Java code cannot be run: remove the key, and set prefix, suffix or rename in the TOML",
        )
    if not separator:
        translation.problem(f"{flow}.replication.policy.separator", "must not be empty")
    return flow.source + separator, separator


def _expressions(given: GivenProperty | None, default: list[str], translation: Translation) -> list[str]:
    if given is None:
        return default
    entries = [entry for part in given.value.split(",") if (entry := part.strip())]
    try:
        return expressions.java(entries)
    except ValueError as error:
        translation.problem(given.where, str(error))
        return default


def _numbers(layers: Layers, flow: Flow, mirror: dict[str, Any], translation: Translation) -> None:
    replication = layers.get(flow, "replication.factor")
    if replication is not None and replication.value == "-1":
        translation.note(replication.where, "new topics get the replication factor of the source topic")
    elif replication is not None:
        mirror["replication_factor"] = whole(translation, replication.where, replication.value, 1, 2**15 - 1)
    tasks = layers.get(flow, "tasks.max")
    if tasks is not None:
        most = whole(translation, tasks.where, tasks.value, 1, 2**31 - 1)
        meaning = f"{most} parallel tasks (shards)" if most > 1 else "one shard for each core"
        translation.note(tasks.where, meaning)
        if most > 1:
            mirror["shards"] = most
    refresh = layers.get(flow, "refresh.topics.interval.seconds")
    if refresh is not None:
        seconds = whole(translation, refresh.where, refresh.value, 1, 2**63 - 1)
        mirror["refresh"] = f"{min(seconds, _LONGEST_REFRESH)}s"
        if seconds > _LONGEST_REFRESH:
            translation.note(
                refresh.where, f"topics are discovered at least every {_LONGEST_REFRESH} seconds"
            )


def _mirror_keys(
    consumer: Mapping[str, GivenProperty],
    producer: Mapping[str, GivenProperty],
    mirror: dict[str, Any],
    translation: Translation,
) -> None:
    """Client keys that are the mirror's keys in Causeway."""
    if reset := consumer.get("auto.offset.reset"):
        if reset.value not in ("earliest", "latest"):
            translation.problem(reset.where, f'must be earliest or latest, not "{reset.value}"')
        elif reset.value == "latest":
            mirror["start"] = "latest"
        translation.note(
            reset.where,
            "applies to topics that were never replicated; a position that is out of range "
            "stops its partition",
        )
    if compression := producer.get("compression.type"):
        if compression.value not in _COMPRESSIONS:
            translation.problem(
                compression.where, f'must be one of {", ".join(_COMPRESSIONS)}, not "{compression.value}"'
            )
        mirror["compression"] = compression.value
    if memory := producer.get("buffer.memory"):
        wanted = whole(translation, memory.where, memory.value, 0, 2**63 - 1)
        granted = min(max(wanted, _QUEUE[0]), _QUEUE[1])
        mirror["queue_bytes"] = f"{granted}B"
        if granted != wanted:
            translation.note(memory.where, f"is {granted}, the nearest possible value")
