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
from checking.conftest import PASSWORD, Desk, login

DAY_MS = 24 * 3_600_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def position(desk: Desk, topic: str, offset: int, number: int = 0) -> Position:
    """The position of a mirror that has replicated everything before an offset."""
    source = desk.view("src")
    return Position(
        source=SourcePartition(source.connect(), topic, number),
        topic_id=source.describe([topic])[topic].topic_id,
        start=0,
        offset=offset,
        epoch=0,
        place=Place(topic, desk.view("dst").describe([topic])[topic].topic_id, number),
        place_start=0,
        place_end=offset,
        generation=1,
        at=now_ms(),
        tally=Tally(delivered=offset),
    )


def write_ledger(desk: Desk, *records: LedgerRecord, cleanup: str = "compact") -> None:
    """A ledger as a mirror with one shard would have left it."""
    topic = ledger_topic(desk.mirror)
    if topic not in desk.view("dst").topic_names():
        desk.create(topic, "dst", 2, {"cleanup.policy": cleanup})
    producer = Producer(dict(desk.clusters["dst"]))
    for record in (Lease(1, "instance", "host", 7, 0), *records):
        control = isinstance(record, Lease | Heartbeat | RouteClaim)
        key, value = encode(record)
        producer.produce(topic, value, key, CONTROL if control else 1)
    assert producer.flush(30) == 0


def test_a_topic_that_would_be_created(desk: Desk) -> None:
    topic = desk.topic("t", "src", 3, cleanup_policy="compact", max_message_bytes="2000000")
    said = desk.check(desk.config(topic))
    assert said.exit_code == 0
    assert any("exactly-once is possible" in remark for remark in said.of(desk.mirror, "ok"))
    never_run, created = said.of(desk.mirror, "note")
    assert "never run" in never_run
    assert created.startswith(f"{topic}: would be created with 3 partitions, replication factor 1, ")
    for setting in ("cleanup.policy=compact", "max.message.bytes=2000000", "retention.ms=-1"):
        assert setting in created
    assert topic not in desk.view("dst").topic_names()


def test_a_topic_that_is_there_and_fits(desk: Desk) -> None:
    topic = desk.topic("t", "src", 2)
    desk.topic("t", "dst", 3)
    said = desk.check(desk.config(topic))
    assert said.exit_code == 0
    assert any(f"{topic}: 2 partitions" in remark for remark in said.of(desk.mirror, "ok"))
    assert any("the destination has 3 partitions" in remark for remark in said.of(desk.mirror, "note"))


def test_every_topic_that_is_refused_is_said_with_its_remedy(desk: Desk) -> None:
    few, stamped, full = (desk.topic(suffix, "src", 4) for suffix in ("few", "stamped", "full"))
    desk.topic("few", "dst", 1)
    desk.topic("stamped", "dst", 4, message_timestamp_type="LogAppendTime")
    desk.topic("full", "dst", 4)
    desk.produce(full, "dst")
    said = desk.check(desk.config(few, stamped, full))
    assert said.exit_code == 3
    problems = {remark.split(":")[0]: remark for remark in said.of(desk.mirror, "problem")}
    assert set(problems) == {few, stamped, full}
    assert f"kafka-topics.sh --alter --topic {few} --partitions 4" in problems[few]
    assert "message.timestamp.type=CreateTime" in problems[stamped]
    assert 'on_existing_records = "append"' in problems[full]


def test_a_destination_that_holds_unknown_records_is_a_matter_of_integrity(desk: Desk) -> None:
    topic = desk.topic("t", "src")
    desk.topic("t", "dst")
    desk.produce(topic, "dst")
    assert desk.check(desk.config(topic)).exit_code == 6
    assert desk.check(desk.config(topic, on_existing_records="append")).exit_code == 0


def test_named_topics_that_do_not_exist(desk: Desk) -> None:
    said = desk.check(desk.config("not-there-at-all"))
    assert said.exit_code == 0
    assert 'not-there-at-all: does not exist on "src"' in said.one(desk.mirror, "warning")


def test_an_expression_that_matches_nothing(desk: Desk) -> None:
    said = desk.check(desk.config("not-there-.*"))
    assert said.exit_code == 0
    assert "no topic matches" in said.one(desk.mirror, "warning")


def test_at_least_once_needs_no_transactions(desk: Desk) -> None:
    said = desk.check(desk.config("not-there-.*", delivery="at-least-once"))
    assert any("transactions are not needed" in remark for remark in said.of(desk.mirror, "note"))


