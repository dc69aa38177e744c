"""Remarks of check on topics: created, refused, absent, replicated, too small, too short retention."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from confluent_kafka import Producer, TopicPartition

from causeway.checking import record_checks
from causeway.config import load
from causeway.core.ledger_record import CONTROL, Heartbeat, Lease, LedgerRecord, RouteClaim, Stopped, encode
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.task_order import ledger_topic
from causeway.errors import PlanRefused
from causeway.local_kafka import EmbeddedCluster
from causeway.replication.run import Run
from checking.conftest import PASSWORD, CheckSetup, login

DAY_MS = 24 * 3_600_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def position(setup: CheckSetup, topic: str, offset: int, number: int = 0) -> Position:
    """The position of a mirror that has replicated everything before an offset."""
    source = setup.view("src")
    return Position(
        source=SourcePartition(source.connect(), topic, number),
        topic_id=source.describe([topic])[topic].topic_id,
        start=0,
        offset=offset,
        epoch=0,
        place=Place(topic, setup.view("dst").describe([topic])[topic].topic_id, number),
        place_start=0,
        place_end=offset,
        generation=1,
        at=now_ms(),
        tally=Tally(delivered=offset),
    )


def write_ledger(setup: CheckSetup, *records: LedgerRecord, cleanup: str = "compact") -> None:
    """Write a ledger as a mirror with one shard does."""
    topic = ledger_topic(setup.mirror)
    if topic not in setup.view("dst").topic_names():
        setup.create(topic, "dst", 2, {"cleanup.policy": cleanup})
    producer = Producer(dict(setup.clusters["dst"]))
    for record in (Lease(1, "instance", "host", 7, 0), *records):
        control = isinstance(record, Lease | Heartbeat | RouteClaim)
        key, value = encode(record)
        producer.produce(topic, value, key, CONTROL if control else 1)
    assert producer.flush(30) == 0


def test_a_topic_that_would_be_created(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src", 3, cleanup_policy="compact", max_message_bytes="2000000")
    result = setup.check(setup.config(topic))
    assert result.exit_code == 0
    assert any("exactly-once is possible" in remark for remark in result.of(setup.mirror, "ok"))
    never_run, created = result.of(setup.mirror, "note")
    assert "never run" in never_run
    assert created.startswith(f"{topic}: would be created with 3 partitions, replication factor 1, ")
    for setting in ("cleanup.policy=compact", "max.message.bytes=2000000", "retention.ms=-1"):
        assert setting in created
    assert topic not in setup.view("dst").topic_names()


def test_topics_for_timings(setup: CheckSetup) -> None:
    topics = [setup.topic(suffix, "src", 3) for suffix in ("new", "old")]
    setup.create(f"timings_{topics[1]}", "dst", 1, {})
    result = setup.check(setup.config(*topics, timings="topic"))
    assert result.exit_code == 0
    created = [note for note in result.of(setup.mirror, "note") if "for timings" in note]
    settings = "cleanup.policy=delete, message.timestamp.type=CreateTime, retention.ms=604800000"
    assert created == [
        f"timings_{topics[0]}: would be created for timings, with 1 partition, replication factor 1,"
        f" {settings} | "
    ]
    assert any("timings go to 1 existing topic" in remark for remark in result.of(setup.mirror, "ok"))
    assert f"timings_{topics[0]}" not in setup.view("dst").topic_names()

    result = setup.check(setup.config(*topics, timings="headers"))
    assert result.exit_code == 0
    assert any("are not bit for bit those of the source" in note for note in result.of(setup.mirror, "note"))


def test_an_existing_topic_that_fits(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src", 2)
    setup.topic("t", "dst", 3)
    result = setup.check(setup.config(topic))
    assert result.exit_code == 0
    assert any(f"{topic}: 2 partitions" in remark for remark in result.of(setup.mirror, "ok"))
    assert any("the destination has 3 partitions" in remark for remark in result.of(setup.mirror, "note"))


def test_every_refused_topic_is_reported_with_its_remedy(setup: CheckSetup) -> None:
    few, stamped, full = (setup.topic(suffix, "src", 4) for suffix in ("few", "stamped", "full"))
    setup.topic("few", "dst", 1)
    setup.topic("stamped", "dst", 4, message_timestamp_type="LogAppendTime")
    setup.topic("full", "dst", 4)
    setup.produce(full, "dst")
    result = setup.check(setup.config(few, stamped, full))
    assert result.exit_code == 3
    problems = {remark.split(":")[0]: remark for remark in result.of(setup.mirror, "problem")}
    assert set(problems) == {few, stamped, full}
    assert f"kafka-topics.sh --alter --topic {few} --partitions 4" in problems[few]
    assert "message.timestamp.type=CreateTime" in problems[stamped]
    assert 'on_existing_records = "append"' in problems[full]


def test_a_destination_that_holds_unknown_records_is_a_matter_of_integrity(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src")
    setup.topic("t", "dst")
    setup.produce(topic, "dst")
    assert setup.check(setup.config(topic)).exit_code == 6
    assert setup.check(setup.config(topic, on_existing_records="append")).exit_code == 0


def test_named_topics_that_do_not_exist(setup: CheckSetup) -> None:
    result = setup.check(setup.config("not-there-at-all"))
    assert result.exit_code == 0
    assert 'not-there-at-all: does not exist on "src"' in result.only(setup.mirror, "warning")


def test_an_expression_that_matches_nothing(setup: CheckSetup) -> None:
    result = setup.check(setup.config("not-there-.*"))
    assert result.exit_code == 0
    assert "no topic matches" in result.only(setup.mirror, "warning")


def test_at_least_once_needs_no_transactions(setup: CheckSetup) -> None:
    result = setup.check(setup.config("not-there-.*", delivery="at-least-once"))
    assert any("transactions are not needed" in remark for remark in result.of(setup.mirror, "note"))


def test_a_destination_that_cannot_do_transactions(setup: CheckSetup, guarded: EmbeddedCluster) -> None:
    setup.clusters["locked"] = login(guarded, PASSWORD)
    result = setup.check(setup.config("not-there-.*", destination="locked"))
    assert result.exit_code == 3
    copies, in_sync, timeout = result.of(setup.mirror, "problem")
    assert "transaction.state.log.replication.factor is 3, more than the brokers (1)" in copies
    assert "transaction.state.log.min.isr is 2, at most 1" in in_sync
    assert "transaction_timeout is 15s, the brokers allow 12s" in timeout
    relaxed = setup.config("not-there-.*", destination="locked", delivery="at-least-once")
    assert setup.check(relaxed).exit_code == 0


def test_a_start_is_refused_if_the_brokers_only_allow_shorter_transactions(
    setup: CheckSetup, guarded: EmbeddedCluster
) -> None:
    """No shard could begin a transaction; before anything is created."""
    setup.clusters["locked"] = login(guarded, PASSWORD)
    settings = load(setup.file(setup.config("not-there-.*", destination="locked")))
    run = Run(settings, [], stop_at_end=True, say=lambda _mirror, _event: None)
    with pytest.raises(PlanRefused, match="transaction_timeout is 15s, the brokers allow 12s") as raised:
        run.prepare()
    assert 'set transaction_timeout = "12s" or less' in raised.value.todo
    assert not [name for name in setup.view("locked").topic_names() if setup.mirror in name]


def test_a_destination_that_accepts_only_smaller_records(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src", max_message_bytes="5000000")
    setup.topic("t", "dst", max_message_bytes="1000000")
    result = setup.check(setup.config(topic))
    assert result.exit_code == 0
    remark = result.only(setup.mirror, "warning")
    assert f"{topic}: the destination accepts at most 1,000,000 bytes, the source 5,000,000" in remark
    assert f"--entity-name {topic} --add-config max.message.bytes=5000000" in remark


@pytest.mark.parametrize("old", [0, 1])
def test_old_records_and_a_short_retention(setup: CheckSetup, old: int) -> None:
    topic = setup.topic("t", "src", 2)
    setup.topic("t", "dst", 2, retention_ms=str(3 * DAY_MS))
    setup.produce(topic, "src", partition=1 - old, timestamp=now_ms())
    assert not setup.check(setup.config(topic)).of(setup.mirror, "warning")
    setup.produce(topic, "src", partition=old, timestamp=now_ms() - 30 * DAY_MS)
    remark = setup.check(setup.config(topic)).only(setup.mirror, "warning")
    assert f"{topic}: its oldest record is 30 days old, the destination keeps records for 3 days" in remark
    assert f"kafka-configs.sh --alter --entity-type topics --entity-name {topic}" in remark
    assert "retention.ms=-1" in remark
    for start in ("latest", "2020-01-01T00:00:00Z"):
        warned = setup.check(setup.config(topic, start=start)).of(setup.mirror, "warning")
        assert len(warned) == (0 if start == "latest" else 1)


def test_old_records_and_a_topic_that_would_be_created(setup: CheckSetup, guarded: EmbeddedCluster) -> None:
    """The source keeps everything by its brokers' default, which is no topic setting to copy."""
    setup.clusters["locked"] = login(guarded, PASSWORD)
    topic = setup.name("t")
    setup.create(topic, "locked", 1, {})
    setup.produce(topic, "locked", timestamp=now_ms() - 30 * DAY_MS)
    remark = setup.check(setup.config(topic, source="locked")).only(setup.mirror, "warning")
    assert "30 days old, the destination keeps records for 7 days" in remark
    assert "on the source, whose settings the new topic gets" in remark


