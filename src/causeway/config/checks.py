"""Checks across tables: mirrors name clusters that exist, and have different names.

Works on the raw tree, not on finished settings, so that these problems are listed together with those
of the schema. Values of the wrong type are skipped: the schema reports them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from causeway.config.config_tree import Document, KeyPath, dotted, shown
from causeway.config.problems import nearest


def cross_check(document: Document) -> None:
    mirrors = [(path, table) for path, table, _ in document.tables() if path[0] == "mirrors"]
    for path, mirror in mirrors:
        _check_clusters(document, path, mirror)
    _check_names(document, mirrors)


def _check_clusters(document: Document, path: KeyPath, mirror: dict[str, Any]) -> None:
    clusters = document.tree.get("clusters")
    sources = list(_sources(path, mirror))
    destination = mirror.get("destination")
    aliases = [*sources, ((*path, "destination"), destination)]
    if isinstance(clusters, dict):  # otherwise one problem covers all
        for at, alias in aliases:
            if isinstance(alias, str) and alias not in clusters:
                document.problem(
                    at, f"there is no cluster{_quoted(document, at, alias)}{nearest(alias, clusters)}"
                )
    for index, (at, alias) in enumerate(sources):
        if alias in [earlier for _, earlier in sources[:index]]:
            document.problem(at, f"cluster{_quoted(document, at, alias)} is named twice")
    per_source = mirror.get("per_source")
    for alias in per_source if isinstance(per_source, dict) else ():
        if alias not in [source for _, source in sources]:
            names = [source for _, source in sources]
            document.problem(
                (*path, "per_source", alias), f"is not a source of this mirror{nearest(alias, names)}"
            )


def _check_names(document: Document, mirrors: list[tuple[KeyPath, dict[str, Any]]]) -> None:
    taken: dict[str, tuple[KeyPath, str]] = {}
    for path, mirror in mirrors:
        name, at = mirror.get("name"), (*path, "name")
        if not isinstance(name, str):
            continue
        # The name becomes part of topic names, in which Kafka treats "." and "_" as the same.
        first, other = taken.setdefault(name.replace(".", "_"), (path, name))
        if first != path:
            quoted = _quoted(document, at, name)
            collision = "" if name == other else ': "." and "_" are the same in Kafka\'s topic names'
            document.problem(at, f"{dotted(first)} already has the name{quoted}{collision}")


def _sources(path: KeyPath, mirror: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    source = mirror.get("source")
    if isinstance(source, str):
        yield (*path, "source"), source
    for index, alias in enumerate(source if isinstance(source, list) else ()):
        if isinstance(alias, str):
            yield (*path, "source", index), alias


def _quoted(document: Document, at: KeyPath, name: str) -> str:
    return f" {shown(name)}" if document.may_show(at) else ""
