"""What a door makes of a tool's configuration: Causeway's tables, remarks, and what cannot be honoured.

A key that a tool accepts and Causeway does differently or better is said once, with `note`; a key that
cannot be honoured is a `problem`; nothing is passed over in silence. Both name the tool's own key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from causeway.config import Settings, settings_of
from causeway.config.document import Document
from causeway.config.toml import written
from causeway.errors import ConfigError


@dataclass(frozen=True)
class ClusterKeys:
    """The tool's own keys for a cluster, for advice: "servers of sources[0] in config.toml"."""

    address: str
    login: str = ""  # none: the tool has no keys for it


@dataclass
class Translation:
    tool: str  # as the tool calls itself: "Kafka Topic Mirror"
    origin: str  # where its configuration came from, for messages: a file, "the environment"
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, ClusterKeys] = field(default_factory=dict)  # by the clusters' aliases
    mirrors: list[dict[str, Any]] = field(default_factory=list)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)  # tables besides those: [web], [metrics]
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def note(self, key: str, text: str) -> None:
        self._add(self.notes, key, text)

    def problem(self, key: str, text: str) -> None:
        self._add(self.problems, key, text)

    def settings(self, overrides: Sequence[str], directory: Path) -> Settings:
        """Causeway's settings; raises ConfigError with everything that cannot be honoured."""
        self.check()
        tables = {"clusters": self.clusters, "mirrors": self.mirrors, **self.others}
        tree: dict[str, Any] = deepcopy(tables)  # loading works on it in place
        return settings_of(Document(self.origin, tree), directory, overrides)

    def check(self) -> None:
        """Raises ConfigError with everything that cannot be honoured."""
        if self.problems:
            count = len(self.problems)
            raise ConfigError(
                f"{count} setting{'s' * (count > 1)} of {self.tool} cannot be honoured",
                problems=tuple(self.problems),
                where=self.origin,
            )

    def toml(self) -> str:
        """The same as a file for `causeway run`, the remarks as comments at its head."""
        self.check()
        lines = [f"# Translated from {self.tool} ({self.origin}) by `causeway convert`.", "#"]
        lines += [f"# {note}" for note in self.notes]
        for alias, cluster in self.clusters.items():
            lines += ["", f"[clusters.{_key(alias)}]", *_table(cluster, f"clusters.{_key(alias)}")]
        for mirror in self.mirrors:
            lines += ["", "[[mirrors]]", *_table(mirror, "mirrors")]
        for name, table in self.others.items():
            lines += ["", f"[{name}]", *_table(table, name)]
        return "\n".join(lines) + "\n"

    def _add(self, to: list[str], key: str, text: str) -> None:
        line = f"{key}: {text}" if key else text
        if line not in to:
            to.append(line)


def mirror_name(text: str) -> str:
    """A name for the mirror out of the tool's own (a group, an application): stable, the ledger bears it."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:100]
    if name == text and name not in ("", ".", ".."):
        return name
    # Two groups must not become one mirror because their names were made to fit.
    return f"{name[:91].strip('.')}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else written(name)


def _table(table: Mapping[str, Any], path: str) -> list[str]:
    """A table's own keys first, then the tables in it: TOML wants them in this order."""
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
