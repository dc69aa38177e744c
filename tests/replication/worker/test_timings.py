"""The records of timings that a transaction has. Clusters and producer are fakes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane, ProduceSettings
from causeway.core.topic import TopicFacts
from causeway.errors import AccessDenied, Unreachable
from causeway.kafka.delivery_reports import Stretch
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.producer import EncodedRecord
from causeway.kafka.task_errors import Again
from causeway.replication.worker.task_state import TaskState
from causeway.replication.worker.timings import TimingsTopics
from support.plain_order import plain_order

AT = 9_000
ORDER = plain_order(produce=ProduceSettings(timings="topic"))


class View:
    """A destination: whether the user may write to each of its topics; `denied` may not be described."""

    def __init__(self, *denied: str, **writable: bool | None) -> None:
        self.writable = writable
        self.denied = denied
        self.error: Exception | None = None

    def request_descriptions(self, names: set[str], *, rights: bool) -> dict[str, Any]:
        assert rights
        return dict.fromkeys(names)

    def descriptions(
        self, requests: dict[str, Any], *, rights: bool, denied: set[str]
    ) -> dict[str, TopicFacts]:
        if self.error is not None:
            raise self.error
        denied.update(self.denied)
        return {
            name: TopicFacts(name, "id", 1, 1, self.writable[name])
            for name in requests
            if name in self.writable
        }


def state_of(topic: str = "t", *stretches: tuple[int, int], fetched: int = 8_000) -> PartitionState:
    """A partition with stretches of records: first offset and length."""
    source, place = SourcePartition("c", topic, 0), Place(f"to.{topic}", "there", 0)
    state = PartitionState(
        Lane(source, "id", place, None), Position(source, "id", 0, 0, -1, place, 0, -1, 1, 0)
    )
    landed = 50
    for first, length in stretches:
        stretch = Stretch(first)
        stretch.length, stretch.first, stretch.last = length, landed, landed + length - 1
        stretch.first_at, stretch.last_at = 1_000 + first, 1_000 + first + length - 1
        landed += length
        state.add_stretch(stretch, first + length, 3, 10 * length)
    state.fetched = fetched if stretches else 0
    return state


def records(topics: TimingsTopics, *states: PartitionState) -> list[EncodedRecord]:
    requests = topics.request_descriptions(states)
    settled = [(state, *state.next_position(AT)) for state in states]
    return topics.records(settled, requests)


def written(view: Any, task: TaskState, *states: PartitionState, order: Any = ORDER) -> list[str]:
    """The topics to which timings are written."""
    return [name for name, *_ in records(TimingsTopics(order, view, task), *states)]


def test_a_transaction_has_a_record_for_each_partition_that_replicated_something() -> None:
    view: Any = View(**{"timings_to.t": True, "timings_to.u": None})
    topics = TimingsTopics(ORDER, view, TaskState())
    states = (
        state_of("t", (0, 3), (5, 2)),
        state_of("idle"),
        state_of("u", (7, 1)),
        state_of("timings_x", (0, 1)),
    )
    first, second = records(topics, *states)
    assert (first[:3], second[:3]) == (
        ("timings_to.t", -1, b"c|t|0"),
        ("timings_to.u", -1, b"c|u|0"),
    )
    assert json.loads(first[3]) == {
        "v": 1, "mirror": "m", "cluster": "c", "topic": "t", "partition": 0, "to": "to.t", "offsets": [0, 6],
        "timestamps": [1_000, 1_006], "fetched": 8_000, "committed": AT, "count": 5, "bytes": 50,
    }  # fmt: skip


def test_a_mirror_without_timings_asks_for_nothing() -> None:
    topics: Any = TimingsTopics(plain_order(), View(), TaskState())  # type: ignore[arg-type]
    assert topics.request_descriptions([state_of("t", (0, 1))]) == {}
    assert topics.records([], {}) == []


@pytest.mark.parametrize(
    ("view", "denied", "why"),
    [
        (View(), set(), "it does not exist"),
        (View("timings_to.t"), set(), "no WRITE permission"),
        (View(**{"timings_to.t": False}), set(), "no WRITE permission"),
        (View(**{"timings_to.t": None}), {"timings_to.t"}, "no WRITE permission"),
    ],
)
def test_without_a_topic_to_write_to_they_are_left_out_and_said_once(
    view: Any, denied: set[str], why: str
) -> None:
    task = TaskState(denied=denied)
    for _ in range(2):
        assert written(view, task, state_of("t", (0, 1))) == []
    ((level, what),) = task.events
    assert level == "warning"
    assert what.startswith("no timings are written to topic timings_to.t on there: ")
    assert why in what
    view.writable, view.denied = {"timings_to.t": True}, ()
    assert written(view, task, state_of("t", (0, 1))) == ["timings_to.t"]
    view.writable, task.denied, task.events = {}, set(), []
    assert written(view, task, state_of("t", (0, 1))) == []
    assert len(task.events) == 1, "it is gone again"


def test_a_topic_that_rejected_a_record_gets_no_more() -> None:
    view = View(**{"timings_to.t": True, "timings_to.u": True})
    task = TaskState(rejected_timings={"timings_to.t": "too large"})
    assert written(view, task, state_of("t", (0, 1)), state_of("u", (0, 1))) == ["timings_to.u"]
    assert task.events == [
        ("warning", "no timings are written to topic timings_to.t on there: it rejected one: too large")
    ]


@pytest.mark.parametrize("error", [Unreachable("no response"), AccessDenied("the password")])
def test_a_destination_that_does_not_respond_ends_the_attempt(error: Exception) -> None:
    view = View()
    view.error = error
    with pytest.raises(Again, match=str(error)):
        written(view, TaskState(), state_of("t", (0, 1)))
