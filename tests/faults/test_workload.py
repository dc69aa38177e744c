"""The workload says the truth about what it wrote, the reader sees all of it, and the checker agrees."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from types import SimpleNamespace as Namespace

import pytest
from confluent_kafka import KafkaError

from causeway.local_kafka import EmbeddedCluster
from faults.checker import RECORDS, check
from faults.content import content, token, token_in
from faults.events import DeliveryReport, Route, Seen, Sent, Terms, TransactionEnded
from faults.history import History, Journal
from faults.history_builder import records_of, replaced
from faults.ledger_events import note_ledger, note_offset_map, note_topics, topic_ids
from faults.reader import drain
from faults.record_generator import random_record
from faults.trace import trace
from faults.workload import Workload
from support.process import eventually
from support.world import World


def test_a_seed_gives_the_same_records_again_and_all_kinds_of_them() -> None:
    names = [token("w", n) for n in range(3_000)]
    random, again = Random(7), Random(7)
    records = [random_record(random, name, 10**12, 50_000) for name in names]
    assert records == [random_record(again, name, 10**12, 50_000) for name in names]
    assert [token_in(rec.key, rec.value, rec.headers) for rec in records] == names
    assert len({content(*rec) for rec in records}) == len(records)
    assert {None, b""} <= {rec.key for rec in records}
    assert {None, b""} <= {rec.value for rec in records}
    assert {None, b""} <= {value for rec in records for _, value in rec.headers}
    assert any(not rec.headers for rec in records)
    assert any(len({name for name, _ in rec.headers}) < len(rec.headers) for rec in records)
    assert max(len(rec.value or b"") for rec in records) > 10_000
    assert min(rec.timestamp for rec in records) > 0


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (None, "ok"),
        (KafkaError._PURGE_QUEUE, "failed"),
        (KafkaError.MSG_SIZE_TOO_LARGE, "failed"),
        (KafkaError._PURGE_INFLIGHT, "unknown"),
        (KafkaError._MSG_TIMED_OUT, "unknown"),
        (KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND, "unknown"),
        (KafkaError.REQUEST_TIMED_OUT, "unknown"),
    ],
)
def test_only_what_is_certain_is_called_failed(tmp_path: Path, code: int | None, outcome: str) -> None:
    with Journal(tmp_path / "history.jsonl") as journal:
        workload = Workload("127.0.0.1:1", {"t": 1}, journal, seed=1)
        workload._waiting.add("~a~")
        report = workload._report("~a~", plain=True)
        message = Namespace(offset=lambda: 7)
        report(KafkaError(code) if code is not None else None, message)
        report(None, message)  # one report for each record
        (report_event,) = journal.history().of(DeliveryReport)
    assert (report_event.outcome, report_event.offset) == (outcome, 7 if outcome == "ok" else -1)


def test_what_never_left_has_failed_for_certain(tmp_path: Path) -> None:
    """Nobody listens at the port; the first rounds of this seed are plain ones."""
    with Journal(tmp_path / "history.jsonl") as journal:
        workload = Workload("127.0.0.1:1", {"t": 2}, journal, seed=1)
        workload.round()
        workload.settle(0.1)
        assert workload.counts["plain failed"] == workload.counts["sent"] > 0, workload.counts
        assert set(trace(journal.history()).fates.values()) == {"hidden"}


@pytest.mark.parametrize(("shaken", "outcome"), [(False, "aborted"), (True, "unknown")])
@pytest.mark.parametrize("by", ["the next transaction", "the end"])
def test_an_abort_is_believed_when_the_connection_held_until_its_markers_were_there(
    world: World, tmp_path: Path, shaken: bool, outcome: str, by: str
) -> None:
    with Journal(tmp_path / "history.jsonl") as journal:
        workload = Workload(world.servers["source"], {world.topic("t", 2): 2}, journal, seed=1)
        workload._transaction(3, commit=False)
        assert workload._transactional is not None
        assert not journal.history().of(TransactionEnded), "the response alone is not certain"
        workload._transactional.connection.shaken = shaken
        if by == "the next transaction":
            workload._transaction(3, commit=True)
            assert [event.outcome for event in journal.history().of(TransactionEnded)] == [
                outcome,
                "committed",
            ]
        workload.settle()
        assert journal.history().of(TransactionEnded)[0].outcome == outcome


def test_one_mirror_run_holds_every_promise_about_records_and_positions(world: World, tmp_path: Path) -> None:
    topic, other = world.topic("t", 3), world.topic("u", 1)
    ids = topic_ids(world.admin(), [topic, other])
    with Journal(tmp_path / "history.jsonl") as journal:
        journal.add(Terms(), Route(topic, topic), Route(other, other))
        note_topics(journal, world.admin(), "source")
        places = {topic: 3, other: 1}
        workload = Workload(world.servers["source"], places, journal, seed=5, topic_ids=ids, largest=300_000)
        for _ in range(60):
            workload.round()
        workload.settle()

        world.carry_all(world.config(shards=2, max_transaction_records=200))

        for name in places:
            drain(world.servers["source"], name, "source", journal, topic_id=ids[name])
        note_ledger(journal, world.ledger())
        for name in places:
            drain(world.servers["destination"], name, "destination", journal)
        note_ledger(journal, world.ledger())
        note_offset_map(journal, world.servers["destination"], world.mirror)
        note_topics(journal, world.admin(), "source")

    history = History.read(tmp_path / "history.jsonl")
    check(history).require(*RECORDS, "I7", "I8", "I9", "I12")
    counts = workload.counts
    assert min(counts["plain ok"], counts["committed records"], counts["aborted records"]) > 20, counts
    assert not counts["plain unknown"] + counts["plain failed"] + counts["unknown"], counts
    assert len(records_of(history, "destination")) == workload.visible

    # The same scenario with one record less, and one more, over there.
    one = records_of(history, "destination")[100]
    less = {a.name for a in check(replaced(history, [(one, None)])).anomalies if a.invariant in RECORDS}
    assert less in ({"lost"}, {"unseen"})
    aborted = {event.transaction for event in history.of(TransactionEnded) if event.outcome == "aborted"}
    never = next(sent for sent in history.of(Sent) if sent.transaction in aborted)
    more = Seen(1, "destination", never.topic, never.partition, 10**6, never.token, never.content)
    assert {a.name for a in check(History([*history.events, more])).anomalies} == {"aborted-delivered"}


@pytest.mark.integration
@pytest.mark.long
def test_a_workload_survives_its_brokers_and_never_says_failed_of_what_is_there(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "history.jsonl") as journal,
        EmbeddedCluster.start("outage", directory=tmp_path / "outage") as cluster,
    ):
        topic = World(cluster, cluster, tmp_path).topic("t", 2)
        journal.add(Route(topic, "nowhere"))
        workload = Workload(cluster.bootstrap_servers, {topic: 2}, journal, seed=11, largest=2_000)
        workload.start()
        eventually(lambda: workload.counts["committed"] > 3, "it writes")
        cluster.brokers[0].kill()
        sent = workload.counts["sent"]
        eventually(lambda: workload.counts["sent"] > sent, "it retries")
        cluster.brokers[0].start()
        before = workload.counts["committed"]
        eventually(lambda: workload.counts["committed"] > before + 3, "it writes again")
        workload.stop()
        count = drain(cluster.bootstrap_servers, topic, "source", journal)

    history = History.read(tmp_path / "history.jsonl")
    report = check(history)
    assert not report.anomalies, str(report)
    assert report.results["I1"].status == "unknown", "no destination was read"
    fates = Counter(trace(history).fates.values())
    assert fates.total() == workload.counts["sent"]
    assert fates["visible"] == workload.visible
    assert fates["visible"] <= count <= fates["visible"] + fates["unknown"]
