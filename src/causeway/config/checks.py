"""Checks across tables: mirrors and pools name clusters that exist, and mirrors have different names.

Works on the raw tree, not on finished settings, so that these problems are listed together with those
of the schema. Values of the wrong type are skipped: the schema reports them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from causeway.config.config_tree import Document, KeyPath, dotted, shown
from causeway.config.observability import TOKEN_CHARACTERS, WebSettings, is_loopback
from causeway.config.problems import nearest


def cross_check(document: Document) -> None:
    mirrors = [
        (path, table) for path, table, _ in document.tables() if path[0] == "mirrors" and len(path) == 2
    ]
    pools = {str(path[1]): table for path, table, _ in document.tables() if path[0] == "pools"}
    for name, pool in pools.items():
        _check_pool(document, name, pool)
    for path, mirror in mirrors:
        _check_clusters(document, path, mirror, pools)
        _check_nodes(document, path, mirror, pools)
        _check_registries(document, path, mirror)
    _check_names(document, mirrors)
    _check_web(document)


def _check_pool(document: Document, name: str, pool: dict[str, Any]) -> None:
    path: KeyPath = ("pools", name)
    clusters = document.tree.get("clusters")
    nodes = list(_aliases((*path, "nodes"), pool.get("nodes")))
    if isinstance(clusters, dict):
        if name in clusters:
            document.problem(path, "is the alias of a cluster as well: mirrors could mean either")
        for at, alias in nodes:
            _check_exists(document, at, alias, clusters, "cluster")
    _check_once(document, nodes, {})


def _check_clusters(
    document: Document, path: KeyPath, mirror: dict[str, Any], pools: Mapping[str, Any]
) -> None:
    clusters = document.tree.get("clusters")
    sources = list(_aliases((*path, "source"), mirror.get("source")))
    destination, to = mirror.get("destination"), (*path, "destination")
    if isinstance(clusters, dict):  # otherwise one problem covers all
        for at, alias in sources:
            _check_exists(document, at, alias, [*clusters, *pools], "cluster or pool" if pools else "cluster")
        if isinstance(destination, str) and destination in pools and destination not in clusters:
            quoted = _quoted(document, to, destination)
            document.problem(to, f"must be a cluster:{quoted} is a pool, and pools are sources")
        elif isinstance(destination, str):
            _check_exists(document, to, destination, clusters, "cluster")
    _check_once(document, sources, pools)
    per_source = mirror.get("per_source")
    for alias in per_source if isinstance(per_source, dict) else ():
        if alias not in [source for _, source in sources]:
            names = [source for _, source in sources]
            document.problem(
                (*path, "per_source", alias), f"is not a source of this mirror{nearest(alias, names)}"
            )


def _check_nodes(document: Document, path: KeyPath, mirror: dict[str, Any], pools: Mapping[str, Any]) -> None:
    """A cluster has one part in a mirror: otherwise the mirror would read its records twice, or its own."""
    read_by: dict[str, str] = {}
    for at, source in _aliases((*path, "source"), mirror.get("source")):
        members = [source]
        if source in pools:
            members = [alias for _, alias in _aliases((), pools[source].get("nodes"))]
        for alias in members:
            other = read_by.setdefault(alias, source)
            if other != source:
                both = f"{_part(source, pools)} and {_part(other, pools)}"
                document.problem(at, f"cluster{_quoted(document, at, alias)} is {both}")
        to = (*path, "destination")
        if source in pools and mirror.get("destination") in members:
            document.problem(to, f"is {_part(source, pools)}, which is a source of this mirror")


def _check_registries(document: Document, path: KeyPath, mirror: dict[str, Any]) -> None:
    """A mirror that copies schemas has a registry on each side: the one it names, or the one of the alias."""
    schemas, registries = mirror.get("schemas"), document.tree.get("registries", {})
    if not isinstance(schemas, dict) or not isinstance(registries, dict):
        return
    for side in ("source", "destination"):
        named, at = schemas.get(side), (*path, "schemas", side)
        if isinstance(named, str) and named:
            _check_exists(document, at, named, registries, "registry")
        elif schemas.get("mode") == "copy" and named in (None, ""):
            for alias_at, alias in _aliases((*path, side), mirror.get(side)):
                if alias not in registries:
                    quoted = _quoted(document, alias_at, alias)
                    document.problem(at, f"there is no [registries] table with the alias{quoted}: name one")


def _part(source: str, pools: Mapping[str, Any]) -> str:
    return f"a node of the pool {shown(source)}" if source in pools else "a source itself"


def _check_exists(document: Document, at: KeyPath, alias: str, known: Collection[str], what: str) -> None:
    if alias not in known:
        document.problem(at, f"there is no {what}{_quoted(document, at, alias)}{nearest(alias, known)}")


def _check_once(document: Document, aliases: Sequence[tuple[KeyPath, str]], pools: Mapping[str, Any]) -> None:
    for index, (at, alias) in enumerate(aliases):
        if alias in [earlier for _, earlier in aliases[:index]]:
            kind = "pool" if alias in pools else "cluster"
            document.problem(at, f"{kind}{_quoted(document, at, alias)} is named twice")


def _check_web(document: Document) -> None:
    """Other machines, and other users where it is private, need the token."""
    web, metrics = (
        found if isinstance(found := document.tree.get(name), dict) else {} for name in ("web", "metrics")
    )
    if web.get("enabled") is False:
        return
    host, token = web.get("host", WebSettings().host), web.get("token", "")
    if not isinstance(host, str) or not isinstance(token, str):
        return
    remedy = 'set `token = "${env:CAUSEWAY_TOKEN}"` under [web]'
    if web.get("private") is True and not token:
        document.problem(("web", "private"), f"needs a token: {remedy}")
    if is_loopback(host):
        return
    if token and len(token) < TOKEN_CHARACTERS:
        needed = f"must have at least {TOKEN_CHARACTERS} characters, as other machines could guess it"
        document.problem(("web", "token"), needed)
    if not token and metrics.get("public") is not True:
        document.problem(("web", "host"), f"other machines are served with a token only: {remedy}")
    other = metrics.get("token")
    if isinstance(other, str) and 0 < len(other) < TOKEN_CHARACTERS:
        document.problem(("metrics", "token"), f"must have at least {TOKEN_CHARACTERS} characters")


def _check_names(document: Document, mirrors: Sequence[tuple[KeyPath, dict[str, Any]]]) -> None:
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


def _aliases(path: KeyPath, value: object) -> Iterator[tuple[KeyPath, str]]:
    """One alias, or a list of them, with their paths."""
    if isinstance(value, str):
        yield path, value
    for index, alias in enumerate(value if isinstance(value, list) else ()):
        if isinstance(alias, str):
            yield (*path, index), alias


def _quoted(document: Document, at: KeyPath, name: str) -> str:
    return f" {shown(name)}" if document.may_show(at) else ""
