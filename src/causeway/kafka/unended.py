"""Transactions without an end at the destination: seen, and ended (policy/unended.py says how)."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from confluent_kafka import KafkaException

from causeway.errors import IntegrityError
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.failures import error_of
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.outcome import Again, Fenced
from causeway.kafka.tails import read_spans
from causeway.kafka.transaction import TransactionalDelivery
from causeway.model.cluster import Cluster
from causeway.model.filtering import Record
from causeway.model.order import Limits, ledger_topic, offset_map_topic, transactional_id
from causeway.model.position import Position, SourcePartition
from causeway.model.record import CONTROL, decode
from causeway.policy.runs import Run
from causeway.policy.unended import Landed, Spot, witnesses

Written = tuple[bytes, bytes]  # key and value

WAIT_SECONDS = 2.0
"""So long a transaction of somebody else may take, who writes to the same partition."""
LOOK_SECONDS = 0.05
READ_SECONDS = 30.0
AGAIN_SECONDS = 60.0
"""So long a commit is tried again: given up, its records in the ledger are thrown away."""
KEY = b"causeway"
"""Of the record that is thrown away: a compacted topic takes none without a key."""


def open_from(view: ClusterView, spots: Collection[Spot]) -> dict[Spot, int]:
    """Partitions in which something stays open that is there now, and the offset from which on."""
    ends, deadline = view.offsets(spots, "latest"), time.monotonic() + WAIT_SECONDS
    while True:
        stable = view.offsets(ends, "stable")
        found = {spot: offset for spot, offset in stable.items() if offset < ends[spot]}
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(LOOK_SECONDS)


def is_visible(cluster: Cluster, spot: Spot, offset: int) -> bool | None:
    """Whether whoever reads what is committed sees a record here; None where the log begins behind it.

    Nothing is open before it.
    """
    try:
        found = read_spans(cluster, {spot: (offset, offset + 1)}, lambda record: record.offset)
    except IntegrityError:
        return None
    return found[spot] == [offset]


def written_from(view: ClusterView, spot: Spot, offset: int) -> list[Written]:
    """Records from here on, committed or not, but for those that are to be thrown away."""
    end = view.all_offsets([spot], "latest")[spot]

    def content(record: Record) -> Written:
        return record.key or b"", record.value or b""

    found = read_spans(view.cluster, {spot: (offset, end)}, content, committed=False)[spot]
    return [(key, value) for key, value in found if key != KEY and value]


def landed(entry: Written) -> Landed:
    """A record of the offset map."""
    cluster, topic, partition = entry[0].decode().split("|")
    body = json.loads(entry[1])
    to_topic, _, to_partition = body["to"]
    return Landed(
        SourcePartition(cluster, topic, int(partition)),
        body["topic_id"],
        (to_topic, to_partition),
        tuple(Run(*run) for run in body["runs"]),
    )


def abort(cluster: Cluster, transactional_id: str, seconds: float, spots: Iterable[Spot]) -> None:
    """A transaction with a record in each, thrown away: its markers end whatever the id left open there.

    It fences the id: whoever used it starts again.
    """
    producer = clients.producer(
        cluster, transactional_id=transactional_id, transaction_timeout_ms=int(1_000 * seconds)
    )
    try:
        producer.list_topics(timeout=seconds)
        producer.init_transactions(seconds)
        producer.begin_transaction()
        for topic, partition in spots:
            producer.produce(topic, None, KEY, partition)
        left = producer.flush(seconds)
        producer.abort_transaction(seconds)
    except KafkaException as exception:
        raise Again(f"ending a transaction on {cluster.alias}: {error_of(exception).str()}") from None
    if left:
        raise Again(f"ending a transaction on {cluster.alias}: {left} records were not acknowledged")


def commit_again(
    cluster: Cluster, transactional_id: str, limits: Limits, written: Mapping[Spot, Sequence[Written]]
) -> None:
    """Write what is open once more, and commit both. It fences the id.

    Where this is aborted, the records are thrown away with it: so it is tried until it is done.
    """
    deadline = time.monotonic() + AGAIN_SECONDS
    while True:
        delivery = TransactionalDelivery(cluster, limits, "none", transactional_id=transactional_id)
        try:
            delivery.fence()
            delivery.commit([(*spot, *entry) for spot, entries in written.items() for entry in entries])
            return
        except (Again, Fenced):
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK_SECONDS)
        finally:
            delivery.close()


def end_ledger(view: ClusterView, mirror: str, shard: int, limits: Limits, opened: Mapping[Spot, int]) -> str:
    """End a shard's transaction that is open in the ledger. The shard is fenced; answers what was done."""
    name = transactional_id(mirror, shard)
    spots = [(ledger_topic(mirror), shard), (offset_map_topic(mirror), shard)]
    ledger = spots[0]
    written = {spot: written_from(view, spot, opened[spot]) for spot in spots if spot in opened}
    said = witnesses(
        _positions(view.cluster, mirror, shard, opened[ledger]),
        [record for _, value in written[ledger] if isinstance(record := decode(value), Position)],
        [landed(entry) for entry in written.get(spots[1], ())],
    )
    where = f"{ledger[0]}[{shard}] from offset {opened[ledger]}"
    stable = view.offsets(said.seen, "stable")
    for spot, offset in said.seen.items():
        if stable.get(spot, -1) > offset and is_visible(view.cluster, spot, offset):
            commit_again(view.cluster, name, limits, written)
            seen = f"{spot[0]}[{spot[1]}] offset {offset}"
            return f"a commit that a broker forgot half of was repeated: {where}; {seen} had been committed"
    if said.silent:
        raise IntegrityError(
            "a transaction has no end, and nobody can tell whether it was committed",
            where=where,
            why="a broker that started again forgot it; keys chose where these went: "
            + ", ".join(map(str, sorted(said.silent))),
            todo=f"compare with `causeway verify`; `kafka-transactions.sh abort --topic {ledger[0]}"
            f" --partition {shard} --start-offset {opened[ledger]}` throws it away",
        )
    abort(view.cluster, name, limits.transaction_timeout, written)
    return f"a transaction without an end was thrown away: {where}"


def end_ledgers(view: ClusterView, mirror: str, shards: Iterable[int], limits: Limits) -> list[str]:
    """The same of all shards; they are fenced."""
    spots = {shard: [(ledger_topic(mirror), shard), (offset_map_topic(mirror), shard)] for shard in shards}
    opened = open_from(view, [spot for both in spots.values() for spot in both])
    return [
        end_ledger(view, mirror, shard, limits, opened) for shard, both in spots.items() if both[0] in opened
    ]


def end_control(view: ClusterView, mirror: str, limits: Limits) -> bool:
    """Throw away what the driver left open in the control partition; whether anything was.

    Nothing but the driver's records is in such a transaction, most often a heartbeat. Where positions moved
    with it, they were not committed without the generation that they are of.
    """
    ledger = ledger_topic(mirror)
    if not open_from(view, [(ledger, CONTROL)]):
        return False
    partitions = view.describe([ledger])[ledger].partitions
    spots = open_from(view, [(ledger, number) for number in range(partitions)])
    abort(view.cluster, transactional_id(mirror, CONTROL), limits.transaction_timeout, spots)
    return True


def _positions(cluster: Cluster, mirror: str, shard: int, end: int) -> dict[SourcePartition, Position]:
    reader = LedgerReader(cluster, mirror, [shard])
    try:
        return reader.read_to({shard: end}, READ_SECONDS).positions
    finally:
        reader.close()
