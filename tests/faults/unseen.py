"""Acknowledged records that were not yet seen on the destination: the lag, by an independent reader.

A thread follows the destination, read_committed and straight from its brokers; the journal has what was
acknowledged. Partitions that the mirror has declared stopped, and offsets that it has declared gone, are not
waited for.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections import defaultdict
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from faults.content import token_in
from faults.events import DeliveryReport, Route, Seen, Sent, TransactionEnded, Verdict
from faults.history import Journal

_QUIET = logging.Logger("follower")
_QUIET.addHandler(logging.NullHandler())
_LOOK_SECONDS = 0.5


class _Due(NamedTuple):
    at: int  # when it was acknowledged
    topic: str
    partition: int
    offset: int  # -1: unknown
    topic_id: str
    sent: int


class PendingRecords:
    """What was acknowledged and has not arrived, from a journal and a set of arrived tokens."""

    def __init__(self, journal: Journal) -> None:
        self.arrived: set[str] = set()  # tokens; a reader adds to them
        self.excuses_stops = True  # False if policies say that no partition may stay stopped
        self.routes: dict[str, str] = {}
        self._journal = journal
        self._read = 0  # events of the journal
        self._sent: dict[str, Sent] = {}  # without a delivery report yet
        self._open_offsets: dict[str, int] = {}  # offsets of records whose transaction is open
        self._in_transaction: dict[str, list[str]] = defaultdict(list)
        self._due: dict[str, _Due] = {}
        self._stopped: set[tuple[str, int]] = set()
        self._newest = -1
        self._lock = threading.Lock()

    def count(self, before: int | None = None, topic: str = "") -> int:
        """How many were acknowledged up to that time, or until now; of one source topic or of all."""
        with self._lock:
            self._settle()
            return sum(
                (before is None or due.at <= before)
                and topic in ("", due.topic)
                and not (self.excuses_stops and (due.topic, due.partition) in self._stopped)
                for due in self._due.values()
            )

    def newest(self) -> int:
        """When the newest record that has arrived was sent.

        Not when it was acknowledged: a mirror may replicate a record before its delivery report, and one
        that is dead by then would seem to be back.
        """
        with self._lock:
            self._settle()
            return self._newest

    def places(self) -> set[str]:
        """Topics of the destination where records may arrive."""
        with self._lock:
            self._listen()
            return set(self.routes.values())

    def _settle(self) -> None:
        self._listen()
        for token in [token for token in self._due if token in self.arrived]:
            self._newest = max(self._newest, self._due.pop(token).sent)

    def _listen(self) -> None:
        events = self._journal.since(self._read)
        self._read += len(events)
        for event in events:
            match event:
                case Route():
                    self.routes[event.topic] = event.to
                case Sent():
                    self._sent[event.token] = event
                    if event.transaction:
                        self._in_transaction[event.transaction].append(event.token)
                case DeliveryReport(outcome="ok") if event.token in self._sent:
                    if self._sent[event.token].transaction:
                        self._open_offsets[event.token] = event.offset
                    else:
                        self._owe(event.token, event.at, event.offset)
                case TransactionEnded():
                    for token in self._in_transaction.pop(event.transaction, ()):
                        offset = self._open_offsets.pop(token, -1)
                        if event.outcome == "committed":
                            self._owe(token, event.at, offset)
                case Seen(side="source") if event.token and event.token in self._sent:
                    self._owe(event.token, event.at, event.offset)  # whatever its delivery report says
                case Verdict(action="stop"):
                    self._stopped.add((event.topic, event.partition))
                case Verdict():
                    self._stopped.discard((event.topic, event.partition))
                    self._forget(event)

    def _owe(self, token: str, at: int, offset: int) -> None:
        sent = self._sent.pop(token, None)
        if sent is not None and sent.topic in self.routes:
            self._due[token] = _Due(at, sent.topic, sent.partition, offset, sent.topic_id, sent.at)

    def _forget(self, gap: Verdict) -> None:
        for token, due in list(self._due.items()):
            same = (due.topic, due.partition) == (gap.topic, gap.partition)
            same = same and (not gap.topic_id or gap.topic_id == due.topic_id)
            if same and gap.expected <= due.offset and (due.offset < gap.found or gap.found < 0):
                del self._due[token]


class Unseen(PendingRecords):
    """The same with a thread that follows the destination until it is closed."""

    def __init__(self, servers: str, journal: Journal) -> None:
        super().__init__(journal)
        self._ending = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers, "group.id": f"follower-{uuid.uuid4().hex}",
                "isolation.level": "read_committed", "enable.auto.commit": False,
                "auto.offset.reset": "earliest", "fetch.wait.max.ms": 100, "reconnect.backoff.max.ms": 500,
                "topic.metadata.refresh.interval.ms": 2_000, "logger": _QUIET,
                "error_cb": lambda _error: None,
            }
        )  # fmt: skip
        self._thread = threading.Thread(target=self._follow, name="follower", daemon=True)
        self._thread.start()

    @property
    def seen(self) -> int:
        """How many records with tokens have arrived."""
        return len(self.arrived)

    def progress(self) -> str:
        """Where the reader is: it may be the one that is stuck."""
        positions = ", ".join(
            f"{place.topic}[{place.partition}]@{place.offset}"
            for place in self._consumer.position(self._consumer.assignment())
        )
        return f"reader {'alive' if self._thread.is_alive() else 'dead'} at {positions}"

    def close(self) -> None:
        self._ending.set()
        self._thread.join(20)
        assert not self._thread.is_alive(), "the follower does not end"

    def _follow(self) -> None:
        look_at = 0.0
        assigned: set[tuple[str, int]] = set()
        try:
            while not self._ending.is_set():
                with contextlib.suppress(KafkaException):
                    if time.monotonic() >= look_at:
                        look_at = time.monotonic() + _LOOK_SECONDS
                        self._assign(assigned)
                    for message in self._consumer.consume(2_000, 0.1):
                        if message.error() is None:
                            name = token_in(message.key(), message.value(), message.headers() or [])
                            self.arrived.add(name)
        finally:
            self._consumer.close()

    def _assign(self, assigned: set[tuple[str, int]]) -> None:
        """Assign partitions that have appeared."""
        wanted = self.places()
        known = self._consumer.list_topics(timeout=5).topics
        found = {(name, number) for name in wanted & known.keys() for number in known[name].partitions}
        new = sorted(found - assigned)
        if new:
            self._consumer.incremental_assign([TopicPartition(*one, OFFSET_BEGINNING) for one in new])
            assigned |= found
