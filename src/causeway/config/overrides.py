"""The layers over the file: environment variables `CAUSEWAY__…`, over them `-X path.to.key=value`.

Owns finding the setting that a variable or an option names. Both name clusters and pools by
alias and mirrors by name or index. Variables have no case, hyphens or dots, so their names are compared
without them.
Keys that do not exist are put into the tree too: the schema rejects them like any other unknown key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from causeway.config.config_tree import Document, KeyPath
from causeway.config.problems import nearest
from causeway.config.properties import CLIENT_TABLES
from causeway.config.routing import ConfigTable
from causeway.config.schema import NAMED, TABLES, inner_tables, is_property_table

PREFIX = "CAUSEWAY__"
_INDEX = re.compile(r"\[(\d+)\]")
_UNDERSCORED = {"log.level": "log_level"}
"""librdkafka's one settable property with an underscore in its name."""


@dataclass(frozen=True)
class Override:
    """A value for a setting, and how its origin is named in problems."""

    origin: str
    path: str
    text: str
    separator: str

    @property
    def is_variable(self) -> bool:
        return self.separator == "__"

    def fold(self, name: str) -> str:
        return re.sub("[-.]", "_", name).lower() if self.is_variable else name

    def split(self, path: str, names: Iterable[str]) -> tuple[list[str], str]:
        """The names that the path begins with (more than one if it is ambiguous), and what follows."""
        folded = self.fold(path) + self.separator
        matches = {name for name in names if name and folded.startswith(self.fold(name) + self.separator)}
        longest = max(map(len, matches), default=0)
        best = sorted(name for name in matches if len(name) == longest)
        return best, path[longest + len(self.separator) :]


def override(document: Document, environ: Mapping[str, str], options: Sequence[str]) -> None:
    """Put variables, then options, into the document's tree."""
    variables = [
        Override(name, name.removeprefix(PREFIX), environ[name], "__")
        for name in sorted(environ)
        if name.startswith(PREFIX)
    ]
    parsed = []
    for number, option in enumerate(options, 1):
        path, equals, text = option.partition("=")
        if equals and path.strip():
            parsed.append(Override(f"-X {path}", _INDEX.sub(r".\1", path.strip()), text, "."))
        else:  # the text is not repeated: it may be a secret whose key was forgotten
            document.problem((), "must be path.to.key=value", f"-X (number {number})")
    for override in (*variables, *parsed):
        _apply(document, override)


def _apply(document: Document, override: Override) -> None:
    sections, rest = override.split(override.path, TABLES)
    if not sections:
        section = override.fold(override.path.split(override.separator)[0])
        document.problem((section,), f"unknown key{nearest(section, TABLES)}", override.origin)
        return
    section = sections[0]
    path: KeyPath = (section,)
    kind: type[Any] = list if section == "mirrors" else dict
    target = content = document.tree.get(section, kind())
    if not isinstance(content, kind):
        return  # the schema reports it
    if rest and section in (*NAMED, "mirrors"):
        names = _mirrors(content) if section == "mirrors" else _aliases(document.tree, section)
        matches, key = override.split(rest, names)
        if len(matches) != 1:
            wanted = rest.split(override.separator)[0]
            document.problem((section, wanted), _no_match(section, wanted, matches, names), override.origin)
            return
        rest = key
        (name,) = matches
        path = (section, names[name])
        target = content[names[name]] if section == "mirrors" else content.setdefault(name, {})
    if not rest:
        document.problem(path, "names a table; a key must follow", override.origin)
    elif isinstance(target, dict):
        document.tree[section] = content
        _set(document, override, path, target, rest)


def _set(document: Document, override: Override, path: KeyPath, target: dict[str, Any], rest: str) -> None:
    """Set a key, or a property in one of the tables of properties."""
    table = TABLES[str(path[0])]
    inside, key = override.split(rest, inner_tables(table))
    if inside and key:
        path, table, rest = (*path, *inside), inner_tables(table)[inside[0]], key
        target = target.setdefault(inside[0], {})
        if not isinstance(target, dict):
            return  # the schema reports it
    property_tables = [key for key in table.model_fields if is_property_table(table, key)]
    matches, name = override.split(rest, property_tables)
    if matches == ["properties"] and path[0] == "clusters":
        # properties.consumer is another spelling of consumer
        inner, inner_name = override.split(name, CLIENT_TABLES[1:])
        matches, name = (inner, inner_name) if inner else (matches, name)
    if not matches:
        key = rest.lower() if override.is_variable else rest
        value = typed(override.text, table, key)
    elif not name:
        document.problem((*path, *matches), "names a table; a property must follow", override.origin)
        return
    else:
        path = (*path, *matches)
        target = target.setdefault(matches[0], {})
        if not isinstance(target, dict):
            return  # the schema reports it
        key = _property(name, target) if override.is_variable else name
        value = override.text  # unparsed: a password may look like TOML
    target[key] = value
    document.origins[(*path, key)] = override.origin


def _property(name: str, known: Iterable[str]) -> str:
    """SASL_PASSWORD is sasl.password; a name with small letters keeps its case."""
    spelled = (name.lower() if name.isupper() else name).replace("__", "_").replace("_", ".")
    same = (other for other in known if other.replace("_", ".").replace("-", ".").lower() == spelled.lower())
    return next(same, _UNDERSCORED.get(spelled, spelled))


def typed(text: str, table: type[ConfigTable], key: str) -> Any:
    """Text as the type of the setting: parsed as TOML if that fits, otherwise the string itself."""
    field = table.model_fields.get(key)
    if field is None:
        return text
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    kind: Any = Annotated[field.annotation, field]
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    for candidate in (read["value"], text):
        try:
            adapter.validate_python(candidate)
        except ValidationError:
            continue
        return candidate
    return read["value"]  # neither fits; this one gives the better message


def _aliases(tree: Mapping[str, Any], section: str) -> dict[str, str | int]:
    """Aliases in the file, and those that are only mentioned: variables may define these tables."""
    mirrors, pools = tree.get("mirrors"), tree.get("pools")
    mentioned: list[Any] = [*tree.get(section, ())]
    values = [
        mirror.get(key)
        for mirror in (mirrors if isinstance(mirrors, list) else ())
        if isinstance(mirror, dict)
        for key in ("source", "destination")
    ]
    if section == "clusters" and isinstance(pools, dict):
        values += [pool.get("nodes") for pool in pools.values() if isinstance(pool, dict)]
    for value in values:
        mentioned += value if isinstance(value, list) else [value]
    return {alias: alias for alias in mentioned if isinstance(alias, str)}


def _mirrors(mirrors: Sequence[Any]) -> dict[str, str | int]:
    """Indexes of mirrors, by index and by name; a name wins."""
    indexes: dict[str, str | int] = {str(index): index for index in range(len(mirrors))}
    for index, mirror in enumerate(mirrors):
        if isinstance(mirror, dict) and isinstance(mirror.get("name"), str):
            indexes[mirror["name"]] = index
    return indexes


def _no_match(section: str, wanted: str, matches: Sequence[str], names: Iterable[str]) -> str:
    if matches:
        return "is ambiguous: " + " or ".join(f'"{name}"' for name in matches)
    return f"there is no such {section.removesuffix('s')}{nearest(wanted, names)}"
