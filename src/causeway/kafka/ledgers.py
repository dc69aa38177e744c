"""Reads the ledgers of all mirrors that write to a cluster, as far as other mirrors need them.

It reads in one pass, up to the last stable offset, and does not wait for open transactions. What a mirror has
not committed by then, it commits later, and it reads the other ledgers after that.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from causeway.core.ledger_record import (
    CONTROL,
    Heartbeat,
    Lease,
    LedgerRecord,
    RouteClaim,
    UnknownRecord,
    decode,
)
from causeway.core.position import Position
from causeway.core.route import ClusterTopic
from causeway.errors import AccessDenied
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.failures import as_user_error, is_about_group, is_denied, is_gone

READ_SECONDS = 15.0
_LEDGER = re.compile(r"__causeway\.(.+)\.ledger")
_CLAIM, _DRIVER_KEYS = b"claim|", (b"heartbeat|0", b"lease")


@dataclass(slots=True)
class OtherLedger:
    """What another mirror's ledger records about its routes."""

    mirror: str
    claims: dict[ClusterTopic, RouteClaim] = field(default_factory=dict)
    beat: int = 0  # time of its driver's last heartbeat, in milliseconds
    begun: int = 0  # when its driver last started
    positions: list[Position] = field(default_factory=list)  # only where an older version wrote no claims
    unread: bool = False  # in part: no permission, no leader, or the leader does not respond


def other_ledgers(
    view: ClusterView, group: str, exclude: Collection[str], topics: Collection[ClusterTopic]
) -> list[OtherLedger]:
    """Return the ledgers of other mirrors on this cluster; positions only of these source topics."""
    names = {name: match[1] for name in view.topic_names() if (match := _LEDGER.fullmatch(name))}
    names = {name: mirror for name, mirror in names.items() if mirror not in exclude}
    others = {name: OtherLedger(mirror) for name, mirror in names.items()}
    control = [(name, CONTROL) for name in names]
    unread: set[str] = set()
    newest = _newest(view, group, control, lambda key: key in _DRIVER_KEYS or key.startswith(_CLAIM), unread)
    for name, record in newest:
        match record:
            case RouteClaim():
                others[name].claims[record.source] = record
            case Heartbeat():
                others[name].beat = record.at
            case Lease():
                others[name].begun = record.at
    older = [name for name, other in others.items() if not other.claims] if topics else []
    wanted = {f"position|{topic.cluster}|{topic.topic}|".encode() for topic in topics}
    facts = view.describe(older)
    shards = [(name, n) for name in facts for n in range(1, facts[name].partitions)]
    positions = _newest(view, group, shards, lambda key: key[: key.rfind(b"|") + 1] in wanted, unread)
    for name, record in positions:
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
) -> list[tuple[str, LedgerRecord]]:
    """Return the newest record of each wanted key, with its ledger; `unread` gets ledgers not fully read."""
    known = _ends(view, partitions)
    unread |= {topic for topic, number in partitions if (topic, number) not in known}
    ends = {at: end for at, end in known.items() if end > 0}
    if not ends:
        return []
    cluster, deadline = view.cluster, time.monotonic() + READ_SECONDS
    consumer = clients.consumer(cluster, group, fetch_wait_max_ms=10)
    values: dict[tuple[str, int, bytes], bytes | None] = {}
    assigned = frozenset(ends)
    try:
        with contextlib.suppress(KafkaException):
            # A consumer that does not know the leaders waits for a second.
            consumer.list_topics(timeout=READ_SECONDS)
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
                elif is_denied(error) and at in assigned:  # only that ledger; may be reported again
                    unread.add(at[0])
                    reached = ends.get(at, 0)
                elif (
                    error.retriable() or error.code() == KafkaError._ALL_BROKERS_DOWN or is_about_group(error)
                ):
                    continue
                else:
                    doing = "reading the ledgers of other mirrors"
                    raise as_user_error(error, cluster, doing)
                if reached >= ends.get(at, 0):
                    ends.pop(at, None)
    finally:
        consumer.close()
    return [(topic, record) for (topic, _, _), value in values.items() if (record := _decoded(value))]


def _ends(view: ClusterView, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Return last stable offsets; absent where the leader does not respond or this user may not read it."""
    try:
        return view.offsets(partitions, "stable")
    except AccessDenied:  # one denied partition fails the whole request
        ends: dict[tuple[str, int], int] = {}
        for partition in partitions:
            with contextlib.suppress(AccessDenied):
                ends |= view.offsets([partition], "stable")
        return ends


def _decoded(value: bytes | None) -> LedgerRecord | None:
    """Return None for a record of a newer version: its meaning is unknown here."""
    try:
        return decode(value) if value else None
    except UnknownRecord:
        return None
