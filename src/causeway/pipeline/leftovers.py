"""What earlier attempts left open at the destination, ended before anything is written behind it.

The shard is fenced, so nothing of it can be open. A broker that started again may have left markers out all
the same: policy/unended.py has the cases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from causeway.errors import CausewayError, IntegrityError
from causeway.kafka import unended
from causeway.kafka.admin import ClusterView
from causeway.kafka.offset_map import landed, last_landed
from causeway.kafka.outcome import Again
from causeway.kafka.unended import Sight
from causeway.model.order import Order
from causeway.model.position import Place, Position, SourcePartition
from causeway.model.record import Hidden, Record
from causeway.pipeline.memory import Memory, now_ms
from causeway.policy.testimony import Spot
from causeway.policy.unended import Known, counts, known_to, to_abort

ENOUGH = 2
"""What is open after so many aborts under our id is somebody else's; one of them may be forgotten as well."""


def left_open(order: Order, destination: ClusterView, memory: Memory) -> Sight:
    """Partitions of this shard in which something stays open behind the fence.

    Before anything is written to places that did not answer, this has to be asked again. Raises Again where
    the ledger was open, and has been ended: it could not be read to its end.
    """
    if order.delivery != "exactly-once":
        return Sight({}, {}, set())
    with _unanswered():
        places = {(lane.place.topic, lane.place.partition) for lane in order.lanes}
        by_key = {topic for topic, number in places if number < 0}
        needed = {_ledger(order), _map(order)}
        for topic, facts in (destination.describe(by_key) if by_key else {}).items():
            needed |= {(topic, number) for number in range(facts.partitions)}
        spots = needed | {spot for spot in places if spot[1] >= 0}
        # Other shards write where lanes are shared: an end of theirs comes by itself.
        shared = any(lane.shared or lane.place.partition < 0 for lane in order.lanes)
        patience = order.limits.transaction_timeout / 2 if shared else unended.WAIT_SECONDS
        sight = unended.look(destination, spots, patience)
        sight.all_seen(destination, needed)
        if _ledger(order) in sight.opened:
            _count(_ledger(order), sight, memory)
            told = unended.end_ledger(destination, order.mirror, order.shard, order.limits, sight)
            raise Again(told)
    return sight


def must_be_seen(places: Iterable[Place], unseen: Collection[Spot]) -> None:
    """Nothing is written to a place of which nobody knows what was left open there. Raises Again."""
    for place in places:
        spot = (place.topic, place.partition)
        if spot in unseen:
            raise Again(f"{_name(spot)} answers now: looking what was left open there")


def end_leftovers(
    order: Order,
    destination: ClusterView,
    sight: Sight,
    found: Mapping[SourcePartition, Position],
    hidden: Iterable[Hidden],
    memory: Memory,
) -> list[Record]:
    """The ledger was read to its end: what it does not know is thrown away, what it does must be there.

    Answers what to commit before anything is written to a place. Raises Again where something was ended.
    """
    records = _look(order, destination, sight, found, hidden)
    places = {spot: at for spot, at in sight.opened.items() if spot != _map(order)}
    with _unanswered():
        if _map(order) in sight.opened:
            _count(_map(order), sight, memory)
            _end_map(order, destination, sight, found)
        known = known_to(found.values())
        by_key = {lane.place.topic for lane in order.lanes if lane.place.partition < 0}
        asked = {spot for spot in places if spot[0] in by_key}
        last = last_landed(destination, _map(order), asked) if asked else {}
        known |= {spot: Known.of(one) for spot, one in last.items()}
        left = to_abort(places, known)
        mine = {spot: at for spot, at in left.items() if memory.ended[spot] < ENOUGH}
        if mine:
            _abort(order, destination, sight, mine)
            memory.ended.update(mine.keys())
            where = ", ".join(f"{_name(spot)} from {offset}" for spot, offset in mine.items())
            raise Again(f"a transaction without an end was thrown away, if it was ours: {where}")
    memory.ended.clear()
    written = {one.spot: one.end for one in hidden}
    for spot in places.keys() - left.keys():
        if written.get(spot) != known[spot].end:
            records.append(_hide(spot, places[spot], known[spot], memory))
    return records


def _end_map(
    order: Order, destination: ClusterView, sight: Sight, found: Mapping[SourcePartition, Position]
) -> None:
    """The map's records share the fate of the ledger's, which are there or are not."""
    spot = _map(order)
    at, name = {spot: sight.opened[spot]}, order.transactional_id
    written = {spot: unended.written_from(destination, spot, at[spot])}
    if any(counts(landed(*entry), found) for entry in written[spot]):
        unended.commit_again(destination, name, order.limits, at, written)
        raise Again(f"a commit that a broker forgot half of was repeated: {_name(spot)} from {at[spot]}")
    _abort(order, destination, sight, at)
    raise Again(f"a transaction without an end was thrown away: {_name(spot)} from {at[spot]}")


def _abort(order: Order, destination: ClusterView, sight: Sight, spots: Iterable[Spot]) -> None:
    """Whoever has served the shard since has written to its ledger."""
    since = {_ledger(order): sight.ends[_ledger(order)]}
    unended.abort(destination, order.transactional_id, order.limits.transaction_timeout, spots, since)


def _hide(spot: Spot, at: int, known: Known, memory: Memory) -> Hidden:
    what = f"{_name(spot)} at the destination is hidden from offset {at} on: a transaction is open there,"
    memory.say("warning", f"{what} before offset {known.end}, up to which it was carried")
    return known.hidden(spot, now_ms())


def _look(
    order: Order,
    destination: ClusterView,
    sight: Sight,
    found: Mapping[SourcePartition, Position],
    hidden: Iterable[Hidden],
) -> list[Record]:
    """What was hidden is there, now that nothing is open before it; or it was thrown away."""
    ended = [one for one in hidden if one.spot not in sight.opened]
    with _unanswered():
        still = unended.open_from(destination, {one.spot for one in ended}) if ended else {}
        settled = [one for one in ended if one.spot not in still and one.source in found]
        for one in settled:
            # Whoever has moved the position back since then has them carried again.
            if found[one.source].offset < one.offset:
                continue
            if unended.was_aborted(order.destination, one.spot, one.end - 1):
                raise IntegrityError(
                    "records that the ledger knows as carried were thrown away at the destination",
                    where=f"{_name(one.spot)}, up to offset {one.end}",
                    why="a broker forgot the end of their transaction, and the next one was aborted; their"
                    f" source is {one.source}, before offset {one.offset}",
                    todo="`causeway verify` shows which are missing, `causeway offsets skip --back` moves"
                    " before them",
                )
    return [replace(one, end=-1) for one in settled]


def _count(spot: Spot, sight: Sight, memory: Memory) -> None:
    """Nobody but the mirror writes here: what its shard cannot end was the driver's."""
    if memory.ended[spot] >= ENOUGH:
        unended.refuse_foreign(spot, sight.opened[spot])
    memory.ended[spot] += 1


@contextmanager
def _unanswered() -> Iterator[None]:
    """Brokers that do not answer are asked again by the next attempt."""
    try:
        yield
    except (Again, IntegrityError):
        raise
    except CausewayError as error:
        raise Again(str(error)) from None


def _ledger(order: Order) -> Spot:
    return (order.ledger, order.shard)


def _map(order: Order) -> Spot:
    return (order.offset_map, order.shard)


def _name(spot: Spot) -> str:
    return f"{spot[0]}[{spot[1]}]"
