"""A mirror whose principals have what `causeway check --print-acls` prints, and nothing else."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from causeway.core.permission import Permission
from support.acls import Acls, parsed
from support.process import eventually
from support.secure_cluster import SecureCluster
from support.typed import causeway
from support.world import ALIASES, World

MECHANISM = "SCRAM-SHA-256"
SIDES = ("source", "destination")


class PermissionRemark(NamedTuple):
    """What `causeway check` says of permissions on a cluster."""

    level: str
    what: str
    todo: str


class LeastPrivilege:
    """A principal of its own on each side; a test's mirrors use them, the test itself needs none."""

    def __init__(self, world: World, source: SecureCluster, destination: SecureCluster) -> None:
        self.world = world
        clusters = dict(zip(SIDES, (source, destination), strict=True))
        self.acls: dict[str, Acls] = {side: cluster.acls for side, cluster in clusters.items()}
        self.principals: dict[str, str] = {}
        self._sides: dict[str, str] = {}  # by address
        for side, cluster in clusters.items():
            user, password = f"{side}-{uuid.uuid4().hex[:8]}", f"pw-{uuid.uuid4().hex}"
            cluster.cluster.set_scram_user(MECHANISM, user, password)
            self.principals[side] = f"User:{user}"
            login = cluster.login(MECHANISM, user, password, tls=False)
            self._sides[login["bootstrap.servers"]] = side
            world.logins = {**world.logins, side: login}

    def printed(self, config: Path) -> list[str]:
        """The lines that people paste."""
        ended = causeway("check", config, "--print-acls")
        assert ended.returncode == 0, ended.stderr
        return [line for line in ended.stdout.splitlines() if line and not line.startswith("#")]

    def grant(self, config: Path) -> dict[str, set[Permission]]:
        """Paste the lines; returns what they grant on each side."""
        granted: dict[str, set[Permission]] = {side: set() for side in SIDES}
        for line in self.printed(config):
            side = self._side_of(line)
            principal, permissions = parsed(line)
            assert principal == self.principals[side]
            granted[side].update(permissions)
            self.acls[side].paste(line)
        return granted

    def take(self, side: str, permissions: Iterable[Permission]) -> None:
        for permission in permissions:
            self.acls[side].take(self.principals[side], permission)

    def give(self, side: str, permissions: Iterable[Permission]) -> None:
        self.acls[side].grant(self.principals[side], permissions)

    def remarks(self, config: Path, side: str) -> list[PermissionRemark]:
        """What `causeway check` says the principal of this side lacks."""
        return [one for one in self._section(config, side) if " lacks " in one.what]

    def check(self, config: Path) -> dict[str, Any]:
        ended = causeway("check", config, "-o", "json")
        assert ended.stdout, ended.stderr
        report: dict[str, Any] = json.loads(ended.stdout)
        assert report["exit_code"] == ended.returncode
        return report

    def until_complete(self, config: Path) -> None:
        """Wait until brokers have applied what was granted: check names nothing that is missing."""
        eventually(
            lambda: not any(self.remarks(config, side) for side in SIDES), "nothing is missing any more", 30
        )

    def until_named(self, config: Path, side: str, permission: Permission) -> PermissionRemark:
        """Wait until brokers have applied what was taken: check names it. Returns the remark."""
        wanted = f"{permission.where}"

        def named() -> list[PermissionRemark]:
            return [
                one
                for one in self.remarks(config, side)
                if permission.operation in _operations(one.what) and wanted in one.what
            ]

        eventually(named, f"check names {permission}", 30)
        return named()[0]

    def _section(self, config: Path, side: str) -> list[PermissionRemark]:
        (section,) = [
            section
            for section in self.check(config)["sections"]
            if (section["kind"], section["name"]) == ("cluster", ALIASES[side])
        ]
        return [PermissionRemark(one["level"], one["what"], one["todo"]) for one in section["remarks"]]

    def _side_of(self, line: str) -> str:
        (side,) = [side for address, side in self._sides.items() if f"--bootstrap-server {address} " in line]
        return side


def _operations(what: str) -> list[str]:
    """Those that a remark names: "User:x lacks READ and WRITE on topic a: …"."""
    return what.partition(" lacks ")[2].partition(" on ")[0].split(" and ")


def renamed(permission: Permission, names: Mapping[str, str]) -> Permission:
    """The same permission of another mirror."""
    name = permission.name
    for old, new in names.items():
        name = name.replace(old, new)
    return Permission(permission.resource, name, permission.operation, permission.prefix)
