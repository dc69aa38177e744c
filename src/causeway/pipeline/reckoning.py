"""What the ledger says to an attempt, and whether it can be believed.

Each of these is asked behind the fence, so nobody else moves what is read here.
"""

from __future__ import annotations

from collections.abc import Mapping

from causeway.errors import IntegrityError, Superseded
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger_topics import check_ledger
from causeway.kafka.outcome import Again, LedgerGone
from causeway.model.order import Order
from causeway.model.position import Position, SourcePartition
from causeway.pipeline.memory import Memory
from causeway.policy.image import LedgerImage
from causeway.policy.integrity import falls_short

LOOKS = 5
"""So many attempts in a row must miss it: a broker may not know of a topic, or of its end, for a moment."""


def find_ledger(order: Order, destination: ClusterView, memory: Memory) -> None:
    """It is there, and it is the one that the order was made by."""
    try:
        found = destination.describe([order.ledger]).get(order.ledger)
        check_ledger(order.ledger, order.ledger_id, found, order.destination.alias)
    except LedgerGone as error:
        memory.without_ledger += 1
        if memory.without_ledger < LOOKS:
            raise
        raise IntegrityError(
            "the ledger was deleted under the mirror",
            where=f'topic {order.ledger} on cluster "{order.destination.alias}"',
            why=str(error),
            todo="its positions are gone: carry under a new mirror name, or take over what is there:"
            f" delete topic {order.offset_map} and `causeway adopt`",
        ) from None
    memory.without_ledger = 0


def check_lease(order: Order, image: LedgerImage) -> None:
    newest = image.newest_lease()
    if newest > order.lease:
        raise Superseded(f"lease {newest} rules now; this order was made under {order.lease}")


def positions(order: Order, image: LedgerImage) -> dict[SourcePartition, Position]:
    """Where this shard's partitions stand.

    A position of another generation is a leftover of a partition that moved away. One of our own lanes
    cannot have only that: a new generation is written with all positions there are. To start such a lane
    at its beginning would repeat everything, so nothing goes on.
    """
    mine = {lane.source for lane in order.lanes}
    found = {
        source: position for (shard, source), position in image.by_partition.items() if shard == order.shard
    }
    for source, position in found.items():
        if source in mine and position.generation != order.generation:
            raise IntegrityError(
                f"the ledger's position of {source} is of generation {position.generation},"
                f" the sharding in force is {order.generation}",
                where=f"{order.ledger}[{order.shard}]",
                todo="somebody changed the ledger; do not go on with this mirror before that is understood",
            )
    return {source: position for source, position in found.items() if source in mine}


def check_reached(order: Order, found: Mapping[SourcePartition, Position], memory: Memory) -> None:
    """What this task has committed, and what the driver has read, must be in what was read now.

    Brokers and clients have shown an empty end for one that they did not know. To go on from there would
    carry everything once more.
    """
    for lane in order.lanes:
        position, known = found.get(lane.source), memory.positions.get(lane.source)
        topic_id, offset = (known.topic_id, known.offset) if known else ("", -1)
        if falls_short(position, lane.topic_id, lane.reached) or falls_short(position, topic_id, offset):
            told = f"the ledger shows {lane.source} at {position.offset if position else 'no offset'}"
            least = f"it was at {max(lane.reached, offset)} before"
            memory.short_ledger += 1
            if memory.short_ledger < LOOKS:
                raise Again(f"{told}, {least}: reading it again")
            raise IntegrityError(
                "the ledger has lost what was committed to it",
                where=f"{order.ledger}[{order.shard}]",
                why=f"{told}, {least}",
                todo="it was changed, or cut off by an unclean election: going on would repeat records;"
                " carry under a new mirror name, or `causeway adopt` under it",
            )
    memory.short_ledger = 0
