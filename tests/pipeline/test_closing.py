"""Before a ledger record is written, both sides are asked once more which topics they are."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.kafka.admin import TopicFacts
from causeway.kafka.lane import OpenLane, Stretch
from causeway.kafka.outcome import Again
from causeway.model.cluster import Cluster
from causeway.model.order import Lane, Limits, Order
from causeway.model.position import Place, Position, SourcePartition
from causeway.pipeline.closing import Closing
from causeway.pipeline.memory import Memory

SOURCE = SourcePartition("c", "t", 0)
PLACE = Place("to", "there", 0)
ORDER = Order(
    "m", 1, 7, 1, 1, "exactly-once", "none", {}, Cluster("there", {}), "ledger", "map", {}, (), 10.0,
    Limits(1_000, 1 << 20, 1, 10, 1 << 20, 1_000, 100_000, 1), ledger_id="books",
)  # fmt: skip


class View:
    """What a cluster says of its topics."""

    def __init__(self, **topics: str) -> None:
        self._topics = topics

    def cluster_id(self) -> str:
        return "c"

    def ask_to_describe(self, topics: Any) -> Any:
        return topics

    def described(self, asked: Any) -> dict[str, TopicFacts]:
        return {
            name: TopicFacts(name, topic_id, 1, 1)
            for name, topic_id in self._topics.items()
            if name in asked and topic_id
        }


class Written:
    """A delivery that notes what it commits."""

    open = True
    records = bytes = 1
    seconds = 0.0
    refused = False

    def __init__(self) -> None:
        self.entries: list[Any] = []

    def flush(self) -> float:
        return 0.0

    def commit(self, entries: Any) -> None:
        self.entries += entries


def carried() -> OpenLane:
    lane = OpenLane(Lane(SOURCE, "id", PLACE, None), Position(SOURCE, "id", 0, 0, -1, PLACE, 0, -1, 1, 0))
    stretch = Stretch(0)
    stretch.length, stretch.first, stretch.last = 1, 9, 9
    lane.took(stretch, 1, 3, 5)
    return lane


def commit(source: str = "id", place: str = "there", ledger: str = "books") -> tuple[OpenLane, Written]:
    lane, written = carried(), Written()
    delivery: Any = written
    destination: Any = View(to=place, ledger=ledger)
    here: Any = View(t=source)
    Closing(ORDER, delivery, destination, Memory(), "native").commit([lane], [], {"c": here})
    return lane, written


def test_topics_that_are_the_same_get_their_position_into_the_ledger() -> None:
    lane, written = commit()
    assert lane.position.offset == 1
    assert [(topic, shard) for topic, shard, _, _ in written.entries] == [
        ("ledger", 1),
        ("map", 1),
        ("ledger", 1),
    ]


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
def test_topics_that_are_others_now_get_nothing_into_the_ledger(
    topics: dict[str, str], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleted and created again in the middle of a slice: neither client says a word."""
    committed: list[Any] = []
    monkeypatch.setattr(Written, "commit", lambda _self, entries: committed.extend(entries))
    with pytest.raises(Exception, match=what) as caught:
        commit(**topics)
    assert "ledger" in topics or caught.type is Again
    assert not committed
