"""The translation of a tool's configuration: Causeway's tables, notes, and problems.

A key that Causeway handles differently or better gets one `note`; a key that cannot be honoured is a
`problem`. No key is ignored silently. Both name the tool's own key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from causeway.config import ClusterSettings, Settings, client_tables, settings_of
from causeway.config.config_tree import Document
from causeway.config.toml import written
from causeway.errors import ConfigError
from causeway.printable import printable


@dataclass(frozen=True)
class ClusterKeys:
    """The tool's own keys for a cluster, for advice: "servers of sources[0] in config.toml"."""

    address: str
    login: str = ""  # empty: the tool has no keys for it


@dataclass
class Translation:
    tool: str  # as the tool calls itself: "Kafka Topic Mirror"
    origin: str  # where its configuration comes from, for messages: a file, "the environment"
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, ClusterKeys] = field(default_factory=dict)  # by cluster alias
    pools: dict[str, dict[str, Any]] = field(default_factory=dict)
    mirrors: list[dict[str, Any]] = field(default_factory=list)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)  # other tables: [web], [metrics]
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _added: set[tuple[int, str]] = field(default_factory=set)

    def note(self, key: str, text: str) -> None:
        self._add(self.notes, key, text)

    def problem(self, key: str, text: str) -> None:
        self._add(self.problems, key, text)

    def settings(self, overrides: Sequence[str], directory: Path) -> Settings:
        """Causeway's settings; raises ConfigError that lists everything that cannot be honoured."""
        self._allow_unsafe()
        self.check()
        tables = {"clusters": self.clusters, "pools": self.pools, "mirrors": self.mirrors, **self.others}
        tree: dict[str, Any] = deepcopy(tables)  # loading modifies it in place
        return settings_of(Document(self.origin, tree), directory, overrides)

    def check(self) -> None:
        """Raises ConfigError that lists everything that cannot be honoured."""
        if self.problems:
            count = len(self.problems)
            raise ConfigError(
                f"{count} setting{'s' * (count > 1)} of {self.tool} cannot be honoured",
                problems=tuple(self.problems),
                where=self.origin,
            )

    def toml(self) -> str:
        """The same as a file for `causeway run`, with the notes as comments at the top."""
        self._allow_unsafe()
        self.check()
        lines = [printable(f"# Translated from {self.tool} ({self.origin}) by `causeway convert`."), "#"]
        lines += [printable(f"# {note}") for note in self.notes]  # a line break would end the comment
        for alias, cluster in self.clusters.items():
            lines += ["", f"[clusters.{_key(alias)}]", *_table(cluster, f"clusters.{_key(alias)}")]
        for name, pool in self.pools.items():
            lines += ["", f"[pools.{_key(name)}]", *_table(pool, f"pools.{_key(name)}")]
        for mirror in self.mirrors:
            lines += ["", "[[mirrors]]", *_table(mirror, "mirrors")]
        for name, table in self.others.items():
            lines += ["", f"[{name}]", *_table(table, name)]
        return "\n".join(lines) + "\n"

    def _allow_unsafe(self) -> None:
        """Allow what the tool allows, and say what that is: Causeway alone would refuse it."""
        for alias, table in self.clusters.items():
            try:
                cluster = ClusterSettings.model_validate(table)
            except ValidationError:
                continue  # loading reports it
            for danger in client_tables.dangers(cluster):
                table.setdefault(danger.table, {})["unsafe"] = True
                keys = self.keys.get(alias)
                where = keys.login if keys and keys.login else f"clusters.{alias}"
                self.note(where, f"{danger.what}, as with {self.tool}; use {danger.instead}")

    def _add(self, to: list[str], key: str, text: str) -> None:
        # Keys come from files: a line break in one must not begin a line of ours.
        line = printable(f"{key}: {text}" if key else text)
        if (id(to), line) not in self._added:
            self._added.add((id(to), line))
            to.append(line)


def mirror_name(text: str) -> str:
    """A mirror name from the tool's group or application. Stable, because the ledger is named after it."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:100]
    if name == text and name not in ("", ".", ".."):
        return name
    # Two groups must not map to the same mirror because their names were shortened or changed.
    return f"{name[:91].strip('.')}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else written(name)


def _table(table: Mapping[str, Any], path: str) -> list[str]:
    """A table's own keys first, then its subtables: TOML requires this order."""
    inner = {key: value for key, value in table.items() if isinstance(value, dict) and value}
    listed = {key: value for key, value in table.items() if isinstance(value, list) and _is_tables(value)}
    lines = [
        f"{_key(key)} = {written(value)}"
        for key, value in table.items()
        if key not in inner and key not in listed
    ]
    for key, value in inner.items():
        lines += ["", f"[{path}.{_key(key)}]", *_table(value, f"{path}.{_key(key)}")]
    for key, values in listed.items():
        for value in values:
            lines += ["", f"[[{path}.{_key(key)}]]", *_table(value, f"{path}.{_key(key)}")]
    return lines


def _is_tables(values: Sequence[object]) -> bool:
    return bool(values) and all(isinstance(value, dict) and "filter" in value for value in values)
