"""Ends transactions that earlier attempts left open at the destination, before anything is written after.

The shard is fenced, so none of its transactions should be open. A broker that restarted may have left out
markers anyway: replication/rules/hanging_transactions.py has the cases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from causeway.core.clock import now_ms
from causeway.core.ledger_record import Hidden, LedgerRecord
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import TaskOrder
from causeway.core.topic import Spot
from causeway.errors import AccessDenied, CausewayError, IntegrityError
from causeway.kafka import hanging_transactions
from causeway.kafka.admin import ClusterView
from causeway.kafka.hanging_transactions import OpenTransactions
from causeway.kafka.offset_map import decode_entry, last_entries, tail
from causeway.kafka.task_errors import Again
from causeway.replication.rules.hanging_transactions import KnownPlace, counts, known_to, to_abort
from causeway.replication.worker.task_state import TaskState

ENOUGH = 2
"""What is open after this many aborts under our id belongs to another producer. A broker may forget one abort
too."""


def find_hanging(order: TaskOrder, destination: ClusterView, task: TaskState) -> OpenTransactions:
    """The partitions of this shard in which a transaction is still open after the fence.

    Places that did not respond must be checked again before anything is written to them. Raises Again if a
    transaction was open in the ledger and has been ended: the ledger could not be read to its end.
    """
    if order.produce.delivery != "exactly-once":
        return OpenTransactions({}, {}, set())
    with _retried():
        places = {(lane.place.topic, lane.place.partition) for lane in order.lanes}
        by_key = {topic for topic, number in places if number < 0}
        needed = {_ledger(order), _map(order)}
        denied: set[str] = set()
        for topic, facts in (destination.describe(by_key, denied=denied) if by_key else {}).items():
            needed |= {(topic, number) for number in range(facts.partitions)}
        spots = needed | {spot for spot in places if spot[1] >= 0}
        # Other shards write to shared places: their transactions end by themselves.
        shared = any(lane.shared or lane.place.partition < 0 for lane in order.lanes)
        patience = order.limits.transaction_timeout / 2 if shared else hanging_transactions.WAIT_SECONDS
        try:
            hanging = hanging_transactions.look(destination, spots, patience)
        except AccessDenied:
            destination.describe({topic for topic, _ in places}, denied=denied)
            if not denied:
                raise
            hanging = hanging_transactions.look(
                destination, {spot for spot in spots if spot[0] not in denied}, patience
            )
        # Partitions with a denied place are not opened; if the permission is granted before, check again.
        hanging.unseen.update(spot for spot in places if spot[0] in denied)
        hanging.all_seen(destination, needed)
        if _ledger(order) in hanging.opened:
            _count(_ledger(order), hanging, task)
            ended = hanging_transactions.end_ledger(
                destination, order.slice.mirror, order.shard, order.limits, hanging
            )
            # The commit may have returned OK, so that this task counts it: a coordinator responds before it
            # writes the markers. Nothing of it was ever visible, and its records are replicated again.
            for source in ended.aborted:
                task.positions.pop(source, None)
            raise Again(ended.what)
    return hanging


def must_be_checked(places: Iterable[Place], unseen: Collection[Spot]) -> None:
    """Raise Again for a place that was not checked for open transactions: nothing may be written to it."""
    for place in places:
        spot = (place.topic, place.partition)
        if spot in unseen:
            raise Again(f"{_name(spot)} responds now: checking for hanging transactions there")


def end_hanging(
    order: TaskOrder,
    destination: ClusterView,
    hanging: OpenTransactions,
    positions: Mapping[SourcePartition, Position],
    hidden: Iterable[Hidden],
    task: TaskState,
) -> list[LedgerRecord]:
    """With the ledger read to its end: abort what it does not count; what it counts must be there.

    Returns the records to commit before anything is written to a place. Raises Again if a transaction was
    ended.
    """
    records = _check_hidden(order, destination, hanging, positions, hidden)
    places = {spot: at for spot, at in hanging.opened.items() if spot != _map(order)}
    with _retried():
        if _map(order) in hanging.opened:
            _count(_map(order), hanging, task)
            _end_map(order, destination, hanging, positions)
        known = known_to(positions.values())
        by_key = {lane.place.topic for lane in order.lanes if lane.place.partition < 0}
        asked = {spot for spot in places if spot[0] in by_key}
        last = last_entries(destination, _map(order), asked) if asked else {}
        known |= {spot: KnownPlace.of(entry) for spot, entry in last.items()}
        left = to_abort(places, known)
        mine = {spot: at for spot, at in left.items() if task.ended[spot] < ENOUGH}
        if mine:
            _abort(order, destination, hanging, mine)
            task.ended.update(mine.keys())
            where = ", ".join(f"{_name(spot)} from {offset}" for spot, offset in mine.items())
            raise Again(f"a hanging transaction was aborted, if it was ours: {where}")
    task.ended.clear()
    written = {record.spot: record.end for record in hidden}
    for spot in places.keys() - left.keys():
        if written.get(spot) != known[spot].end:
            records.append(_hide(spot, places[spot], known[spot], task))
    return records


def _end_map(
    order: TaskOrder,
    destination: ClusterView,
    hanging: OpenTransactions,
    positions: Mapping[SourcePartition, Position],
) -> None:
    """Commit the offset map's open records if the ledger counts one of them, abort them otherwise."""
    spot = _map(order)
    at, name = {spot: hanging.opened[spot]}, order.transactional_id
    written = {spot: hanging_transactions.written_from(destination, spot, at[spot])}
    if any(counts(decode_entry(*entry), positions) for entry in written[spot]):
        hanging_transactions.commit_again(destination, name, order.limits, at, written)
        raise Again(f"a commit of which a broker forgot a part was repeated: {_name(spot)} from {at[spot]}")
    _abort(order, destination, hanging, at)
    raise Again(f"a hanging transaction was aborted: {_name(spot)} from {at[spot]}")