def test_ages_are_requested_of_a_limited_number_of_partitions_and_of_every_topic_first(
    setup: CheckSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_checks, "MOST_PARTITIONS", 2)
    topics = [setup.topic(suffix, "src", 2) for suffix in ("a", "b")]
    for topic, suffix in zip(topics, ("a", "b"), strict=True):
        setup.topic(suffix, "dst", 2, retention_ms=str(DAY_MS))
        setup.produce(topic, "src", timestamp=now_ms() - 30 * DAY_MS)
    result = setup.check(setup.config(*topics))
    assert len(result.of(setup.mirror, "warning")) == 2
    assert any("in 2 of 4 partitions" in remark for remark in result.of(setup.mirror, "note"))


def test_the_ledgers_positions_are_reported(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src", 2)
    setup.topic("t", "dst", 2)
    setup.produce(topic, "src", 5)
    setup.produce(topic, "dst", 3)
    beat = Heartbeat(0, 1, 1, now_ms(), "host", 7)
    write_ledger(setup, position(setup, topic, 3), position(setup, topic, 0, 1), beat)
    result = setup.check(setup.config(topic, heartbeat="1m"))
    assert result.exit_code == 0
    fine = result.of(setup.mirror, "ok")
    assert any("has the positions of 2 partitions" in remark for remark in fine)
    assert any(
        f"{topic}: 2 of 2 partitions started, 3 records replicated, lag 2 offsets" in remark
        for remark in fine
    )
    assert any("running on host (process 7)" in remark for remark in result.of(setup.mirror, "note"))


def test_a_position_that_retention_has_overtaken(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src")
    setup.topic("t", "dst")
    setup.produce(topic, "src", 9)
    known = position(setup, topic, 3)
    write_ledger(setup, known)
    assert setup.check(setup.config(topic)).exit_code == 0
    admin = setup.admin("src")  # a name of its own: a closed client never responds
    for future in admin.delete_records([TopicPartition(topic, 0, 7)]).values():
        future.result(10)
    write_ledger(setup, Stopped(*known.source, verdict="gap", what="as it was then", todo="", at=0))
    result = setup.check(setup.config(topic))
    assert result.exit_code == 6
    assert not result.of(setup.mirror, "warning")  # the current problem is enough
    assert "4 offsets were deleted before they were replicated" in result.only(setup.mirror, "problem")


@pytest.mark.parametrize("side", ["src", "dst"])
def test_a_topic_with_another_id_than_in_the_ledger(setup: CheckSetup, side: str) -> None:
    topic = setup.topic("t", "src")
    setup.topic("t", "dst")
    known = position(setup, topic, 0)
    if side == "src":
        known = replace(known, topic_id="xxxxxxxxxxxxxxxxxxxxxx")
    else:
        known = replace(known, place=known.place._replace(topic_id="xxxxxxxxxxxxxxxxxxxxxx"))
    write_ledger(setup, known)
    result = setup.check(setup.config(topic))
    assert result.exit_code == 6
    assert "was deleted and created again" in result.only(setup.mirror, "problem")


def test_a_destination_topic_that_was_deleted_under_its_mirror(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src")
    facts = setup.view("src").describe([topic])[topic]
    source = SourcePartition(setup.view("src").connect(), topic, 0)
    place = Place(topic, "xxxxxxxxxxxxxxxxxxxxxx", 0)
    write_ledger(setup, Position(source, facts.topic_id, 0, 0, 0, place, 0, -1, 1, 0))
    result = setup.check(setup.config(topic))
    assert result.exit_code == 6
    assert "no longer exists" in result.only(setup.mirror, "problem")


def test_a_partition_that_stopped(setup: CheckSetup) -> None:
    topic = setup.topic("t", "src")
    setup.topic("t", "dst")
    known = position(setup, topic, 0)
    stopped = Stopped(*known.source, verdict="poison", what="it was refused", todo="look at it", at=0)
    write_ledger(setup, known, stopped)
    result = setup.check(setup.config(topic))
    assert result.exit_code == 0
    assert "(poison): it was refused | look at it" in result.only(setup.mirror, "warning")


def test_a_ledger_that_would_lose_its_positions(setup: CheckSetup) -> None:
    write_ledger(setup, cleanup="delete")
    result = setup.check(setup.config("not-there-.*"))
    assert result.exit_code == 3
    assert "cleanup.policy=compact" in result.only(setup.mirror, "problem")


def test_a_ledger_of_a_later_causeway(setup: CheckSetup) -> None:
    setup.create(ledger_topic(setup.mirror), "dst", 2, {"cleanup.policy": "compact"})
    producer = Producer(dict(setup.clusters["dst"]))
    producer.produce(ledger_topic(setup.mirror), json.dumps({"v": 2, "kind": "lease"}).encode(), b"lease", 0)
    assert producer.flush(30) == 0
    result = setup.check(setup.config("not-there-.*"))
    assert result.exit_code == 6
    assert "does not understand" in result.only(setup.mirror, "problem")


def test_lines_for_people_without_a_terminal(setup: CheckSetup) -> None:
    few, fine = setup.topic("few", "src", 2), setup.topic("fine", "src")
    setup.topic("few", "dst", 1)
    text = setup.lines(setup.config(few, fine))
    assert "\x1b" not in text
    lines = text.splitlines()
    assert [line for line in lines if line.startswith(("cluster ", "mirror "))] == [
        "cluster src",
        "cluster dst",
        f"mirror {setup.mirror}",
    ]
    at = next(number for number, line in enumerate(lines) if line.startswith(f"  problem  {few}: "))
    assert lines[at + 1].startswith(
        f"           do: kafka-topics.sh --alter --topic {few} --partitions 2 (or "
    )
    assert any(line.startswith(f"  note     {fine}: would be created") for line in lines)
    assert any(line.startswith("  ok       Kafka ≥ ") for line in lines)
    assert lines[-1] == "1 problem"
