"""Which permissions a user lacks, as far as the cluster tells: what to ask, and what the responses mean.

A permission on names that begin with something is asked for on each topic that the mirror replicates, and on
a name that no topic has: topics that appear later need it too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from causeway.core.permission import Permission, RequiredPermission

PROBE = "causeway-check"
"""The end of a name that no topic has."""

LATER = "topics of such names that appear later are not replicated"

Granted = Mapping[Permission, bool | None]
"""Whether the user has each permission on a single resource; None where a cluster does not tell."""


@dataclass(frozen=True, slots=True)
class LackingPermission:
    """A permission that the user lacks, or of which the cluster does not tell."""

    required: RequiredPermission  # `without` is empty if the mirror cannot run
    names: tuple[str, ...] = ()  # of topics, where it was found to be missing


@dataclass(frozen=True, slots=True)
class PermissionVerdict:
    missing: tuple[LackingPermission, ...] = ()
    unknown: tuple[LackingPermission, ...] = ()


def questions(required: RequiredPermission, topics: Collection[str]) -> set[Permission]:
    """The permissions on single resources that stand for this one, where these topics are replicated."""
    permission = required.permission
    if _single(permission):
        return {permission}
    return {_probe(permission), *_on_each(permission, topics)}


def judge(
    wanted: Iterable[tuple[RequiredPermission, Collection[str]]], granted: Granted, absent: Collection[str]
) -> PermissionVerdict:
    """Compare what is required, and for which topics, with what is granted; `absent` topics do not exist."""
    missing, unknown = [], []
    for required, topics in wanted:
        verdict, lacking = _judge(required, topics, granted)
        if verdict is False:
            created = required.permission.operation == "CREATE" and any(
                name in absent for name in lacking.names
            )
            must = replace(lacking.required, without="") if created else lacking.required
            missing.append(replace(lacking, required=must))
        elif verdict is None:
            unknown.append(lacking)
    cannot_run = {one.required.permission for one in missing if not one.required.without}
    shown = [one for one in missing if not one.required.without or one.required.permission not in cannot_run]
    return PermissionVerdict(tuple(shown), tuple(unknown))


def _judge(
    required: RequiredPermission, topics: Collection[str], granted: Granted
) -> tuple[bool | None, LackingPermission]:
    permission = required.permission
    if _single(permission):
        return granted.get(permission), LackingPermission(required, (permission.name,))
    on_each = {one.name: granted.get(one) for one in _on_each(permission, topics)}
    names = tuple(name for name, verdict in on_each.items() if verdict is False)
    if names:
        return False, LackingPermission(required, names)
    probed = granted.get(_probe(permission))
    if on_each and probed is False:
        return False, LackingPermission(replace(required, without=required.without or LATER))
    if on_each:
        return (None if None in on_each.values() else True), LackingPermission(required)
    return probed, LackingPermission(required)


def _single(permission: Permission) -> bool:
    """Of the other resources, one stands for all."""
    return permission.resource != "topic" or not (permission.prefix or permission.everything)


def _probe(permission: Permission) -> Permission:
    return permission.on(PROBE if permission.everything else permission.name + PROBE)


def _on_each(permission: Permission, topics: Collection[str]) -> list[Permission]:
    return [permission.on(name) for name in sorted(topics) if permission.includes(name)]
