"""The ledgers of all mirrors that write to a cluster, as far as other mirrors have to know them.

Read in one pass, up to the last stable offset: nothing is waited for. What a mirror has not committed by
then, it commits later, and reads the other ledgers after that.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from causeway.errors import AccessDenied
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.failures import as_user_error, is_denied, is_gone
from causeway.model.position import Position
from causeway.model.record import CONTROL, Heartbeat, Lease, Record, RouteClaim, UnknownRecord, decode
from causeway.model.route import Spot

READ_SECONDS = 15.0
_LEDGER = re.compile(r"__causeway\.(.+)\.ledger")
_CLAIM, _SIGNS = b"claim|", (b"heartbeat|0", b"lease")


@dataclass(slots=True)
class OtherLedger:
    """What another mirror's ledger says about its routes."""

    mirror: str
    claims: dict[Spot, RouteClaim] = field(default_factory=dict)
    beat: int = 0  # when its driver was heard of last, in milliseconds
    begun: int = 0  # when its driver started last
    positions: list[Position] = field(default_factory=list)  # where it has no claims: an older version's
    unread: bool = False  # a partition of it may not be read, has no leader, or that does not answer


def other_ledgers(
    view: ClusterView, group: str, leave_out: Collection[str], topics: Collection[Spot]
) -> list[OtherLedger]:
    """The ledgers of other mirrors on this cluster; positions of these source topics alone."""
    names = {name: found[1] for name in view.topic_names() if (found := _LEDGER.fullmatch(name))}
    names = {name: mirror for name, mirror in names.items() if mirror not in leave_out}
    others = {name: OtherLedger(mirror) for name, mirror in names.items()}
    control = [(name, CONTROL) for name in names]
    unread: set[str] = set()
    signs = _newest(view, group, control, lambda key: key in _SIGNS or key.startswith(_CLAIM), unread)
    for name, record in signs:
        match record:
            case RouteClaim():
                others[name].claims[record.source] = record
            case Heartbeat():
                others[name].beat = record.at
            case Lease():
                others[name].begun = record.at
    older = [name for name, other in others.items() if not other.claims] if topics else []
    wanted = {f"position|{spot.cluster}|{spot.topic}|".encode() for spot in topics}
    facts = view.describe(older)
    shards = [(name, n) for name in facts for n in range(1, facts[name].partitions)]
    places = _newest(view, group, shards, lambda key: key[: key.rfind(b"|") + 1] in wanted, unread)
    for name, record in places:
        if isinstance(record, Position):
            others[name].positions.append(record)
    for name in unread:
        others[name].unread = True
    return list(others.values())


def _newest(
    view: ClusterView,
    group: str,
    partitions: Sequence[tuple[str, int]],
    wanted: Callable[[bytes], bool],
    unread: set[str],
) -> list[tuple[str, Record]]:
    """The newest record of each wanted key, with the ledger that it is in; `unread` gets those in doubt."""
    answered = _ends(view, partitions)
    unread |= {topic for topic, number in partitions if (topic, number) not in answered}
    ends = {at: end for at, end in answered.items() if end > 0}
    if not ends:
        return []
    cluster, deadline = view.cluster, time.monotonic() + READ_SECONDS
    consumer = clients.consumer(cluster, group, fetch_wait_max_ms=10)
    values: dict[tuple[str, int, bytes], bytes | None] = {}
    assigned = frozenset(ends)
    try:
        with contextlib.suppress(KafkaException):
            consumer.list_topics(
                timeout=READ_SECONDS
            )  # one that does not know the leaders waits for a second
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for topic, number in ends])
        while ends:
            if time.monotonic() > deadline:
                unread |= {topic for topic, _ in ends}
                break
            first = consumer.poll(0.1)
            for message in [first, *consumer.consume(10_000, 0)] if first is not None else ():
                at, error = (message.topic(), message.partition()), message.error()
                if error is None:
                    if wanted(message.key() or b""):
                        values[(*at, message.key())] = message.value()
                    reached = message.offset() + 1
                elif error.code() == KafkaError._PARTITION_EOF or is_gone(error):
                    reached = ends.get(at, 0)
                elif is_denied(error) and at in assigned:  # of that one ledger; it may be said again
                    unread.add(at[0])
                    reached = ends.get(at, 0)
                elif error.retriable() or error.code() == KafkaError._ALL_BROKERS_DOWN:
                    continue
                else:
                    doing = "reading the ledgers of other mirrors"
                    raise as_user_error(error, cluster.alias, cluster.bootstrap_servers, doing)
                if reached >= ends.get(at, 0):
                    ends.pop(at, None)
    finally:
        consumer.close()
    return [(topic, record) for (topic, _, _), value in values.items() if (record := _decoded(value))]


def _ends(view: ClusterView, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Their last stable offsets, as far as the leaders say them, and say them to this user."""
    try:
        return view.offsets(partitions, "stable")
    except AccessDenied:  # one of them is enough to get no answer for any
        found: dict[tuple[str, int], int] = {}
        for one in partitions:
            with contextlib.suppress(AccessDenied):
                found |= view.offsets([one], "stable")
        return found


def _decoded(value: bytes | None) -> Record | None:
    """None for what a newer version wrote: what it means cannot be known here."""
    try:
        return decode(value) if value else None
    except UnknownRecord:
        return None
