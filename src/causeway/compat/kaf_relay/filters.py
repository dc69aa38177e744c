"""kaf-relay's filters: its Go plugins, and Python filters that replace them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from causeway.compat.kaf_relay.clients import literal
from causeway.compat.kaf_relay.keys import FILTER, KeyReader, Values
from causeway.compat.translation import Translation
from causeway.config.input_limits import check_shape, is_file
from causeway.errors import ConfigError

_FILE = re.compile(r"([^:\s][^:]*\.py)(?::([A-Za-z_]\w*))?")
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True)
class Filter:
    id: str
    key: str  # where it was given
    path: str


def filters(
    translation: Translation,
    reader: KeyReader,
    tree: Mapping[str, Any],
    flags: Iterable[str],
    directory: Path,
) -> list[dict[str, Any]]:
    """The mirror's filters, first in the file's order, then in the flags'."""
    tables = {section: _tables(translation, reader, section, tree) for section in ("filters", "filter")}
    wanted = {
        name: Filter(name, f"filters.{name}.path", str(values.get("path", "")))
        for name, values in tables["filters"].items()
        if values.get("enabled")
    }
    # A flag replaces the plugin of the same id, so a file that enables one can stay as it is.
    wanted |= {_id(path): Filter(_id(path), f"--filter {path}", path) for path in flags}
    result = []
    for chosen in wanted.values():
        target = _target(translation, chosen, directory)
        config = _config(translation, chosen.id, tables)
        if target:
            result.append({"filter": target, **({"config": config} if config else {})})
    for unused in tables["filter"]:
        if unused not in wanted and unused not in tables["filters"]:
            reader.remark(f"filter.{unused}", "not used, as in kaf-relay: no --filter names it")
    return result


def _tables(
    translation: Translation, reader: KeyReader, section: str, tree: Mapping[str, Any]
) -> dict[str, Values]:
    tables = tree.get(section, {})
    if not isinstance(tables, dict):
        translation.problem(section, f"each filter is written as [{section}.<id>]")
        return {}
    return {name: reader.table(f"{section}.{name}", table, FILTER) for name, table in tables.items()}


def _id(path: str) -> str:
    """A file's name without its extension; for `package.module:name` the module's name."""
    if _OBJECT.fullmatch(path) and not _FILE.fullmatch(path):
        return path.partition(":")[0].rpartition(".")[2]
    name = PurePath(path).name
    return name.partition(":")[0].rpartition(".")[0] or name


def _target(translation: Translation, chosen: Filter, directory: Path) -> str:
    file = _FILE.fullmatch(chosen.path)
    if file:
        path = directory / file[1]
        if not is_file(path):
            translation.problem(chosen.key, f"there is no file {path}")
        return f"{path}:{file[2] or 'Filter'}"
    if _OBJECT.fullmatch(chosen.path):
        return chosen.path
    return _plugin(translation, chosen, directory)


def _plugin(translation: Translation, chosen: Filter, directory: Path) -> str:
    """A Go plugin, with the id that it must have."""
    path = directory / chosen.path
    if not chosen.path:
        translation.problem(chosen.key, "must be the path of a Go plugin or of a Python file")
    elif not is_file(path):
        translation.problem(chosen.key, f"there is no file {path}")
    elif ":" in chosen.id:
        translation.problem(chosen.key, f'the id "{chosen.id}" must not contain a colon')
    else:
        return f"{path}:{chosen.id}"
    return ""


def _config(
    translation: Translation, name: str, tables: Mapping[str, Mapping[str, Values]]
) -> dict[str, Any]:
    """The JSON that kaf-relay passes to the plugin, as a table."""
    for section, known in tables.items():
        given = str(known.get(name, {}).get("config", ""))
        if not given.strip():
            continue
        key = f"{section}.{name}.config"
        try:
            config = json.loads(given, parse_constant=_no_number)
            check_shape(config, "JSON")
        except ConfigError as error:
            translation.problem(key, error.problems[0])
            return {}
        except (ValueError, RecursionError) as error:  # the message gives a position, never the text
            translation.problem(key, f"is not JSON: {error}")
            return {}
        if isinstance(config, dict):
            return {
                inner: _plain(translation, key, value) for inner, value in config.items() if value is not None
            }
        translation.problem(key, "must be a JSON object, which becomes the filter's table")
        return {}
    return {}


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _plain(translation: Translation, key: str, value: Any) -> Any:
    """A value for TOML: omits nulls, as Go's decoder does; escapes what looks like a reference."""
    if isinstance(value, dict):
        return {name: _plain(translation, key, inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        if None in value:
            translation.problem(key, "has a null in a list, which TOML does not support")
        return [_plain(translation, key, inner) for inner in value]
    return literal(value) if isinstance(value, str) else value
