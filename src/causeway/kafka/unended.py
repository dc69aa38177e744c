"""Transactions without an end at the destination: seen, and ended (policy/unended.py says how)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from confluent_kafka import KafkaException

from causeway.errors import IntegrityError, Unreachable
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.failures import error_of
from causeway.kafka.ledger import LedgerImage, LedgerReader
from causeway.kafka.offset_map import landed, tail
from causeway.kafka.outcome import Again, Fenced
from causeway.kafka.tails import read_spans
from causeway.kafka.transaction import TransactionalDelivery
from causeway.model.cluster import Cluster
from causeway.model.filtering import Record
from causeway.model.order import Limits, ledger_topic, offset_map_topic, transactional_id
from causeway.model.record import CONTROL
from causeway.policy.testimony import Landed, Spot, contradicted

WAIT_SECONDS = 2.0
"""So long a transaction of somebody else may take, who writes to the same partition."""
LOOK_SECONDS = 0.05
READ_SECONDS = 30.0
AGAIN_SECONDS = 60.0
"""So long a commit is tried again: given up, its records in the ledger are thrown away."""
KEY = b"causeway"
"""Of the record that is thrown away: a compacted topic takes none without a key."""


def look_for_open(
    view: ClusterView, spots: Collection[Spot], patience: float
) -> tuple[dict[Spot, int], set[Spot]]:
    """Partitions in which something stays open that is there now, and from where; and those nobody knows."""
    ends, deadline = view.offsets(spots, "latest"), time.monotonic() + patience
    while True:
        stable = view.offsets(ends, "stable")
        found = {spot: offset for spot, offset in stable.items() if offset < ends[spot]}
        if not found or time.monotonic() > deadline:
            return found, set(spots) - stable.keys()
        time.sleep(LOOK_SECONDS)


def open_from(view: ClusterView, spots: Collection[Spot]) -> dict[Spot, int]:
    """The same where each must answer."""
    found, unknown = look_for_open(view, spots, WAIT_SECONDS)
    must_answer(view, unknown)
    return found


def must_answer(view: ClusterView, unknown: Collection[Spot]) -> None:
    for spot in sorted(unknown):
        raise Unreachable(
            f"{_name(spot)} has no leader, or it does not answer: nobody knows what is open there",
            where=f'cluster "{view.cluster.alias}" at {view.cluster.bootstrap_servers}',
        )


def is_visible(cluster: Cluster, spot: Spot, offset: int, *, committed: bool = True) -> bool:
    """Whether a record can be read here. Nothing is open before it."""
    span = {spot: (offset, offset + 1)}
    try:
        return read_spans(cluster, span, lambda record: record.offset, committed=committed)[spot] == [offset]
    except IntegrityError:
        return False  # the log begins behind it


def was_aborted(cluster: Cluster, spot: Spot, offset: int) -> bool:
    """Whether a record is there and not committed; retention and compaction leave none."""
    return not is_visible(cluster, spot, offset) and is_visible(cluster, spot, offset, committed=False)


def written_from(view: ClusterView, spot: Spot, offset: int) -> list[Record]:
    """Records from here on, committed or not, but for those that are to be thrown away."""
    end = view.all_offsets([spot], "latest")[spot]
    found = read_spans(view.cluster, {spot: (offset, end)}, lambda record: record, committed=False)[spot]
    return [record for record in found if record.key != KEY]


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
    cluster: Cluster, transactional_id: str, limits: Limits, written: Mapping[Spot, Sequence[Record]]
) -> None:
    """Write what is open once more, and commit both. It fences the id.

    Where this is aborted, the records are thrown away with it: so it is tried until it is done.
    """
    deadline = time.monotonic() + AGAIN_SECONDS
    while True:
        delivery = TransactionalDelivery(cluster, limits, "none", transactional_id=transactional_id)
        try:
            delivery.fence()
            delivery.commit(
                [
                    (*spot, one.key or b"", one.value or b"")
                    for spot, found in written.items()
                    for one in found
                ]
            )
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
    ledger, mapped = spots = (ledger_topic(mirror), shard), (offset_map_topic(mirror), shard)
    written = {spot: written_from(view, spot, opened[spot]) for spot in spots if spot in opened}
    where = f"{_name(ledger)} from offset {opened[ledger]}"
    if mapped in written:
        seen = _one_in_sight(view, [landed(record) for record in written[mapped]])
    else:
        image = _read_to(view.cluster, mirror, shard, opened[ledger])
        seen = contradicted(tail(view, [mapped]), image.positions, image.gaps.values())
    if seen is None:
        abort(view.cluster, name, limits.transaction_timeout, written)
        return f"a transaction without an end was thrown away: {where}"
    commit_again(view.cluster, name, limits, written)
    there = f"{seen.source} was seen up to offset {seen.end} in {_name(seen.place)}"
    return f"a commit that a broker forgot half of was repeated: {where}; {there}"


def _one_in_sight(view: ClusterView, said: Sequence[Landed]) -> Landed | None:
    """One of these whose last record can be read."""
    stable = view.offsets({one.place for one in said}, "stable")
    for one in said:
        last = one.place_end - 1
        if stable.get(one.place, -1) > last and is_visible(view.cluster, one.place, last):
            return one
    return None


def end_ledgers(view: ClusterView, mirror: str, shards: Iterable[int], limits: Limits) -> list[str]:
    """The same of all shards; they are fenced."""
    spots = {shard: [(ledger_topic(mirror), shard), (offset_map_topic(mirror), shard)] for shard in shards}
    ledgers = [ledger for ledger, _ in spots.values()]
    opened = open_from(view, [spot for both in spots.values() for spot in both])
    told = [
        end_ledger(view, mirror, shard, limits, opened) for shard, both in spots.items() if both[0] in opened
    ]
    for ledger, offset in (open_from(view, ledgers) if told else {}).items():
        refuse_foreign(ledger, offset)
    return told


def refuse_foreign(spot: Spot, offset: int) -> None:
    """The shard's id has ended what it had here, and something stays open: the driver's, or a stranger's.

    The driver writes to shards with a new generation, whose own record tells whether it was committed.
    """
    raise IntegrityError(
        "a transaction in the mirror's own topics has no end, and its shard cannot end it",
        where=f"{_name(spot)} from offset {offset}",
        why="a broker that started again forgot it, or another producer writes there",
        todo=f"find out whose it is (`kafka-transactions.sh find-hanging --topic {spot[0]}`); what is thrown"
        " away there are positions",
    )


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


def _read_to(cluster: Cluster, mirror: str, shard: int, end: int) -> LedgerImage:
    reader = LedgerReader(cluster, mirror, [shard])
    try:
        return reader.read_to({shard: end}, READ_SECONDS)
    finally:
        reader.close()


def _name(spot: Spot) -> str:
    return f"{spot[0]}[{spot[1]}]"
