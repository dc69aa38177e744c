"""Each permission that a mirror lacks is named: by `check`, and by the mirror while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from causeway.config import load_text
from causeway.core.permission import Permission, RequiredPermission, on_topic
from causeway.planning.permissions import demands
from causeway.planning.rules.permissions import least
from support.acls import parsed
from support.least_privilege import LeastPrivilege, renamed
from support.process import Causeway
from support.secure_cluster import SecureCluster
from support.world import World

MIRROR = "least"
SETTINGS = {"on_poison": "quarantine", "shards": 1, "refresh": "1s", "slice": "5s"}
CONFIG = f"""
[clusters.src]
bootstrap_servers = "s:1"
[clusters.dst]
bootstrap_servers = "d:1"
[[mirrors]]
name = "{MIRROR}"
source = "src"
destination = "dst"
topics = ["{MIRROR}.named", "{MIRROR}\\\\.more.*"]
on_poison = "quarantine"
"""


def required() -> dict[tuple[str, Permission], RequiredPermission]:
    """Everything that is printed for such a mirror, by side."""
    settings = load_text(CONFIG)
    return {
        (need.side, one.permission): one
        for needs in demands(settings, settings.mirrors).values()
        for need in needs
        for group in least(need.required)
        for one in group
    }


REQUIRED = required()
SIGNIFICANT = {
    ("source", on_topic(f"{MIRROR}.named", "READ")),
    ("source", Permission("group", f"causeway.{MIRROR}", "READ")),
    ("destination", Permission("topic", f"{MIRROR}.more", "WRITE", prefix=True)),
    ("destination", on_topic(f"__causeway.{MIRROR}.ledger", "WRITE")),
    ("destination", Permission("transactional-id", f"causeway.{MIRROR}.", "WRITE", prefix=True)),
    ("destination", Permission("cluster", "kafka-cluster", "DESCRIBE_CONFIGS")),
}
"""The others are deep."""


def test_the_significant_ones_are_printed() -> None:
    assert REQUIRED.keys() >= SIGNIFICANT


@dataclass(frozen=True)
class Mirrored:
    """A mirror that has run under what is printed."""

    least: LeastPrivilege
    config: Path
    granted: dict[str, set[Permission]]

    @property
    def topics(self) -> list[str]:
        return [self.least.world.name("named"), self.least.world.name("more")]


@pytest.fixture(scope="module")
def mirrored(
    secure: SecureCluster, secure_destination: SecureCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mirrored]:
    world = World(secure.cluster, secure_destination.cluster, tmp_path_factory.mktemp("least"))
    privilege = LeastPrivilege(world, secure, secure_destination)
    config = world.config([world.name("named"), rf"{world.mirror}\.more.*"], **SETTINGS)
    granted = privilege.grant(config)
    for suffix in ("named", "more"):
        world.produce(world.topic(suffix), world.numbers(10))
    privilege.until_complete(config)
    world.carry_all(config)
    yield Mirrored(privilege, config, granted)
    world.close()


def of(mirrored: Mirrored, side: str, permission: Permission) -> tuple[Permission, list[Permission]]:
    """The permission by this mirror's names, and those that grant it."""
    wanted = renamed(permission, {MIRROR: mirrored.least.world.mirror})
    return wanted, [one for one in mirrored.granted[side] if one.covers(wanted)]


@pytest.mark.parametrize(
    ("side", "permission"),
    [
        pytest.param(*key, marks=[] if key in SIGNIFICANT else pytest.mark.deep, id=f"{key[0]}: {key[1]}")
        for key in REQUIRED
    ],
)
def test_check_names_a_permission_that_is_missing(
    mirrored: Mirrored, side: str, permission: Permission
) -> None:
    privilege, config = mirrored.least, mirrored.config
    wanted, covering = of(mirrored, side, permission)
    assert wanted in covering
    privilege.take(side, covering)
    try:
        remark = privilege.until_named(config, side, wanted)
        feature = REQUIRED[side, permission].without
        assert (remark.level, feature in remark.what) == ("warning" if feature else "problem", True)
        principal, grants = parsed(remark.todo)
        assert (principal, wanted in grants) == (privilege.principals[side], True)
        privilege.acls[side].paste(remark.todo)
    finally:
        privilege.give(side, covering)
    privilege.until_complete(config)


RUNNING = {
    ("source", on_topic(f"{MIRROR}.named", "READ")): (f"{MIRROR}.named[0]", "Topic authorization failed"),
    ("destination", on_topic(f"{MIRROR}.named", "WRITE")): (f"{MIRROR}.named", "no WRITE permission"),
    ("destination", on_topic(f"__causeway.{MIRROR}.ledger", "WRITE")): (
        f"no WRITE permission for __causeway.{MIRROR}.ledger",
    ),
    ("destination", Permission("transactional-id", f"causeway.{MIRROR}.", "WRITE", prefix=True)): (
        "Transactional Id authorization failed",
    ),
}
"""What a line of the mirror's output says where one of these is taken away."""


def test_a_running_mirror_says_what_it_lacks_and_goes_on(mirrored: Mirrored) -> None:
    world = mirrored.least.world
    run = world.run(mirrored.config)
    _goes_on(mirrored, run)
    for side, permission in RUNNING:
        _lacks_for_a_while(mirrored, run, side, permission)
    assert run.stop() == 0, run.output
    world.assert_mirrored(*mirrored.topics)


def _lacks_for_a_while(mirrored: Mirrored, run: Causeway, side: str, permission: Permission) -> None:
    privilege, world = mirrored.least, mirrored.least.world
    said = [part.replace(MIRROR, world.mirror) for part in RUNNING[side, permission]]
    _, covering = of(mirrored, side, permission)
    before = len(run.output)

    def says_it() -> bool:
        lines = run.output[before:].splitlines()
        return any(all(part in line for part in said) for line in lines)

    privilege.take(side, covering)
    try:
        _produce(mirrored)
        run.until(says_it, f"it says {said}")
    finally:
        privilege.give(side, covering)
    _goes_on(mirrored, run)


def _produce(mirrored: Mirrored) -> None:
    for topic in mirrored.topics:
        mirrored.least.world.produce(topic, mirrored.least.world.numbers(10))


def _goes_on(mirrored: Mirrored, run: Causeway) -> None:
    """New records are replicated, and all that were produced before."""
    world = mirrored.least.world
    _produce(mirrored)
    produced = sum(world.count(topic, "source") for topic in mirrored.topics)
    run.until(lambda: world.carried() == produced, "everything is replicated")
