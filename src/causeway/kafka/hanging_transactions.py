"""Finds and ends hanging transactions at the destination.

`replication/rules/hanging_transactions.py` has the rules.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaException

from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterRecord
from causeway.core.ledger_record import CONTROL, decode
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import Limits, ledger_topic, offset_map_topic, transactional_id
from causeway.core.topic import Spot
from causeway.errors import IntegrityError, Unreachable
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.failures import error_of
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.offset_map import decode_entry, tail
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.range_reader import read_spans
from causeway.kafka.task_errors import Again, Fenced
from causeway.kafka.transaction import Transaction
from causeway.rules.ledger_consistency import MapEntry, contradicted
from causeway.rules.ledger_state import LedgerState

WAIT_SECONDS = 2.0
"""How long to wait for transactions of other producers in the same partition."""
LOOK_SECONDS = 0.05
READ_SECONDS = 30.0
AGAIN_SECONDS = 60.0
"""How long a commit is retried: giving up discards its records in the ledger."""
KeyAndValue = tuple[bytes, bytes]  # key and value
Written = Mapping[Spot, Sequence[KeyAndValue]]

KEY = b"causeway"
"""Key of the record that `abort` writes and discards: a compacted topic rejects records without a key."""


@dataclass(frozen=True, slots=True)
class OpenTransactions:
    """Transactions that stay open in some partitions, of what was there when `look` began."""

    opened: dict[Spot, int]  # and from which offset on
    ends: dict[Spot, int]
    unseen: set[Spot]  # they did not respond

    def all_seen(self, view: ClusterView, spots: Collection[Spot]) -> None:
        """Raise Unreachable where one of these did not respond."""
        for spot in sorted(self.unseen.intersection(spots)):
            raise Unreachable(
                f"{_name(spot)} has no leader, or it does not respond: open transactions there are unknown",
                where=f'cluster "{view.cluster.alias}" at {view.cluster.bootstrap_servers}',
            )


def look(view: ClusterView, spots: Collection[Spot], patience: float = WAIT_SECONDS) -> OpenTransactions:
    ends, deadline = view.offsets(spots, "latest"), time.monotonic() + patience
    while True:
        stable = view.offsets(ends, "stable")
        opened = {spot: offset for spot, offset in stable.items() if offset < ends[spot]}
        if not opened or time.monotonic() > deadline:
            return OpenTransactions(opened, ends, set(spots) - stable.keys())
        time.sleep(LOOK_SECONDS)


def open_from(view: ClusterView, spots: Collection[Spot]) -> dict[Spot, int]:
    """Return partitions in which a transaction stays open, and its offset; each partition must respond."""
    hanging = look(view, spots)
    hanging.all_seen(view, spots)
    return hanging.opened


def is_visible(cluster: Cluster, spot: Spot, offset: int, *, committed: bool = True) -> bool:
    """Whether a record can be read at this offset. No transaction is open before it."""
    span = {spot: (offset, offset + 1)}
    try:
        return read_spans(cluster, span, lambda record: record.offset, committed=committed)[spot] == [offset]
    except IntegrityError:
        return False  # the log begins after it


def was_aborted(cluster: Cluster, spot: Spot, offset: int) -> bool:
    """Whether a record is there and not committed; one that retention or compaction deleted is not there."""
    return not is_visible(cluster, spot, offset) and is_visible(cluster, spot, offset, committed=False)


def aborted_ends(view: ClusterView, ends: Mapping[Spot, int]) -> list[Spot]:
    """Return the partitions whose record before this end is there and not committed.

    Nothing is open in them. Where a log does not reach that far, or the record was deleted, nothing is
    returned: other checks report that.
    """
    stable = view.offsets(ends, "stable")
    spans = {spot: (end - 1, end) for spot, end in ends.items() if stable.get(spot, -1) >= end}
    starts = view.offsets(spans, "earliest")
    spans = {spot: span for spot, span in spans.items() if starts.get(spot, span[1]) <= span[0]}
    read = read_spans(view.cluster, spans, lambda record: record.offset)
    return [spot for spot in spans if not read[spot] and was_aborted(view.cluster, spot, ends[spot] - 1)]


def written_from(view: ClusterView, spot: Spot, offset: int) -> list[KeyAndValue]:
    """Return the records from this offset on, committed or not, except those that `abort` writes."""
    end = view.all_offsets([spot], "latest")[spot]

    def content(record: FilterRecord) -> KeyAndValue:
        return record.key or b"", record.value or b""

    entries = read_spans(view.cluster, {spot: (offset, end)}, content, committed=False)[spot]
    return [entry for entry in entries if entry[0] != KEY]


def abort(
    view: ClusterView, transactional_id: str, seconds: float, spots: Iterable[Spot], since: Mapping[Spot, int]
) -> None:
    """Write a record to each, and abort: the transaction's markers end whatever the id left open there.

    This fences the id: the task that used it restarts. A task that was believed dead may do this to the task
    that took its place, because of what it saw before it slept. `since` shows what that task has written
    meanwhile: it holds partitions in which only this id writes, and where they ended. If they have grown,
    nothing is aborted.
    """
    cluster = view.cluster
    producer = clients.producer(
        cluster, transactional_id=transactional_id, transaction_timeout_ms=int(1_000 * seconds)
    )
    try:
        producer.list_topics(timeout=seconds)
        producer.init_transactions(seconds)
        if view.all_offsets(since, "latest") != since:
            raise Again(f"another producer has written under {transactional_id} meanwhile")
        producer.begin_transaction()
        try:
            for topic, partition in spots:
                producer.produce(topic, None, KEY, partition)
            left = producer.flush(seconds)
        finally:  # never destroy a producer in an open transaction (`Transaction.abandon` says why)
            producer.abort_transaction(seconds)
    except KafkaException as exception:
        raise Again(f"ending a transaction on {cluster.alias}: {error_of(exception).str()}") from None
    if left:
        raise Again(f"ending a transaction on {cluster.alias}: {left} records were not acknowledged")


def commit_again(
    view: ClusterView, transactional_id: str, limits: Limits, opened: Mapping[Spot, int], written: Written
) -> None:
    """Write the open records once more, and commit both copies. This fences the id.

    If this transaction is aborted, the open records are aborted with it: so it is retried until it commits,
    for AGAIN_SECONDS. The partitions must hold what was found, or copies of it from an earlier try: anything
    else was written by a task that took our place.
    """
    deadline = time.monotonic() + AGAIN_SECONDS
    while True:
        producer = DestinationProducer(view.cluster, limits, "none", Transaction(transactional_id))
        try:
            producer.fence()
            for spot, entries in written.items():
                if {*written_from(view, spot, opened[spot])} != {*entries}:
                    raise Fenced(f"another producer has written under {transactional_id} meanwhile")
            producer.commit([(*spot, *entry) for spot, entries in written.items() for entry in entries])
            return
        except (Again, Unreachable):
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK_SECONDS)
        finally:
            producer.close()


@dataclass(frozen=True, slots=True)
class LedgerEnd:
    """How a transaction that was open in the ledger was ended."""

    what: str
    aborted: frozenset[SourcePartition] = frozenset()  # their positions were aborted with it


def end_ledger(
    view: ClusterView, mirror: str, shard: int, limits: Limits, hanging: OpenTransactions
) -> LedgerEnd:
    """End a shard's open transaction in the ledger. This fences the shard's id."""
    name = transactional_id(mirror, shard)
    ledger, mapped = spots = (ledger_topic(mirror), shard), (offset_map_topic(mirror), shard)
    opened = {spot: hanging.opened[spot] for spot in spots if spot in hanging.opened}
    written = {spot: written_from(view, spot, offset) for spot, offset in opened.items()}
    where = f"{_name(ledger)} from offset {opened[ledger]}"
    if mapped in written:
        seen = _visible_entry(view, [decode_entry(*entry) for entry in written[mapped]])
    else:
        image = _read_to(view.cluster, mirror, shard, opened[ledger])
        seen = contradicted(tail(view, [mapped]), image.positions, image.gaps.values())
    if seen is None:
        abort(view, name, limits.transaction_timeout, opened, {ledger: hanging.ends[ledger]})
        records = [decode(value) for _, value in written[ledger]]
        aborted = frozenset(record.source for record in records if isinstance(record, Position))
        return LedgerEnd(f"a hanging transaction was aborted: {where}", aborted)
    commit_again(view, name, limits, opened, written)
    there = f"{seen.source} is visible up to offset {seen.end} in {_name(seen.place)}"
    return LedgerEnd(f"a commit of which a broker forgot a part was repeated: {where}; {there}")


def _visible_entry(view: ClusterView, entries: Sequence[MapEntry]) -> MapEntry | None:
    """Return one of these whose last record can be read."""
    stable = view.all_offsets({entry.place for entry in entries}, "stable")  # all must respond
    for entry in entries:
        last = entry.place_end - 1
        if stable[entry.place] > last and is_visible(view.cluster, entry.place, last):
            return entry
    return None


def end_ledgers(view: ClusterView, mirror: str, shards: Iterable[int], limits: Limits) -> list[str]:
    """Do the same for all these shards; the caller has fenced them."""
    ledgers = {shard: (ledger_topic(mirror), shard) for shard in shards}
    spots = [*ledgers.values(), *((offset_map_topic(mirror), shard) for shard in ledgers)]
    hanging = look(view, spots)
    hanging.all_seen(view, spots)
    ended = [
        end_ledger(view, mirror, shard, limits, hanging).what
        for shard, ledger in ledgers.items()
        if ledger in hanging.opened
    ]
    for ledger, offset in (open_from(view, ledgers.values()) if ended else {}).items():
        refuse_foreign(ledger, offset)
    return ended


def refuse_foreign(spot: Spot, offset: int) -> None:
    """Raise: the shard's id has ended its own transactions here, the open one is the driver's or foreign.

    The driver writes to shards with a new generation, whose own record shows whether it was committed.
    """
    raise IntegrityError(
        "a transaction hangs in the mirror's own topics, and its shard cannot end it",
        where=f"{_name(spot)} from offset {offset}",
        why="a broker that restarted forgot it, or another producer writes there",
        todo=f"find its producer (`kafka-transactions.sh find-hanging --topic {spot[0]}`); an abort"
        " discards positions",
    )


def end_control(view: ClusterView, mirror: str, limits: Limits) -> bool:
    """Abort what the driver left open in the control partition. Returns whether anything was open.

    Such a transaction holds only the driver's records, most often a heartbeat. Where it also moved positions,
    they were not committed without the generation that they belong to.
    """
    control = (ledger_topic(mirror), CONTROL)
    hanging = look(view, [control])
    hanging.all_seen(view, [control])
    if control not in hanging.opened:
        return False
    partitions = view.describe([control[0]])[control[0]].partitions
    spots = open_from(view, [(control[0], number) for number in range(partitions)])
    name = transactional_id(mirror, CONTROL)
    abort(view, name, limits.transaction_timeout, {control, *spots}, {control: hanging.ends[control]})
    return True


def _read_to(cluster: Cluster, mirror: str, shard: int, end: int) -> LedgerState:
    reader = LedgerReader(cluster, mirror, [shard])
    try:
        return reader.read_to({shard: end}, READ_SECONDS)
    finally:
        reader.close()


def _name(spot: Spot) -> str:
    return f"{spot[0]}[{spot[1]}]"