def _abort(
    order: TaskOrder, destination: ClusterView, hanging: OpenTransactions, spots: Iterable[Spot]
) -> None:
    """Abort under the shard's id. A task that served the shard since has written to its ledger: then not."""
    since = {_ledger(order): hanging.ends[_ledger(order)]}
    hanging_transactions.abort(
        destination, order.transactional_id, order.limits.transaction_timeout, spots, since
    )


def _hide(spot: Spot, at: int, known: KnownPlace, task: TaskState) -> Hidden:
    what = f"{_name(spot)} at the destination is hidden from offset {at} on: a transaction is open there,"
    task.add_event("warning", f"{what} before offset {known.end}, up to which records were replicated")
    return known.hidden(spot, now_ms())


def _check_hidden(
    order: TaskOrder,
    destination: ClusterView,
    hanging: OpenTransactions,
    positions: Mapping[SourcePartition, Position],
    hidden: Iterable[Hidden],
) -> list[LedgerRecord]:
    """Check hidden records once nothing is open before them. Raises IntegrityError if they were aborted."""
    ended = [record for record in hidden if record.spot not in hanging.opened]
    with _retried():
        still = (
            hanging_transactions.open_from(destination, {record.spot for record in ended}) if ended else {}
        )
        settled = [record for record in ended if record.spot not in still and record.source in positions]
        for record in settled:
            # The position was moved back since then: they are replicated again.
            if positions[record.source].offset < record.offset:
                continue
            if hanging_transactions.was_aborted(order.destination, record.spot, record.end - 1):
                raise _discarded(record.spot, record.end, record.source, record.offset)
    return [replace(record, end=-1) for record in settled]


def check_last_visible(
    order: TaskOrder,
    destination: ClusterView,
    hanging: OpenTransactions,
    positions: Mapping[SourcePartition, Position],
) -> None:
    """Raise IntegrityError if the records that were committed last are aborted at their places.

    It happens without a trace in the ledger where the producer was not aware that its broker restarted:

        commit of 1 returns OK │ broker is killed before its markers are written
        broker starts          │ 1 ends, its marker is written in the ledger and not at its place
        transaction 2          │ goes to the same place, fails, and is aborted: its marker aborts 1 there

    The offset map names the places: its last entries are of the last transactions.
    """
    if order.produce.delivery != "exactly-once":
        return
    with _retried():
        entries = [entry for entry in tail(destination, [_map(order)]) if counts(entry, positions)]
        last = {entry.place: entry for entry in sorted(entries, key=lambda entry: entry.place_end)}
        # Nothing is written to a place that did not respond, or that is denied, before the next attempt.
        left_out = hanging.opened.keys() | hanging.unseen
        ends = {spot: entry.place_end for spot, entry in last.items() if spot not in left_out}
        for spot in hanging_transactions.aborted_ends(destination, ends):
            raise _discarded(spot, ends[spot], last[spot].source, last[spot].end)


def _discarded(spot: Spot, end: int, source: SourcePartition, offset: int) -> IntegrityError:
    return IntegrityError(
        "records that the ledger counts as replicated were aborted at the destination",
        where=f"{_name(spot)}, up to offset {end}",
        why="a broker forgot the end of their transaction, and the next one was aborted; their"
        f" source is {source}, before offset {offset}",
        todo="`causeway verify` shows which are missing, `causeway offsets skip --back` moves before them",
    )


def _count(spot: Spot, hanging: OpenTransactions, task: TaskState) -> None:
    """Count the aborts. Only the mirror writes here: what its shard cannot end was the driver's."""
    if task.ended[spot] >= ENOUGH:
        hanging_transactions.refuse_foreign(spot, hanging.opened[spot])
    task.ended[spot] += 1


@contextmanager
def _retried() -> Iterator[None]:
    """Raise Again for brokers that do not respond: the next attempt retries."""
    try:
        yield
    except (Again, IntegrityError):
        raise
    except CausewayError as error:
        raise Again(str(error)) from None


def _ledger(order: TaskOrder) -> Spot:
    return (order.ledger, order.shard)


def _map(order: TaskOrder) -> Spot:
    return (order.offset_map, order.shard)


def _name(spot: Spot) -> str:
    return f"{spot[0]}[{spot[1]}]"
