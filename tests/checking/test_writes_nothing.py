"""Check reads: afterwards both clusters are what they were before, to the last offset."""

from __future__ import annotations

from typing import Any

from causeway.core.task_order import ledger_topic, offset_map_topic
from causeway.local_kafka import EmbeddedCluster
from checking.conftest import PASSWORD, Desk, login
from checking.test_topics import position, write_ledger


def everything(desk: Desk, alias: str) -> dict[str, Any]:
    """Topics with ids, settings and log bounds, and consumer groups."""
    view = desk.view(alias)
    names = view.topic_names()
    facts = view.describe(names)
    partitions = [(name, number) for name in names for number in range(facts[name].partitions)]
    admin = desk.admin(alias)
    groups = admin.list_consumer_groups(request_timeout=10).result(10)
    return {
        "topics": facts,
        "configs": view.configs(names),
        "starts": view.offsets(partitions, "earliest"),
        "ends": view.offsets(partitions, "latest"),
        "groups": sorted(group.group_id for group in groups.valid),
    }


def test_nothing_is_written_before_the_first_run(desk: Desk, guarded: EmbeddedCluster) -> None:
    """On a cluster that has never seen a consumer, as source and as destination: even one that only
    looks would leave an offsets topic behind."""
    desk.clusters["fresh"] = login(guarded, PASSWORD)
    before_anything = desk.view("fresh").topic_names()
    assert not [name for name in before_anything if name.startswith("__")]
    here, there = desk.topic("here", "fresh", 3), desk.topic("there", "src", 2)
    desk.produce(here, "fresh", 10)
    desk.produce(there, "src", 10)
    before = {alias: everything(desk, alias) for alias in desk.clusters}
    said = desk.check(
        desk.config(here, source="fresh"),
        desk.config(there, destination="fresh").replace(desk.mirror, f"{desk.mirror}-back", 1),
    )
    assert any("would be created" in remark for remark in said.of(desk.mirror, "note"))
    assert any("would be created" in remark for remark in said.of(f"{desk.mirror}-back", "note"))
    assert {alias: everything(desk, alias) for alias in desk.clusters} == before
    for name in (ledger_topic(desk.mirror), offset_map_topic(desk.mirror)):
        assert name not in desk.view("dst").topic_names()


def test_nothing_is_written_beside_a_ledger(desk: Desk) -> None:
    topic = desk.topic("t", "src", 3)
    desk.topic("t", "dst", 3)
    desk.produce(topic, "src", 10)
    write_ledger(desk, position(desk, topic, 4))
    desk.check(desk.config(topic))  # whoever read the ledger first may have made the offsets topic
    before = {alias: everything(desk, alias) for alias in desk.clusters}
    said = desk.check(desk.config(topic))
    assert any("1 of 3 partitions started" in remark for remark in said.of(desk.mirror, "ok"))
    assert {alias: everything(desk, alias) for alias in desk.clusters} == before
