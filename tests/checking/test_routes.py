"""What `causeway check` reports about routes and filters, before anything is created."""

from __future__ import annotations

from causeway.core.ledger_record import RouteClaim

from .conftest import CheckSetup
from .test_topics import write_ledger


def test_routes_are_shown_with_both_names(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src", 2)
    setup.topic("few", "dst", 1)
    pairs = [{"src": 0, "dest": 4}, {"src": 1, "dest": 0}]
    result = setup.check(setup.config(topic, prefix="eu.", partition_map={topic: pairs}))
    assert result.exit_code == 0
    assert any(
        f"{topic} → eu.{topic}: would be created with 5 partitions" in remark
        for remark in result.of(setup.mirror)
    )
    refused = setup.check(setup.config(topic, rename={topic: setup.name("few")}))
    assert refused.exit_code == 3
    remark = refused.only(setup.mirror, "problem")
    assert "has 1 partition, 2 are needed" in remark
    assert "modulo = true" in remark
    folded = setup.check(setup.config(topic, rename={topic: setup.name("few")}, modulo=True))
    assert folded.exit_code == 0


def test_filters_are_created_to_check_them(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src")
    (setup.directory / "good.py").write_text("class Filter:\n    __init__ = keep = lambda self, it: None\n")
    (setup.directory / "bad.py").write_text("def Filter(config): return config['region']\n")
    good = setup.check(setup.config(topic, filters=[{"filter": "good.py"}]))
    assert good.exit_code == 0
    assert any("good.py:Filter: loads" in remark for remark in good.of(setup.mirror, "ok"))
    bad = setup.check(setup.config(topic, filters=[{"filter": "bad.py"}]))
    assert bad.exit_code == 3
    assert "bad.py:Filter cannot be made" in bad.only(setup.mirror, "problem")
    missing = setup.invoke(setup.file(setup.config(topic, filters=[{"filter": "none.py"}])))
    assert missing.exception is not None
    assert "there is no file" in str(getattr(missing.exception, "problems", ""))


def test_two_mirrors_that_would_feed_each_other(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src")
    setup.topic("t", "dst")
    there = setup.config(topic)
    back = setup.config(topic, source="dst", destination="src", name=f"{setup.mirror}-back")
    result = setup.check(there, back)
    assert result.exit_code == 3
    assert "its records would come back to it in a loop" in result.only(setup.mirror, "problem")
    both = [table + "provenance = true\n" for table in (there, back)]
    assert setup.check(*both).exit_code == 0


def test_a_topic_that_the_destination_would_not_create_is_named(setup: CheckSetup) -> None:
    """Kafka rejects topic names that differ only in . and _: the brokers decide."""
    dotted, other = setup.topic("x.y", "src"), setup.topic("z", "src")
    setup.topic("x_y", "dst")
    result = setup.check(setup.config(dotted, other))
    assert result.exit_code == 3
    remark = result.only(setup.mirror, "problem")
    assert f"creating topic {dotted}: the cluster rejects it" in remark
    assert setup.name("x_y") in remark
    assert "rename" in remark
    both = setup.check(
        setup.config(other, dotted, rename={other: setup.name("v.w"), dotted: setup.name("v_w")})
    )
    assert both.exit_code == 3
    assert "cannot be created beside" in both.only(setup.mirror, "problem")


def test_two_mirrors_with_one_route(setup: CheckSetup) -> None:
    """Every record would be duplicated: in one configuration, and with a mirror of another."""
    topic = setup.topic("t", "src")
    setup.topic("t", "dst")
    first, same = setup.config(topic), setup.config(topic, name=f"{setup.mirror}-same")
    result = setup.check(first, same)
    assert result.exit_code == 3
    assert not result.of(setup.mirror, "problem")
    assert f'mirror "{setup.mirror}" also replicates it to topic {topic}' in result.only(
        f"{setup.mirror}-same", "problem"
    )
    to = setup.view("dst").describe([topic])[topic].topic_id
    write_ledger(
        setup,
        RouteClaim(setup.view("src").cluster_id(), topic, topic, to, provenance=False, settled=True, at=1),
    )
    assert setup.check(first).exit_code == 0
    alone = setup.check(same)
    assert alone.exit_code == 6
    assert f'mirror "{setup.mirror}" also replicates it to topic {topic}, by its ledger' in alone.only(
        f"{setup.mirror}-same", "problem"
    )