def test_a_destination_that_cannot_do_transactions(desk: Desk, guarded: EmbeddedCluster) -> None:
    desk.clusters["locked"] = login(guarded, PASSWORD)
    said = desk.check(desk.config("not-there-.*", destination="locked"))
    assert said.exit_code == 3
    copies, in_sync, timeout = said.of(desk.mirror, "problem")
    assert "transaction.state.log.replication.factor is 3, more than the brokers (1)" in copies
    assert "transaction.state.log.min.isr is 2, at most 1" in in_sync
    assert "transaction_timeout is 15s, the brokers allow 12s" in timeout
    relaxed = desk.config("not-there-.*", destination="locked", delivery="at-least-once")
    assert desk.check(relaxed).exit_code == 0


def test_a_start_is_refused_where_the_brokers_allow_shorter_transactions_alone(
    desk: Desk, guarded: EmbeddedCluster
) -> None:
    """No shard could begin a transaction; before anything is created."""
    desk.clusters["locked"] = login(guarded, PASSWORD)
    settings = load(desk.file(desk.config("not-there-.*", destination="locked")))
    run = Run(settings, [], stop_at_end=True, say=lambda _mirror, _event: None)
    with pytest.raises(PlanRefused, match="transaction_timeout is 15s, the brokers allow 12s") as raised:
        run.prepare()
    assert 'set transaction_timeout = "12s" or less' in raised.value.todo
    assert not [name for name in desk.view("locked").topic_names() if desk.mirror in name]


def test_a_destination_that_takes_smaller_records(desk: Desk) -> None:
    topic = desk.topic("t", "src", max_message_bytes="5000000")
    desk.topic("t", "dst", max_message_bytes="1000000")
    said = desk.check(desk.config(topic))
    assert said.exit_code == 0
    remark = said.one(desk.mirror, "warning")
    assert f"{topic}: the destination takes 1,000,000 bytes at most, the source 5,000,000" in remark
    assert f"--entity-name {topic} --add-config max.message.bytes=5000000" in remark


@pytest.mark.parametrize("old", [0, 1])
def test_old_records_and_a_short_retention(desk: Desk, old: int) -> None:
    topic = desk.topic("t", "src", 2)
    desk.topic("t", "dst", 2, retention_ms=str(3 * DAY_MS))
    desk.produce(topic, "src", partition=1 - old, timestamp=now_ms())
    assert not desk.check(desk.config(topic)).of(desk.mirror, "warning")
    desk.produce(topic, "src", partition=old, timestamp=now_ms() - 30 * DAY_MS)
    remark = desk.check(desk.config(topic)).one(desk.mirror, "warning")
    assert f"{topic}: its oldest record is 30 days old, the destination keeps records for 3 days" in remark
    assert f"kafka-configs.sh --alter --entity-type topics --entity-name {topic}" in remark
    assert "retention.ms=-1" in remark
    for start in ("latest", "2020-01-01T00:00:00Z"):
        warned = desk.check(desk.config(topic, start=start)).of(desk.mirror, "warning")
        assert len(warned) == (0 if start == "latest" else 1)


def test_old_records_and_a_topic_that_would_be_created(desk: Desk, guarded: EmbeddedCluster) -> None:
    """The source keeps everything by its brokers' default, which is no setting of the topic to copy."""
    desk.clusters["locked"] = login(guarded, PASSWORD)
    topic = desk.name("t")
    desk.create(topic, "locked", 1, {})
    desk.produce(topic, "locked", timestamp=now_ms() - 30 * DAY_MS)
    remark = desk.check(desk.config(topic, source="locked")).one(desk.mirror, "warning")
    assert "30 days old, the destination keeps records for 7 days" in remark
    assert "on the source, whose settings the new topic gets" in remark


def test_ages_are_asked_of_so_many_partitions_and_of_every_topic_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_checks, "MOST_PARTITIONS", 2)
    topics = [desk.topic(suffix, "src", 2) for suffix in ("a", "b")]
    for topic, suffix in zip(topics, ("a", "b"), strict=True):
        desk.topic(suffix, "dst", 2, retention_ms=str(DAY_MS))
        desk.produce(topic, "src", timestamp=now_ms() - 30 * DAY_MS)
    said = desk.check(desk.config(*topics))
    assert len(said.of(desk.mirror, "warning")) == 2
    assert any("in 2 of 4 partitions" in remark for remark in said.of(desk.mirror, "note"))


def test_what_the_ledger_knows(desk: Desk) -> None:
    topic = desk.topic("t", "src", 2)
    desk.topic("t", "dst", 2)
    desk.produce(topic, "src", 5)
    desk.produce(topic, "dst", 3)
    beat = Heartbeat(0, 1, 1, now_ms(), "host", 7)
    write_ledger(desk, position(desk, topic, 3), position(desk, topic, 0, 1), beat)
    said = desk.check(desk.config(topic, heartbeat="1m"))
    assert said.exit_code == 0
    fine = said.of(desk.mirror, "ok")
    assert any("has the positions of 2 partitions" in remark for remark in fine)
    assert any(
        f"{topic}: 2 of 2 partitions started, 3 records replicated, lag 2 offsets" in one for one in fine
    )
    assert any("running on host (process 7)" in remark for remark in said.of(desk.mirror, "note"))


