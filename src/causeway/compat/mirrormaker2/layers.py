"""Assigns each key of mm2.properties to a flow, a cluster or neither, and reports the other keys.

The replication's keys and the clients' keys stay in the layers, to be translated; every other key gets
one note or problem here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from causeway.compat import java_clients
from causeway.compat.java_clients import GivenProperty
from causeway.compat.mirrormaker2 import keys
from causeway.compat.properties_file import PropertiesFile
from causeway.compat.translation import Translation
from causeway.config.problems import nearest

_CLIENTS = ("consumer.", "producer.", "admin.")
_FLOWS_CLIENTS = ("consumer.", "admin.", "source.consumer.", "producer.override.")
_OFFSET_SYNCS = ("producer.", "source.producer.", "target.producer.")
"""A flow's keys for the producer of offset syncs; `producer.override.` is not among them."""
_NOT_RECORDS = (
    "MirrorMaker 2 uses it for offset syncs, not for records: {0}.producer.{1} or {2}.producer.override.{1} "
    "applies to records"
)
_NO_EFFECT = "has no effect here in MirrorMaker 2 either"
_REFERENCE = re.compile(r"\$\{([^}:]+):([^}]*)\}")


@dataclass(frozen=True)
class Flow:
    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"


@dataclass
class Layers:
    top: dict[str, GivenProperty] = field(default_factory=dict)
    clusters: dict[str, dict[str, GivenProperty]] = field(default_factory=dict)
    flows: dict[Flow, dict[str, GivenProperty]] = field(default_factory=dict)

    def of(self, flow: Flow) -> Mapping[str, GivenProperty]:
        return self.flows[flow]

    def get(self, flow: Flow, key: str) -> GivenProperty | None:
        """The flow's own value, or the file's."""
        return self.flows[flow].get(key) or self.top.get(key)


def inside(layer: Mapping[str, GivenProperty], prefix: str) -> dict[str, GivenProperty]:
    """The keys under a prefix, without it."""
    return {
        key.removeprefix(prefix): given
        for key, given in layer.items()
        if key.startswith(prefix) and keys.remark(key, given.value) is None
    }


def layers_of(file: PropertiesFile, translation: Translation) -> Layers:
    """The keys by layer, with enabled flows only; the other keys become notes or problems."""
    entries = {key: _given(file, key, translation) for key in file.entries}
    clusters = entries.pop("clusters", GivenProperty("", "clusters"))
    aliases = [alias for part in clusters.value.split(",") if (alias := part.strip())]
    wrong = [alias for alias in aliases if not re.fullmatch(r"[A-Za-z0-9._-]+", alias)]
    for alias in wrong:
        translation.problem(clusters.where, f'"{alias}" is not an alias; a comment needs its own line')
    if not aliases:
        translation.problem(clusters.where, "missing: the aliases of the clusters, separated by commas")
    if wrong or not aliases:
        return Layers()
    layers = Layers(clusters={alias: {} for alias in aliases})
    disabled: dict[Flow, dict[str, GivenProperty]] = {}
    for key, given in entries.items():
        if "->" in key:
            _put_flow(key, given, layers, disabled, translation)
        elif alias := _beginning(key, layers.clusters):
            layers.clusters[alias][key.removeprefix(f"{alias}.")] = given
        else:
            layers.top[key] = given
    order = list(layers.clusters)
    for flow in sorted(disabled, key=lambda flow: (order.index(flow.source), order.index(flow.target))):
        enabled = disabled[flow].get("enabled")
        if enabled is not None and enabled.value.lower() == "true":
            layers.flows[flow] = disabled[flow]
        else:
            translation.note(f"{flow}", "is not enabled")
    _report_others(layers, translation)
    return layers


def _beginning(key: str, aliases: Iterable[str]) -> str:
    """The longest alias that the key begins with, or ""."""
    return max((alias for alias in aliases if key.startswith(f"{alias}.")), key=len, default="")


def _put_flow(
    key: str,
    given: GivenProperty,
    layers: Layers,
    flows: dict[Flow, dict[str, GivenProperty]],
    translation: Translation,
) -> None:
    source, _, rest = key.partition("->")
    target = _beginning(rest, layers.clusters)
    if source not in layers.clusters or not target:
        wrong = source if source not in layers.clusters else rest.partition(".")[0]
        translation.problem(given.where, f'clusters has no "{wrong}"{nearest(wrong, layers.clusters)}')
    elif source == target:
        translation.problem(given.where, "the source and the target are the same cluster")
    else:
        flows.setdefault(Flow(source, target), {})[rest.removeprefix(f"{target}.")] = given


def _given(file: PropertiesFile, key: str, translation: Translation) -> GivenProperty:
    """A value with its location; rejects Java's references unless they mean the same here."""
    value, where = file.entries[key].value, file.where(key)
    for kind, rest in _REFERENCE.findall(value):
        if kind == "env" and rest and ":" not in rest:
            continue
        translation.problem(
            where,
            f"${{{kind}:…}} needs a Java config provider; use ${{env:NAME}}, or ${{file:/path}} with a file "
            f"that has only the value",
        )
    return GivenProperty(re.sub(r"\$\{(?!env:[^}:]+\})", "$${", value), where)


def _report_others(layers: Layers, translation: Translation) -> None:
    """Report keys that are neither the replication's nor a client's."""
    sources = {flow.source for flow in layers.flows}
    targets = {flow.target for flow in layers.flows}
    for key, given in layers.top.items():
        if key == "enabled":
            translation.problem(given.where, "enable flows one by one, with A->B.enabled")
        elif key not in keys.TRANSLATED and not _for_all_clients(key):
            _report(key, given, translation, no_effect=key.startswith(_CLIENTS))
    for alias, table in layers.clusters.items():
        for key, given in table.items() if alias in sources | targets else ():
            if keys.remark(key, given.value) is None and key.startswith(_CLIENTS):
                kind = key.partition(".")[0]
                if kind == "consumer" and alias not in sources:
                    translation.note(given.where, f'not needed: "{alias}" is only written to')
                elif kind == "producer" and alias not in targets:
                    translation.note(given.where, f'not needed: "{alias}" is only read')
            elif not _for_all_clients(key):
                _report(key, given, translation, no_effect=key in keys.TRANSLATED)
    for flow, table in layers.flows.items():
        for key, given in table.items():
            if key.startswith(_OFFSET_SYNCS) and not key.startswith(_FLOWS_CLIENTS):
                name = key.partition("producer.")[2]
                translation.note(given.where, _NOT_RECORDS.format(flow.target, name, flow))
            elif keys.remark(key, given.value) is None and key.startswith(_FLOWS_CLIENTS):
                if key.startswith("admin."):
                    translation.note(given.where, "not needed by the admin client")
            elif key not in keys.TRANSLATED:
                _report(key, given, translation, no_effect=_for_all_clients(key))


def _for_all_clients(key: str) -> bool:
    return key == "bootstrap.servers" or java_clients.SECURITY.fullmatch(key) is not None


def _report(key: str, given: GivenProperty, translation: Translation, *, no_effect: bool) -> None:
    remark = keys.remark(key, given.value)
    if remark is not None:
        text, is_problem = remark
        (translation.problem if is_problem else translation.note)(given.where, text)
    elif no_effect:
        translation.note(given.where, _NO_EFFECT)
    else:
        translation.problem(given.where, f"unknown key{nearest(key, keys.NAMES)}")
