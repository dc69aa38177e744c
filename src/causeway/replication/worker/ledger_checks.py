"""Checks that an attempt makes on the ledger before it trusts it.

All of them run after the fence, so no other attempt changes what is read here.
"""

from __future__ import annotations

from collections.abc import Mapping

from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import TaskOrder
from causeway.errors import IntegrityError, Superseded
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger_topics import check_ledger
from causeway.kafka.task_errors import Again, LedgerGone
from causeway.planning.rules.write_access import no_access
from causeway.replication.worker.task_state import TaskState
from causeway.rules.integrity import falls_short
from causeway.rules.ledger_state import LedgerState

LOOKS = 5
"""How many attempts in a row must miss it: a broker may not know a topic, or its end, for a moment."""


def find_ledger(order: TaskOrder, destination: ClusterView, task: TaskState) -> None:
    """Check that the ledger exists, and that it is the topic that the order was made with."""
    try:
        facts = destination.describe([order.ledger]).get(order.ledger)
        check_ledger(order.ledger, order.ledger_id, facts, order.destination.alias)
    except LedgerGone as error:
        task.without_ledger += 1
        if task.without_ledger < LOOKS:
            raise
        raise IntegrityError(
            "the ledger was deleted under the mirror",
            where=f'topic {order.ledger} on cluster "{order.destination.alias}"',
            why=str(error),
            todo="its positions are lost: replicate under a new mirror name, or take over what is there:"
            f" delete topic {order.offset_map} and `causeway adopt`",
        ) from None
    task.without_ledger = 0


def check_rights(order: TaskOrder, destination: ClusterView, task: TaskState) -> None:
    """After a denied write: check that the mirror's own topics are writable, before anything else is written.

    Without transactions each attempt would repeat its records and could not record them in the ledger.
    """
    if not task.denied:
        return
    for name, facts in destination.describe([order.ledger, order.offset_map], rights=True).items():
        if facts.writable is False:
            lacking = no_access(name, order.destination.alias, "WRITE", -1)
            raise Again(f"{lacking.what}; {lacking.todo}")


def check_lease(order: TaskOrder, ledger: LedgerState) -> None:
    newest = ledger.newest_lease()
    if newest > order.slice.lease:
        raise Superseded(f"lease {newest} is in force; this order was made under {order.slice.lease}")


def own_positions(order: TaskOrder, ledger: LedgerState) -> dict[SourcePartition, Position]:
    """The positions of this shard's partitions.

    A position of another generation is left over from a partition that moved to another shard. A partition of
    this shard cannot have only such a position: a new generation is written together with all positions.
    Starting it at its beginning would repeat everything, so this raises IntegrityError.
    """
    mine = {lane.source for lane in order.lanes}
    of_shard = {
        source: position for (shard, source), position in ledger.by_partition.items() if shard == order.shard
    }
    for source, position in of_shard.items():
        if source in mine and position.generation != order.slice.generation:
            raise IntegrityError(
                f"the ledger's position of {source} is of generation {position.generation},"
                f" the sharding in force is {order.slice.generation}",
                where=f"{order.ledger}[{order.shard}]",
                todo="the ledger was changed from outside; find out how before this mirror continues",
            )
    return {source: position for source, position in of_shard.items() if source in mine}


def check_reached(order: TaskOrder, positions: Mapping[SourcePartition, Position], task: TaskState) -> None:
    """What was read now must include what this task has committed and what the driver has read.

    Brokers and clients have reported an empty end for an end that they did not know. Continuing from there
    would replicate everything again.
    """
    for lane in order.lanes:
        position, committed = positions.get(lane.source), task.positions.get(lane.source)
        known = [(lane.topic_id, lane.reached)] if lane.reached is not None else []
        known += [(committed.topic_id, committed.offset)] if committed else []
        if any(falls_short(position, topic_id, offset) for topic_id, offset in known):
            shown = f"the ledger shows {lane.source} at {position.offset if position else 'no offset'}"
            least = f"it was at {max(offset for _, offset in known)} before"
            task.short_ledger += 1
            if task.short_ledger < LOOKS:
                raise Again(f"{shown}, {least}: reading it again")
            raise IntegrityError(
                "the ledger has lost what was committed to it",
                where=f"{order.ledger}[{order.shard}]",
                why=f"{shown}, {least}",
                todo="it was changed, or cut off by an unclean election: going on would repeat records;"
                " replicate under a new mirror name, or `causeway adopt` under it",
            )
    task.short_ledger = 0