def test_a_position_that_retention_has_overtaken(desk: Desk) -> None:
    topic = desk.topic("t", "src")
    desk.topic("t", "dst")
    desk.produce(topic, "src", 9)
    known = position(desk, topic, 3)
    write_ledger(desk, known)
    assert desk.check(desk.config(topic)).exit_code == 0
    admin = desk.admin("src")  # a name of its own: a closed client never responds
    for future in admin.delete_records([TopicPartition(topic, 0, 7)]).values():
        future.result(10)
    write_ledger(desk, Stopped(*known.source, verdict="gap", what="as it was then", todo="", at=0))
    said = desk.check(desk.config(topic))
    assert said.exit_code == 6
    assert not said.of(desk.mirror, "warning")  # what it is now says it all
    assert "4 offsets were deleted before they were replicated" in said.one(desk.mirror, "problem")


@pytest.mark.parametrize("side", ["src", "dst"])
def test_a_topic_that_is_another_one_than_the_ledger_knows(desk: Desk, side: str) -> None:
    topic = desk.topic("t", "src")
    desk.topic("t", "dst")
    known = position(desk, topic, 0)
    if side == "src":
        known = replace(known, topic_id="xxxxxxxxxxxxxxxxxxxxxx")
    else:
        known = replace(known, place=known.place._replace(topic_id="xxxxxxxxxxxxxxxxxxxxxx"))
    write_ledger(desk, known)
    said = desk.check(desk.config(topic))
    assert said.exit_code == 6
    assert "was deleted and created again" in said.one(desk.mirror, "problem")


def test_a_destination_topic_that_was_deleted_under_its_mirror(desk: Desk) -> None:
    topic = desk.topic("t", "src")
    facts = desk.view("src").describe([topic])[topic]
    source = SourcePartition(desk.view("src").connect(), topic, 0)
    place = Place(topic, "xxxxxxxxxxxxxxxxxxxxxx", 0)
    write_ledger(desk, Position(source, facts.topic_id, 0, 0, 0, place, 0, -1, 1, 0))
    said = desk.check(desk.config(topic))
    assert said.exit_code == 6
    assert "does not exist any more" in said.one(desk.mirror, "problem")


def test_a_partition_that_stopped(desk: Desk) -> None:
    topic = desk.topic("t", "src")
    desk.topic("t", "dst")
    known = position(desk, topic, 0)
    stopped = Stopped(*known.source, verdict="poison", what="it was refused", todo="look at it", at=0)
    write_ledger(desk, known, stopped)
    said = desk.check(desk.config(topic))
    assert said.exit_code == 0
    assert "(poison): it was refused | look at it" in said.one(desk.mirror, "warning")


def test_a_ledger_that_would_lose_its_positions(desk: Desk) -> None:
    write_ledger(desk, cleanup="delete")
    said = desk.check(desk.config("not-there-.*"))
    assert said.exit_code == 3
    assert "cleanup.policy=compact" in said.one(desk.mirror, "problem")


def test_a_ledger_of_a_later_causeway(desk: Desk) -> None:
    desk.create(ledger_topic(desk.mirror), "dst", 2, {"cleanup.policy": "compact"})
    producer = Producer(dict(desk.clusters["dst"]))
    producer.produce(ledger_topic(desk.mirror), json.dumps({"v": 2, "kind": "lease"}).encode(), b"lease", 0)
    assert producer.flush(30) == 0
    said = desk.check(desk.config("not-there-.*"))
    assert said.exit_code == 6
    assert "does not understand" in said.one(desk.mirror, "problem")


def test_lines_for_people_without_a_terminal(desk: Desk) -> None:
    few, fine = desk.topic("few", "src", 2), desk.topic("fine", "src")
    desk.topic("few", "dst", 1)
    text = desk.lines(desk.config(few, fine))
    assert "\x1b" not in text
    lines = text.splitlines()
    assert [line for line in lines if line.startswith(("cluster ", "mirror "))] == [
        "cluster src",
        "cluster dst",
        f"mirror {desk.mirror}",
    ]
    at = next(number for number, line in enumerate(lines) if line.startswith(f"  problem  {few}: "))
    assert lines[at + 1].startswith(
        f"           do: kafka-topics.sh --alter --topic {few} --partitions 2 (or "
    )
    assert any(line.startswith(f"  note     {fine}: would be created") for line in lines)
    assert any(line.startswith("  ok       Kafka ≥ ") for line in lines)
    assert lines[-1] == "1 problem"
