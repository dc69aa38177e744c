"""Permissions on a cluster whose brokers check them: granted and revoked by the lines that people paste."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from causeway.core.permission import Permission

CLUSTER = "kafka-cluster"
_KINDS = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.BROKER,
}


class Acls:
    """Changes a cluster's permissions, as a user who may."""

    def __init__(self, servers: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})

    def grant_everything(self, principal: str) -> None:
        names = {kind: CLUSTER if kind is ResourceType.BROKER else "*" for kind in _KINDS.values()}
        self._create(
            AclBinding(
                kind,
                name,
                ResourcePatternType.LITERAL,
                principal,
                "*",
                AclOperation.ALL,
                AclPermissionType.ALLOW,
            )
            for kind, name in names.items()
        )

    def grant(self, principal: str, permissions: Iterable[Permission]) -> None:
        self._create(_binding(principal, permission) for permission in permissions)

    def paste(self, line: str) -> None:
        """Do what `kafka-acls.sh` does with this line."""
        principal, permissions = parsed(line)
        self.grant(principal, permissions)

    def take(self, principal: str, permission: Permission | None = None) -> None:
        """Take one permission away, or all."""
        if permission is None:
            wanted = AclBindingFilter(
                ResourceType.ANY, None, ResourcePatternType.ANY, principal, None, AclOperation.ANY,
                AclPermissionType.ANY,
            )  # fmt: skip
        else:
            found = _binding(principal, permission)
            wanted = AclBindingFilter(
                found.restype, found.name, found.resource_pattern_type, principal, None, found.operation,
                AclPermissionType.ALLOW,
            )  # fmt: skip
        taken = list(_results(self._admin.delete_acls([wanted])))
        assert taken[0], f"{principal} had no {permission}"

    def _create(self, bindings: Iterable[AclBinding]) -> None:
        list(_results(self._admin.create_acls(list(bindings))))


def parsed(line: str) -> tuple[str, list[Permission]]:
    """Principal and permissions of a `kafka-acls.sh` line."""
    program, *arguments = shlex.split(line)
    assert program == "kafka-acls.sh"
    parser = argparse.ArgumentParser(exit_on_error=False)
    for option in ("--bootstrap-server", "--command-config", "--allow-principal"):
        parser.add_argument(option, required=True)
    parser.add_argument("--add", action="store_true", required=True)
    parser.add_argument("--operation", action="append", required=True)
    parser.add_argument("--resource-pattern-type", choices=["literal", "prefixed"], default="literal")
    for kind in ("topic", "group", "transactional-id"):
        parser.add_argument(f"--{kind}")
    parser.add_argument("--cluster", action="store_const", const=CLUSTER)
    options = vars(parser.parse_args(arguments))
    ((kind, name),) = [
        (kind, options[kind.replace("-", "_")])
        for kind in _KINDS
        if options[kind.replace("-", "_")] is not None
    ]
    prefix = options["resource_pattern_type"] == "prefixed"
    operations = ["_".join(_words(operation)).upper() for operation in options["operation"]]
    return options["allow_principal"], [
        Permission(kind, name, operation, prefix=prefix)  # type: ignore[arg-type]
        for operation in operations
    ]


def _words(name: str) -> list[str]:
    """DescribeConfigs → Describe, Configs."""
    return "".join(f" {char}" if char.isupper() else char for char in name).split()


def _binding(principal: str, permission: Permission) -> AclBinding:
    return AclBinding(
        _KINDS[permission.resource],
        permission.name,
        ResourcePatternType.PREFIXED if permission.prefix else ResourcePatternType.LITERAL,
        principal,
        "*",
        AclOperation[permission.operation],
        AclPermissionType.ALLOW,
    )


def _results(futures: dict[Any, Future[Any]]) -> Iterable[Any]:
    for future in futures.values():
        yield future.result()
