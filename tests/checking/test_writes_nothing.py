"""Check only reads: afterwards both clusters are unchanged, to the last offset."""

from __future__ import annotations

from typing import Any

from causeway.core.task_order import ledger_topic, offset_map_topic
from causeway.local_kafka import EmbeddedCluster
from checking.conftest import PASSWORD, CheckSetup, login
from checking.test_topics import position, write_ledger


def everything(setup: CheckSetup, alias: str) -> dict[str, Any]:
    """Topics with ids, settings and log bounds, and consumer groups."""
    view = setup.view(alias)
    names = view.topic_names()
    facts = view.describe(names)
    partitions = [(name, number) for name in names for number in range(facts[name].partitions)]
    admin = setup.admin(alias)
    groups = admin.list_consumer_groups(request_timeout=10).result(10)
    return {
        "topics": facts,
        "configs": view.configs(names),
        "starts": view.offsets(partitions, "earliest"),
        "ends": view.offsets(partitions, "latest"),
        "groups": sorted(group.group_id for group in groups.valid),
    }


def test_nothing_is_written_before_the_first_run(setup: CheckSetup, guarded: EmbeddedCluster) -> None:
    """On a cluster that never had a consumer, as source and as destination: even one that only
    reads would create the offsets topic."""
    setup.clusters["fresh"] = login(guarded, PASSWORD)
    before_anything = setup.view("fresh").topic_names()
    assert not [name for name in before_anything if name.startswith("__")]
    here, there = setup.topic("here", "fresh", 3), setup.topic("there", "src", 2)
    setup.produce(here, "fresh", 10)
    setup.produce(there, "src", 10)
    before = {alias: everything(setup, alias) for alias in setup.clusters}
    result = setup.check(
        setup.config(here, source="fresh"),
        setup.config(there, destination="fresh").replace(setup.mirror, f"{setup.mirror}-back", 1),
    )
    assert any("would be created" in remark for remark in result.of(setup.mirror, "note"))
    assert any("would be created" in remark for remark in result.of(f"{setup.mirror}-back", "note"))
    assert {alias: everything(setup, alias) for alias in setup.clusters} == before
    for name in (ledger_topic(setup.mirror), offset_map_topic(setup.mirror)):
        assert name not in setup.view("dst").topic_names()


def test_nothing_is_written_beside_a_ledger(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src", 3)
    setup.topic("t", "dst", 3)
    setup.produce(topic, "src", 10)
    write_ledger(setup, position(setup, topic, 4))
    setup.check(setup.config(topic))  # the first read of the ledger may have created the offsets topic
    before = {alias: everything(setup, alias) for alias in setup.clusters}
    result = setup.check(setup.config(topic))
    assert any("1 of 3 partitions started" in remark for remark in result.of(setup.mirror, "ok"))
    assert {alias: everything(setup, alias) for alias in setup.clusters} == before
