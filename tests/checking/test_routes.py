"""What `causeway check` says of routes and filters, before anything is made."""

from __future__ import annotations

from causeway.core.ledger_record import RouteClaim

from .conftest import Desk
from .test_topics import write_ledger


def test_routes_are_shown_with_both_names(desk: Desk) -> None:
    topic = desk.topic("t", "src", 2)
    desk.topic("few", "dst", 1)
    pairs = [{"src": 0, "dest": 4}, {"src": 1, "dest": 0}]
    said = desk.check(desk.config(topic, prefix="eu.", partition_map={topic: pairs}))
    assert said.exit_code == 0
    assert any(
        f"{topic} → eu.{topic}: would be created with 5 partitions" in one for one in said.of(desk.mirror)
    )
    refused = desk.check(desk.config(topic, rename={topic: desk.name("few")}))
    assert refused.exit_code == 3
    remark = refused.one(desk.mirror, "problem")
    assert "has 1 partitions, 2 are needed" in remark
    assert "modulo = true" in remark
    folded = desk.check(desk.config(topic, rename={topic: desk.name("few")}, modulo=True))
    assert folded.exit_code == 0


def test_filters_are_made_to_see_whether_they_can_be(desk: Desk) -> None:
    topic = desk.topic("t", "src")
    (desk.directory / "good.py").write_text("class Filter:\n    __init__ = keep = lambda self, it: None\n")
    (desk.directory / "bad.py").write_text("def Filter(config): return config['region']\n")
    good = desk.check(desk.config(topic, filters=[{"filter": "good.py"}]))
    assert good.exit_code == 0
    assert any("good.py:Filter: loads" in remark for remark in good.of(desk.mirror, "ok"))
    bad = desk.check(desk.config(topic, filters=[{"filter": "bad.py"}]))
    assert bad.exit_code == 3
    assert "bad.py:Filter cannot be made" in bad.one(desk.mirror, "problem")
    missing = desk.invoke(desk.file(desk.config(topic, filters=[{"filter": "none.py"}])))
    assert missing.exception is not None
    assert "there is no file" in str(getattr(missing.exception, "problems", ""))


def test_two_mirrors_that_would_feed_each_other(desk: Desk) -> None:
    topic = desk.topic("t", "src")
    desk.topic("t", "dst")
    there = desk.config(topic)
    back = desk.config(topic, source="dst", destination="src", name=f"{desk.mirror}-back")
    said = desk.check(there, back)
    assert said.exit_code == 3
    assert "its records would come back to it without end" in said.one(desk.mirror, "problem")
    both = [table + "provenance = true\n" for table in (there, back)]
    assert desk.check(*both).exit_code == 0


def test_a_topic_that_the_destination_would_not_create_is_named(desk: Desk) -> None:
    """Kafka takes no two topics whose names differ in . and _ alone: the brokers are asked."""
    dotted, other = desk.topic("x.y", "src"), desk.topic("z", "src")
    desk.topic("x_y", "dst")
    said = desk.check(desk.config(dotted, other))
    assert said.exit_code == 3
    remark = said.one(desk.mirror, "problem")
    assert f"creating topic {dotted}: the cluster refuses it" in remark
    assert desk.name("x_y") in remark
    assert "rename" in remark
    both = desk.check(desk.config(other, dotted, rename={other: desk.name("v.w"), dotted: desk.name("v_w")}))
    assert both.exit_code == 3
    assert "cannot be created beside" in both.one(desk.mirror, "problem")


def test_two_mirrors_with_one_route(desk: Desk) -> None:
    """Every record would come twice; in one configuration, and beside a mirror that ran from another one."""
    topic = desk.topic("t", "src")
    desk.topic("t", "dst")
    one, same = desk.config(topic), desk.config(topic, name=f"{desk.mirror}-same")
    said = desk.check(one, same)
    assert said.exit_code == 3
    assert not said.of(desk.mirror, "problem")
    assert f'mirror "{desk.mirror}" replicates it to topic {topic}, too' in said.one(
        f"{desk.mirror}-same", "problem"
    )
    to = desk.view("dst").describe([topic])[topic].topic_id
    write_ledger(
        desk,
        RouteClaim(desk.view("src").cluster_id(), topic, topic, to, provenance=False, settled=True, at=1),
    )
    assert desk.check(one).exit_code == 0
    alone = desk.check(same)
    assert alone.exit_code == 6
    assert f'mirror "{desk.mirror}" replicates it to topic {topic}, too, as its ledger says' in alone.one(
        f"{desk.mirror}-same", "problem"
    )
