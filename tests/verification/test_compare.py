"""One task of the comparison, when the logs have changed since it was ordered."""

from __future__ import annotations

import pickle

import pyarrow as pa
from confluent_kafka import TopicPartition

from causeway.core.cluster import Cluster
from causeway.core.pair import Pair
from causeway.core.position import Place, SourcePartition
from causeway.errors import IntegrityError
from causeway.verification.comparison_job import FINDINGS, PAIRS, _task, compare_pair
from support.world import World


def clusters(world: World) -> tuple[Cluster, Cluster]:
    return (
        Cluster("src", {"bootstrap.servers": world.servers["source"]}),
        Cluster("dst", {"bootstrap.servers": world.servers["destination"]}),
    )


def pair(topic: str, records: int) -> Pair:
    """A partition that was replicated from its beginning to its end."""
    return Pair(
        source=SourcePartition("id", topic, 0),
        source_from=0,
        position=records,
        end=records,
        source_to=records,
        place=Place(topic, "", 0),
        place_from=0,
        place_to=records,
        compacted=False,
        timestamps=True,
    )


def test_records_that_expire_after_their_offsets_were_captured_are_not_differences(world: World) -> None:
    topic = world.topic("trimmed")
    world.topic("trimmed", on="destination")
    records = world.numbers(10)
    world.produce(topic, records)
    world.produce(topic, records, on="destination")
    admin = world.admin()
    for future in admin.delete_records([TopicPartition(topic, 0, 4)]).values():
        future.result(30)

    findings = compare_pair(pair(topic, 10), *clusters(world))

    assert findings.equal
    assert (findings.source_records, findings.destination_records, findings.expired_on_source) == (6, 10, 4)


def test_an_error_is_returned_as_a_value_with_all_its_fields(world: World) -> None:
    """Spark would retry a task that raises it a hundred times."""
    source, destination = clusters(world)
    topic = world.name("nowhere")
    row = {"row": 7, "pair": pair(topic, 1).to_json()}
    batch = pa.RecordBatch.from_pylist([row], schema=PAIRS)

    [result] = list(_task({"id": source}, destination)([batch]))

    assert result.schema == FINDINGS
    [back] = result.to_pylist()
    assert (back["row"], back["findings"]) == (7, None)
    error = pickle.loads(back["failure"])
    assert isinstance(error, IntegrityError)
    assert topic in error.where
