"""A permission on a Kafka cluster, and the `kafka-acls.sh` line that grants it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Resource = Literal["topic", "group", "cluster", "transactional-id"]
Operation = Literal["READ", "WRITE", "CREATE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS"]

UNKNOWN_PRINCIPAL = "User:…"
"""Stands for a principal that the settings do not show."""

_CLUSTER = "kafka-cluster"
_IMPLY_DESCRIBE = ("READ", "WRITE", "ALTER")


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """One operation on a resource, or on all resources whose names begin with `name`, if it is a prefix."""

    resource: Resource
    name: str
    operation: Operation
    prefix: bool = False

    def __str__(self) -> str:
        return f"{self.operation} on {self.where}"

    @property
    def where(self) -> str:
        if self.resource == "cluster":
            return "the cluster"
        kind = "transactional id" if self.resource == "transactional-id" else self.resource
        if self.everything:
            return f"every {kind}"
        return f"{kind}s that begin with {self.name}" if self.prefix else f"{kind} {self.name}"

    @property
    def everything(self) -> bool:
        return self.name == "*" and not self.prefix

    @property
    def pattern(self) -> tuple[Resource, str, bool]:
        """What `kafka-acls.sh` grants in one line, with several operations."""
        return self.resource, self.name, self.prefix

    def on(self, name: str) -> Permission:
        """The same operation on one resource."""
        return Permission(self.resource, name, self.operation)

    def includes(self, name: str) -> bool:
        """Whether it is about the resource of this name."""
        return self.everything or name == self.name or (self.prefix and name.startswith(self.name))

    def covers(self, other: Permission) -> bool:
        """Whether whoever has this permission needs no grant of the other one."""
        if self.resource != other.resource:
            return False
        implied = other.operation == "DESCRIBE" and self.operation in _IMPLY_DESCRIBE
        if self.operation != other.operation and not implied:
            return False
        if self.everything or (self.prefix and other.name.startswith(self.name)):
            return True
        return self.pattern == other.pattern


@dataclass(frozen=True, slots=True)
class RequiredPermission:
    """What a mirror needs a permission for."""

    permission: Permission
    purpose: str
    without: str = ""  # what is lost without it, if the mirror runs all the same


def on_cluster(operation: Operation) -> Permission:
    return Permission("cluster", _CLUSTER, operation)


def on_topic(name: str, operation: Operation) -> Permission:
    return Permission("topic", name, operation)


def grant_line(
    permissions: Iterable[Permission], principal: str = UNKNOWN_PRINCIPAL, options: str = ""
) -> str:
    """The command that grants permissions on one resource to a principal, quoted for a shell.

    `options` name the cluster and the administrator's login, already quoted.
    """
    wanted = list(dict.fromkeys(permissions))
    first = wanted[0]
    assert all(one.pattern == first.pattern for one in wanted)
    parts = [
        "kafka-acls.sh",
        *([options] if options else []),
        "--add",
        "--allow-principal",
        _quoted(principal),
    ]
    for permission in wanted:
        parts += ["--operation", "".join(word.capitalize() for word in permission.operation.split("_"))]
    parts.append(f"--{first.resource}")
    if first.resource != "cluster":
        parts.append(shlex.quote(first.name))
    if first.prefix:
        parts += ["--resource-pattern-type", "prefixed"]
    return " ".join(parts)


def _quoted(principal: str) -> str:
    return principal if principal == UNKNOWN_PRINCIPAL else shlex.quote(principal)
