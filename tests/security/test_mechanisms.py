"""Whole mirrors under each mechanism, on both sides: everything arrives, in both carriers."""

from __future__ import annotations

import pytest

from support.secure_cluster import SecureCluster
from support.world import World

FAMILIES = ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER", "mTLS"]


def login(cluster: SecureCluster, mechanism: str) -> dict[str, str]:
    if mechanism == "mTLS":
        return cluster.mutual_tls()
    return cluster.login(mechanism, *cluster.user(mechanism))


@pytest.mark.parametrize("mechanism", FAMILIES)
def test_a_mirror_with_both_sides_secured(
    secure_world: World, secure: SecureCluster, secure_destination: SecureCluster, mechanism: str
) -> None:
    world = secure_world
    world.logins = {"source": login(secure, mechanism), "destination": login(secure_destination, mechanism)}
    topic = world.topic(partitions=2)
    world.produce(topic, world.numbers(300, 2))
    world.carry_all(world.config())
    world.assert_mirrored(topic)
