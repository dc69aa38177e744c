"""What earlier attempts left open at the destination, ended before anything is written behind it.

The shard is fenced, so nothing of it can be open. A broker that started again may have left markers out all
the same: policy/unended.py has the cases.
"""

from __future__ import annotations

from collections.abc import Mapping

from causeway.errors import CausewayError, IntegrityError
from causeway.kafka import unended
from causeway.kafka.admin import ClusterView
from causeway.kafka.outcome import Again
from causeway.model.order import Order
from causeway.model.position import Position, SourcePartition
from causeway.pipeline.memory import Memory
from causeway.policy.unended import Spot, is_known, to_abort


def left_open(order: Order, destination: ClusterView, memory: Memory) -> dict[Spot, int]:
    """Partitions of this shard in which something stays open behind the fence, and from where.

    Raises Again where the ledger was one of them, and has been ended: it could not be read to its end.
    """
    if order.delivery != "exactly-once":
        return {}
    ledger = (order.ledger, order.shard)
    places = {lane.place for lane in order.lanes if lane.place.partition >= 0}
    spots = {ledger, _map(order), *((place.topic, place.partition) for place in places)}
    try:
        opened = unended.open_from(destination, spots)
        if ledger in opened and ledger not in memory.ended:
            told = unended.end_ledger(destination, order.mirror, order.shard, order.limits, opened)
            memory.ended |= {ledger, _map(order)}
            raise Again(told)
    except IntegrityError:
        raise
    except CausewayError as error:
        raise Again(str(error)) from None
    return opened


def end_leftovers(
    order: Order,
    destination: ClusterView,
    opened: Mapping[Spot, int],
    found: Mapping[SourcePartition, Position],
    memory: Memory,
) -> None:
    """The ledger was read to its end: what it does not know is thrown away, what it does must be there.

    Raises Again where something was ended.
    """
    known: dict[Spot, Position] = {}
    for position in found.values():
        spot = (position.place.topic, position.place.partition)
        if spot not in known or known[spot].place_end < position.place_end:
            known[spot] = position
    try:
        _check_doubts(order, opened, memory)
        new = {spot: at for spot, at in opened.items() if spot not in memory.ended}
        if _map(order) in new:
            _end_map(order, destination, new[_map(order)], found, memory)
    except IntegrityError:
        raise
    except CausewayError as error:
        raise Again(str(error)) from None
    left = to_abort(new, {spot: position.place_end for spot, position in known.items()})
    for spot, at in new.items():
        if spot not in left:
            memory.doubts[spot] = known[spot]
            what = "a transaction is open before what was carried there"
            memory.say("warning", f"{_name(spot)} at the destination is hidden from offset {at} on: {what}")
    if left:
        unended.abort(order.destination, order.transactional_id, order.limits.transaction_timeout, left)
        memory.ended |= set(left)
        where = ", ".join(f"{_name(spot)} from {offset}" for spot, offset in left.items())
        raise Again(f"a transaction without an end was thrown away, if it was ours: {where}")
    memory.ended.clear()


def _end_map(
    order: Order,
    destination: ClusterView,
    at: int,
    found: Mapping[SourcePartition, Position],
    memory: Memory,
) -> None:
    """The map's records share the fate of the ledger's, which are there or are not."""
    spot, name = _map(order), order.transactional_id
    written = unended.written_from(destination, spot, at)
    if any(is_known(unended.landed(entry), found) for entry in written):
        unended.commit_again(order.destination, name, order.limits, {spot: written})
        memory.ended.add(spot)
        raise Again(f"a commit that a broker forgot half of was repeated: {_name(spot)} from {at}")


def _check_doubts(order: Order, opened: Mapping[Spot, int], memory: Memory) -> None:
    for spot, position in list(memory.doubts.items()):
        if spot in opened:
            continue
        if unended.is_visible(order.destination, spot, position.place_end - 1) is False:
            raise IntegrityError(
                "records that the ledger knows as carried were thrown away at the destination",
                where=f"{_name(spot)}, up to offset {position.place_end}",
                why=f"a broker forgot a commit, and the transaction behind it was aborted; their source is"
                f" {position.source}, before offset {position.offset}",
                todo="`causeway verify` shows which are missing, `causeway offsets skip --back` moves before"
                " them",
            )
        del memory.doubts[spot]


def _map(order: Order) -> Spot:
    return (order.offset_map, order.shard)


def _name(spot: Spot) -> str:
    return f"{spot[0]}[{spot[1]}]"
