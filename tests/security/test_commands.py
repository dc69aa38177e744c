"""The other commands between secured clusters: each has the logins of the mirror, on both sides."""

from __future__ import annotations

import json

import pytest

from security.test_mechanisms import login
from support.process import without_spark
from support.secure_cluster import SecureCluster
from support.typed import causeway
from support.verifying import run_verify
from support.world import World


@pytest.mark.parametrize(
    ("here", "there"),
    [("SCRAM-SHA-256", "mTLS"), pytest.param("mTLS", "OAUTHBEARER", marks=pytest.mark.deep)],
)
def test_check_adopt_run_offsets_and_verify(
    secure_world: World, secure: SecureCluster, secure_destination: SecureCluster, here: str, there: str
) -> None:
    world = secure_world
    world.logins = {"source": login(secure, here), "destination": login(secure_destination, there)}
    topic = world.topic(partitions=2)
    world.topic(partitions=2, on="destination")
    records = world.numbers(300, 2)
    world.produce(topic, records)
    world.produce(topic, records[:120], on="destination")  # by another tool
    config = world.config(filters=None)

    checked = causeway("check", config, "-o", "json")
    assert "access denied" not in checked.stdout
    assert {section["name"] for section in json.loads(checked.stdout)["sections"]} >= {"src", "dst"}

    adopted = causeway("adopt", config, "--from", "destination-end", "--yes")
    assert adopted.returncode == 0, adopted.stdout + adopted.stderr
    world.carry_all(config)
    assert world.read(topic) == world.read(topic, "source")

    shown = causeway("offsets", "show", config)
    assert shown.returncode == 0, shown.stderr
    assert topic in shown.stdout
    skipped = causeway(
        "offsets", "skip", config, "--topic", topic, "--partition", "0", "--to", "latest", "--yes"
    )
    assert "access denied" not in skipped.stderr
    with without_spark():
        compared = run_verify(config, "-o", "json")
    assert compared.exit_code == 0, compared.stdout + compared.stderr
