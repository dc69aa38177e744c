"""Before a ledger record is written, the topic ids of both sides are checked again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from causeway.core.ledger_record import Event, decode
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane, ProduceSettings
from causeway.kafka.admin import TopicFacts
from causeway.kafka.delivery_reports import Stretch
from causeway.kafka.offset_map import decode_entry
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.task_errors import Again
from causeway.replication.worker.commit import Committer
from causeway.replication.worker.node_log import NodeLog
from causeway.replication.worker.source_nodes import SourceNodes
from causeway.replication.worker.task_state import TaskState
from causeway.rules.ledger_consistency import MapEntry
from support.plain_order import plain_order

SOURCE = SourcePartition("c", "t", 0)
PLACE = Place("to", "there", 0)
ORDER = plain_order(ledger_id="books")
NO_POOLS = SourceNodes(ORDER, NodeLog(1, TaskState()))


class View:
    """Topic ids that a cluster reports."""

    def __init__(self, **topics: str) -> None:
        self._topics = topics

    def cluster_id(self) -> str:
        return "c"

    def request_descriptions(self, topics: Any, **_how: Any) -> Any:
        return dict.fromkeys(topics)

    def descriptions(self, asked: Any, **_how: Any) -> dict[str, TopicFacts]:
        return {
            name: TopicFacts(name, topic_id, 1, 1)
            for name, topic_id in self._topics.items()
            if name in asked and topic_id
        }


class Written:
    """A producer that records what it commits."""

    open = True
    records = size = 1
    seconds = 0.0
    refused = False

    def __init__(self) -> None:
        self.entries: list[Any] = []

    def flush(self) -> float:
        return 0.0

    def commit(self, entries: Any, mapped: Any, timings: Any) -> None:
        self.entries += [*timings, *mapped, *entries]


def replicated_state() -> PartitionState:
    state = PartitionState(
        Lane(SOURCE, "id", PLACE, None), Position(SOURCE, "id", 0, 0, -1, PLACE, 0, -1, 1, 0)
    )
    stretch = Stretch(0)
    stretch.length, stretch.first, stretch.last = 1, 9, 9
    state.add_stretch(stretch, 1, 3, 5)
    return state


def commit(source: str = "id", place: str = "there", ledger: str = "books") -> tuple[PartitionState, Written]:
    state, written = replicated_state(), Written()
    delivery: Any = written
    destination: Any = View(to=place, **{ORDER.ledger: ledger})
    here: Any = View(t=source)
    Committer(ORDER, delivery, destination, TaskState(), NO_POOLS, "native").commit([state], [], {"c": here})
    return state, written


def test_with_unchanged_topics_the_position_is_committed() -> None:
    state, written = commit()
    assert state.position.offset == 1
    assert [(topic, shard) for topic, shard, _, _ in written.entries] == [
        (ORDER.offset_map, 1),
        (ORDER.ledger, 1),
        (ORDER.ledger, 1),
    ]


@pytest.mark.parametrize(("delivery", "base"), [("exactly-once", None), ("at-least-once", 0)])
def test_without_a_transaction_the_map_names_the_position_that_its_commit_started_at(
    delivery: Any, base: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.ORDER", replace(ORDER, produce=ProduceSettings(delivery)))
    _, written = commit()
    (entry,) = [(key, value) for topic, _, key, value in written.entries if topic == ORDER.offset_map]
    assert decode_entry(*entry) == MapEntry(SOURCE, "id", 1, ("to", 0), 10, base)
    assert decode_entry(*entry).known == (1 if base is None else base)


def test_what_is_wrong_with_timings_is_committed_as_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = replace(ORDER, produce=ProduceSettings(timings="topic"))
    monkeypatch.setattr(f"{__name__}.ORDER", timed)
    _, written = commit()
    events = [
        record.what
        for topic, _, _, value in written.entries
        if topic == ORDER.ledger and isinstance(record := decode(value), Event)
    ]
    assert events == ["no timings are written to topic timings_to on there: it does not exist"]


@pytest.mark.parametrize(
    ("topics", "what"),
    [
        ({"source": "other"}, "the source topic t changed while it was read"),
        ({"source": ""}, "the source topic t changed while it was read"),
        ({"place": "other"}, "the destination topic to changed while it was written"),
        ({"place": ""}, "the destination topic to changed while it was written"),
        ({"ledger": "other"}, "ledger"),
        ({"ledger": ""}, "ledger"),
    ],
)
def test_with_recreated_topics_nothing_is_committed(
    topics: dict[str, str], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleted and recreated during a slice: neither client reports it."""
    committed: list[Any] = []
    monkeypatch.setattr(Written, "commit", lambda _self, *entries: committed.extend(entries))
    with pytest.raises(Exception, match=what) as caught:
        commit(**topics)
    assert "ledger" in topics or caught.type is Again
    assert not committed


@pytest.mark.parametrize(
    ("ids", "kept"), [((), True), (("id",), True), (("id", "other"), False), (("other", "id"), False)]
)
def test_records_that_were_fetched_by_another_topic_id_are_not_committed(
    ids: tuple[str, ...], kept: bool
) -> None:
    """Also if the consumer has the right id again: some records may be of the other topic."""
    state, written = replicated_state(), Written()
    delivery: Any = written
    destination: Any = View(to="there", **{ORDER.ledger: "books"})
    here: Any = View(t="id")
    closing = Committer(ORDER, delivery, destination, TaskState(), NO_POOLS, "native")
    if kept:
        closing.commit([state], [], {"c": here}, [("c", {"t": ids})])
        assert state.position.offset == 1
    else:
        with pytest.raises(Again, match="recreated while it was read"):
            closing.commit([state], [], {"c": here}, [("c", {"t": ids})])
        assert not written.entries
