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
_FLOWS_CLIENTS = (
    "consumer.", "producer.", "admin.", "source.consumer.", "target.producer.", "producer.override.",
)  # fmt: skip
_NOWHERE = "has no effect here in MirrorMaker 2 either"
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
    """The keys under a prefix, without it; excludes keys under a longer prefix."""
    longer = [other for other in _FLOWS_CLIENTS if other.startswith(prefix) and other != prefix]
    return {
        key.removeprefix(prefix): given
        for key, given in layer.items()
        if key.startswith(prefix)
        and keys.remark(key, given.value) is None
        and not any(key.startswith(other) for other in longer)
    }


def layers_of(file: PropertiesFile, translation: Translation) -> Layers:
    """The keys by layer, with enabled flows only; the other keys become notes or problems."""
    entries = {key: _given(file, key, translation) for key in file.entries}
    clusters = entries.pop("clusters", GivenProperty("", "clusters"))
    aliases = [alias for each in clusters.value.split(",") if (alias := each.strip())]
    wrong = [alias for alias in aliases if not re.fullmatch(r"[A-Za-z0-9._-]+", alias)]
    for alias in wrong:
        translation.problem(clusters.where, f'"{alias}" is no alias; a comment needs a line of its own')
    if not aliases:
        translation.problem(clusters.where, "missing: the aliases of the clusters, with commas between")
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
    for flow in sorted(disabled, key=lambda each: (order.index(each.source), order.index(each.target))):
        enabled = disabled[flow].get("enabled")
        if enabled is not None and enabled.value.lower() == "true":
            layers.flows[flow] = disabled[flow]
        else:
            translation.note(f"{flow}", "is not enabled")
    _remark(layers, translation)
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
        translation.problem(given.where, "a flow from a cluster to itself")
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
            f"${{{kind}:…}} is resolved by a Java class; use ${{env:NAME}}, or ${{file:/path}} with the "
            "value alone in the file",
        )
    return GivenProperty(re.sub(r"\$\{(?!env:[^}:]+\})", "$${", value), where)


def _remark(layers: Layers, translation: Translation) -> None:
    """Report keys that are neither the replication's nor a client's."""
    sources = {flow.source for flow in layers.flows}
    targets = {flow.target for flow in layers.flows}
    for key, given in layers.top.items():
        if key == "enabled":
            translation.problem(given.where, "flows are enabled one by one, as A->B.enabled")
        elif key not in keys.TRANSLATED and not _for_all_clients(key):
            _say(key, given, translation, nowhere=key.startswith(_CLIENTS))
    for alias, table in layers.clusters.items():
        for key, given in table.items() if alias in sources | targets else ():
            if keys.remark(key, given.value) is None and key.startswith(_CLIENTS):
                kind = key.partition(".")[0]
                if kind == "consumer" and alias not in sources:
                    translation.note(given.where, f'not needed: "{alias}" is only written to')
                elif kind == "producer" and alias not in targets:
                    translation.note(given.where, f'not needed: "{alias}" is only read')
            elif not _for_all_clients(key):
                _say(key, given, translation, nowhere=key in keys.TRANSLATED)
    for table in layers.flows.values():
        for key, given in table.items():
            if keys.remark(key, given.value) is None and key.startswith(_FLOWS_CLIENTS):
                if key.startswith("admin."):
                    translation.note(given.where, "not needed by the admin client")
            elif key not in keys.TRANSLATED:
                _say(key, given, translation, nowhere=_for_all_clients(key))


def _for_all_clients(key: str) -> bool:
    return key == "bootstrap.servers" or java_clients.SECURITY.fullmatch(key) is not None


def _say(key: str, given: GivenProperty, translation: Translation, *, nowhere: bool) -> None:
    remark = keys.remark(key, given.value)
    if remark is not None:
        text, refused = remark
        (translation.problem if refused else translation.note)(given.where, text)
    elif nowhere:
        translation.note(given.where, _NOWHERE)
    else:
        translation.problem(given.where, f"unknown key{nearest(key, keys.NAMES)}")
