"""What each cluster of a configuration must permit, to which principal; and the lines that grant it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from causeway.config import MirrorSettings, Settings, secrets
from causeway.config.client_tables import client_tables
from causeway.config.schema import ClusterSettings
from causeway.core.permission import UNKNOWN_PRINCIPAL, RequiredPermission, grant_line
from causeway.errors import UsageError
from causeway.planning.rules.naming import destination_name
from causeway.planning.rules.permissions import destination_permissions, least, source_permissions
from causeway.planning.rules.selection import select
from causeway.rules.timings import timings_topic

_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_ADMINISTRATOR = "admin.properties"

VisibleTopics = Callable[[str], Collection[str]]
"""The topics of the cluster with this alias, as far as they can be seen."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a mirror needs on one cluster: as its source, or as its destination."""

    mirror: str
    side: str  # "source" or "destination"
    required: tuple[RequiredPermission, ...]
    topics: frozenset[str] = frozenset()  # of those that exist on the source: their names on this cluster


def nodes_of(settings: Settings, alias: str) -> Sequence[str]:
    """The aliases of the clusters that a source consists of."""
    return settings.pools[alias].nodes if alias in settings.pools else [alias]


def demands(
    settings: Settings, mirrors: Iterable[MirrorSettings], names: VisibleTopics = lambda _: ()
) -> dict[str, list[Demand]]:
    """What the mirrors need on each cluster, by its alias. Needs no cluster, except for `names`."""
    by_cluster: dict[str, list[Demand]] = {}
    for mirror in mirrors:
        written: set[str] = set()
        for alias in mirror.source:
            own, required = mirror.for_source(alias), tuple(source_permissions(mirror, alias))
            for node in nodes_of(settings, alias):
                topics = frozenset(select(names(node), own.topics, own.exclude))
                written |= _written(mirror, own, topics)
                by_cluster.setdefault(node, []).append(Demand(mirror.name, "source", required, topics))
        required = tuple(destination_permissions(mirror))
        demand = Demand(mirror.name, "destination", required, frozenset(written))
        by_cluster.setdefault(mirror.destination, []).append(demand)
    return by_cluster


def _written(mirror: MirrorSettings, own: MirrorSettings, topics: Iterable[str]) -> set[str]:
    """The topics that the mirror writes to for these source topics."""
    names = {name: destination_name(name, own.prefix, own.suffix, own.rename) for name in topics}
    timings = {timings_topic(*pair) for pair in names.items()} if mirror.timings == "topic" else set()
    return {*names.values(), *timings} - {""}


def principal_of(cluster: ClusterSettings) -> str | None:
    """The principal as brokers name it by default, if the settings show it: a user with a password."""
    properties = client_tables(cluster).properties
    user = properties.get("sasl.username")
    secured = properties.get("security.protocol", "").upper().startswith("SASL")
    if not (secured and user and properties.get("sasl.mechanism", "").upper() in _PASSWORDS):
        return None
    return f"User:{secrets.resolve(user)}"


def granting(cluster: ClusterSettings, required: Iterable[RequiredPermission], principal: str = "") -> str:
    """The line that grants these permissions on one resource."""
    options = f"--bootstrap-server {shlex.quote(_address(cluster))} --command-config {_ADMINISTRATOR}"
    known = principal or principal_of(cluster) or UNKNOWN_PRINCIPAL
    return grant_line((one.permission for one in required), known, options)


def acl_lines(
    settings: Settings, mirrors: Sequence[MirrorSettings], principals: Mapping[str, str]
) -> Iterator[str]:
    """The least set for each cluster, as lines for a shell. `principals` are by alias of cluster or pool."""
    wanted = demands(settings, mirrors)
    by_cluster = _principals(settings, wanted, principals)
    yield f"# {_ADMINISTRATOR}: the login of a user who may change ACLs, as the Java client's properties"
    for alias, needs in wanted.items():
        cluster = settings.clusters[alias]
        roles = ", ".join(dict.fromkeys(f"{need.side} of mirror {need.mirror}" for need in needs))
        yield ""
        yield f'# cluster "{alias}": {roles}'
        said: list[str] = []
        for required in least(one for need in needs for one in need.required):
            comment = ["# " + "; ".join(dict.fromkeys(one.purpose for one in required))]
            if without := "; ".join(dict.fromkeys(one.without for one in required)):
                comment.append(f"#   optional; without it: {without}")
            yield from comment if comment != said else ()
            said = comment
            yield granting(cluster, required, by_cluster[alias])


def _principals(settings: Settings, aliases: Collection[str], given: Mapping[str, str]) -> dict[str, str]:
    """The principal on each cluster. Raises UsageError where one is not known, or is for no cluster."""
    known = dict.fromkeys([*settings.pools, *aliases])
    if foreign := [alias for alias in given if alias not in known]:
        raise UsageError(
            f"--principal {foreign[0]}=…: the mirrors have no cluster and no pool of this name",
            todo=f"name one of them: {', '.join(known)}",
        )
    found: dict[str, str] = {}
    for alias in aliases:
        pool = next((name for name in settings.pools if alias in nodes_of(settings, name)), "")
        principal = given.get(alias) or given.get(pool) or principal_of(settings.clusters[alias])
        if principal:
            found[alias] = principal
    if missing := [alias for alias in aliases if alias not in found]:
        raise UsageError(
            f"the settings do not show the principal on {', '.join(missing)}",
            why="only user names of PLAIN and SCRAM are principals; brokers make the others from certificates"
            " and tokens",
            todo=" ".join(f"--principal {alias}=User:NAME" for alias in missing),
        )
    return found


def _address(cluster: ClusterSettings) -> str:
    return secrets.redact("bootstrap.servers", secrets.resolve(cluster.bootstrap_servers))
