"""The configuration while it is being assembled.

Owns the raw tree of tables, the origin of each value in it, which values must not be shown, and the
problems found so far. Every problem becomes one line here, `origin: key: what is wrong`, so no other
module can echo a value.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from causeway.config.input_limits import check_keys, check_shape, decoded, read_bytes, unreadable
from causeway.config.routing import ConfigTable
from causeway.config.schema import NAMED, NESTED, TABLES, Settings, inner_tables, is_property_table
from causeway.config.secrets import is_secret, redact

KeyPath = tuple[str | int, ...]

_PLACED = re.compile(r"(.*) \(at (line \d+, column \d+|end of document)\)", re.DOTALL)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_SHOWN_CHARACTERS = 60
_KEY_CHARACTERS = 200


@dataclass
class Document:
    file: str
    tree: dict[str, Any]
    origins: dict[KeyPath, str] = field(default_factory=dict)
    """Origins of values that are not from the file."""
    hidden: set[KeyPath] = field(default_factory=set)
    """Values that came from references."""
    broken: set[KeyPath] = field(default_factory=set)
    """Values that have a problem already: their other problems are consequences of it, and not reported."""
    problems: dict[str, None] = field(default_factory=dict)
    """Each one once, in their order."""

    def problem(self, path: KeyPath, message: str, origin: str = "") -> None:
        if any(part in self.broken for part in _upwards(path)):
            return
        line = ": ".join(part for part in (origin or self.origin(path), dotted(path), message) if part)
        # Keys and arguments may contain line breaks, escape codes or bytes that are not text.
        line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        self.problems.setdefault(line)

    def origin(self, path: KeyPath) -> str:
        return next((self.origins[part] for part in _upwards(path) if part in self.origins), self.file)

    def may_show(self, path: KeyPath) -> bool:
        if any(part in self.hidden for part in _upwards(path)):
            return False
        if any(isinstance(part, str) and is_secret(part) for part in path):
            return False
        # Properties are not ours, so we do not know which of them are secret.
        return not any(
            is_property_table(table, key)
            for part in _upwards(path)
            if (table := table_at(part[:-1])) and isinstance(key := part[-1], str)
        )

    def tables(self) -> Iterator[tuple[KeyPath, dict[str, Any], type[ConfigTable]]]:
        """Every table of settings in the tree; the schema rejects what is not a table."""
        for section, table in TABLES.items():
            content = self.tree.get(section)
            nested: list[tuple[KeyPath, Any]] = [((section,), content)]
            if section in NAMED:
                aliases = content if isinstance(content, dict) else {}
                nested = [((section, alias), value) for alias, value in aliases.items()]
            elif section == "mirrors":
                mirrors = content if isinstance(content, list) else []
                nested = [((section, index), value) for index, value in enumerate(mirrors)]
            for path, value in nested:
                if isinstance(value, dict):
                    yield path, value, table
                    yield from _inside(path, value, table)


def read(path: Path) -> Document:
    """The file alone; raises ConfigError when it cannot be read or is not TOML."""
    return parse(read_bytes(path), str(path))


def parse(content: bytes, name: str) -> Document:
    """The document that this TOML is; `name` stands for it in problems."""
    text = decoded(content, name)
    check_keys(text, name)
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise unreadable(f"{name}: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, and numbers too long to read
        placed = _PLACED.fullmatch(str(error))
        what, where = (placed[1], f"{placed[2]}: ") if placed else ("a value cannot be read", "")
        raise unreadable(f"{name}: {where}not TOML: {what[:1].lower()}{what[1:]}") from None
    check_shape(tree, name)
    return Document(name, tree)


def dotted(path: KeyPath) -> str:
    """`mirrors[0].source`"""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            part = part if len(part) <= _KEY_CHARACTERS else f"{part[:_KEY_CHARACTERS]}…"
            text += "." * bool(text) + (part if _PLAIN_KEY.fullmatch(part) else json.dumps(part))
    return text


def shown(value: object) -> str:
    """A value as a message quotes it; tables and lists are not quoted."""
    if isinstance(value, dict | list | tuple):
        return "a table" if isinstance(value, dict) else "a list"
    safe = redact("", value) if isinstance(value, str) else value
    text = json.dumps(safe, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def table_at(path: KeyPath) -> type[ConfigTable] | None:
    """The model that the table at this path follows."""
    if not path:
        return Settings
    section = path[0]
    if section == "mirrors" and len(path) == 4:
        return NESTED.get(str(path[2]))
    depth = 2 if section in (*NAMED, "mirrors") else 1
    table = TABLES.get(section) if isinstance(section, str) else None
    if table is not None and len(path) == depth + 1:
        return inner_tables(table).get(str(path[depth]))
    return table if len(path) == depth else None


def _inside(
    path: KeyPath, table: dict[str, Any], kind: type[ConfigTable]
) -> Iterator[tuple[KeyPath, dict[str, Any], type[ConfigTable]]]:
    """The tables inside a table: one under its key or, in a mirror, a list of them, or each under a name."""
    for key, model in inner_tables(kind).items():
        if isinstance(table.get(key), dict):
            yield (*path, key), table[key], model
    for key, model in NESTED.items() if path[0] == "mirrors" else ():
        content = table.get(key)
        named = dict(enumerate(content)) if isinstance(content, list) else content
        for name, value in named.items() if isinstance(named, dict) else ():
            if isinstance(value, dict):
                yield (*path, key, name), value, model


def _upwards(path: KeyPath) -> Iterator[KeyPath]:
    return (path[:length] for length in range(len(path), 0, -1))
