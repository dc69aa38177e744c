"""Loads settings from a file, the environment and the command line.

Each step adds its problems to the document and continues, so that one run reports them all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from pydantic import ValidationError

from causeway.config import client_tables, secrets
from causeway.config.checks import cross_check
from causeway.config.config_tree import Document, KeyPath, parse, read
from causeway.config.input_limits import LONGEST_RESOLVED, check_shape, is_file
from causeway.config.literals import literal_secrets
from causeway.config.mirror import MirrorSettings
from causeway.config.overrides import override, typed
from causeway.config.problems import explain
from causeway.config.properties import CLIENT_TABLES, JVM_OPTIONS, flatten
from causeway.config.routing import FilterSettings
from causeway.config.schema import (
    NESTED,
    ClusterSettings,
    Settings,
    inner_tables,
    is_property_table,
    resolves_late,
)
from causeway.core.filtering import is_go_plugin
from causeway.errors import ConfigError

_ON_COMMAND_LINE = (
    "a reference would put its secret on the JVM's command line, which every user of the machine can read: "
    "write the value itself, or pass a file in the option"
)


def load(path: Path, overrides: Sequence[str] = (), environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings; raises ConfigError with every problem in the file, the environment and `-X`."""
    return settings_of(read(path), path.parent, overrides, environ)


def load_text(text: str, overrides: Sequence[str] = (), environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of a configuration that is not in a file; files that it names are relative to here."""
    return settings_of(parse(text.encode("utf-8", "surrogateescape"), "the text"), Path(), overrides, environ)


def settings_of(
    document: Document, directory: Path, overrides: Sequence[str], environ: Mapping[str, str] = os.environ
) -> Settings:
    """The settings in a document; `directory` is where the files that it names are."""
    _flatten_properties(document)
    override(document, environ, overrides)
    check_shape(document.tree, "the configuration")
    literal = literal_secrets(document)
    _resolve_references(document, environ)
    settings = None
    try:
        settings = Settings.model_validate(document.tree)
    except ValidationError as error:
        explain(document, error)
    cross_check(document)
    _check_connections(document, environ)
    if settings is not None:
        settings = _with_files(document, settings, directory)
    if settings is None or document.problems:
        count = len(document.problems)
        raise ConfigError(
            "the configuration has a problem" if count == 1 else f"the configuration has {count} problems",
            problems=tuple(document.problems),
            todo="`causeway config reference` describes every key",
        )
    settings._literal_secrets = literal
    return settings


def _with_files(document: Document, settings: Settings, directory: Path) -> Settings:
    """Make the paths of filter files absolute; the files are read once, where the driver runs."""
    mirrors = []
    for index, mirror in enumerate(settings.mirrors):
        filters = []
        for number, chosen in enumerate(mirror.filters):
            module, _, name = chosen.filter.rpartition(":")
            is_plugin = is_go_plugin(chosen.filter)
            if not module:
                module, name = chosen.filter, PurePath(chosen.filter).stem if is_plugin else "Filter"
            if is_plugin or module.endswith(".py"):
                path = (directory / module).resolve()
                if not is_file(path):
                    document.problem(
                        ("mirrors", index, "filters", number, "filter"), f"there is no file {path}"
                    )
                chosen = chosen.model_copy(update={"filter": f"{path}:{name}"})
            filters.append(chosen)
        mirrors.append(mirror.model_copy(update={"filters": tuple(filters)}))
    return settings.model_copy(update={"mirrors": tuple(mirrors)})


def _check_connections(document: Document, environ: Mapping[str, str]) -> None:
    """Check the clusters whose keys are right: their client properties, and what needs `unsafe`."""

    def resolved(value: str) -> str:
        try:
            return secrets.resolve(value, environ)
        except ConfigError:  # reported already
            return value

    for table_path, table, model in document.tables():
        if model is not ClusterSettings:
            continue
        try:
            cluster = ClusterSettings.model_validate(table)
        except ValidationError:  # reported already
            continue
        for path, message in client_tables.problems(cluster, resolved):
            document.problem((*table_path, *path), message)


def _flatten_properties(document: Document) -> None:
    """Flatten property tables to one level of dotted names, however they were written."""
    for path, table, model in document.tables():
        for key in model.model_fields:
            if not is_property_table(model, key) or not isinstance(table.get(key), dict):
                continue
            if path[0] == "clusters" and key == "properties":
                _move_client_tables(document, path, table)
            table[key], twice = flatten(table[key])
            for name in twice:
                document.problem((*path, key, name), "given twice, dotted and quoted")


def _move_client_tables(document: Document, path: KeyPath, cluster: dict[str, Any]) -> None:
    """[clusters.x.properties.consumer] is another spelling of [clusters.x.consumer]."""
    for key in CLIENT_TABLES[1:]:
        if not isinstance(cluster["properties"].get(key), dict):
            continue
        if key in cluster:
            document.problem((*path, "properties", key), f"given twice, also as [clusters.{path[1]}.{key}]")
        cluster.setdefault(key, cluster["properties"].pop(key))


def _resolve_references(document: Document, environ: Mapping[str, str]) -> None:
    """Resolve references in settings; in properties and filters' configs, only try to resolve them.

    Client properties travel to executors in Spark plans, which other users can read, and the page shows all
    properties. So references stay in them until a client is created, or Spark is started.
    """
    for path, table, model in document.tables():
        for key, value in table.items():
            if (key in NESTED and model is MirrorSettings) or key in inner_tables(model):
                continue  # these are tables of their own
            if resolves_late(model, key) or (key == "config" and model is FilterSettings):
                _resolved(document, (*path, key), value, environ)
            elif not is_property_table(model, key):
                before = len(document.problems)
                resolved = _resolved(document, (*path, key), value, environ, LONGEST_RESOLVED)
                if len(document.problems) > before:
                    document.broken.add((*path, key))
                if isinstance(value, str) and resolved is not value:
                    resolved = typed(resolved, model, key)
                table[key] = resolved
            elif isinstance(value, dict):
                for name in value:
                    _resolved(document, (*path, key, name), value[name], environ)
                    if name in JVM_OPTIONS and (*path, key, name) in document.hidden:
                        document.problem((*path, key, name), _ON_COMMAND_LINE)


def _resolved(
    document: Document, path: KeyPath, value: Any, environ: Mapping[str, str], longest: int | None = None
) -> Any:
    if isinstance(value, list):
        return [_resolved(document, (*path, i), each, environ, longest) for i, each in enumerate(value)]
    if isinstance(value, dict):
        return {
            name: _resolved(document, (*path, name), each, environ, longest) for name, each in value.items()
        }
    if not isinstance(value, str) or not secrets.has_reference(value):
        return value
    document.hidden.add(path)
    try:
        resolved = secrets.resolve(value, environ)
    except ConfigError as error:
        document.problem(path, error.what)
        return value
    if longest is not None and len(resolved) > longest:
        document.problem(path, f"what its references stand for is larger than {longest // 1024} KiB")
        return value
    return resolved
