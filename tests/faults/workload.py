"""Producers that write records with tokens to a real cluster, and log what they were told about each.

Plain records, committed and aborted transactions, from a seed. Brokers may go away and come back: what was
not answered for certain is unknown, never failed. A transaction whose commit was never asked for cannot
become visible, whatever happened to its abort: the next producer under the id ends it. A commit that was
slow, or a connection that broke, costs the producer its epoch, since librdkafka's own late copy of the
commit could otherwise commit the next transaction.

An abort is answered when it is decided, before its markers are written. A broker that dies in between may
take its partitions for deleted when it comes back and leave the markers out; the next transaction of the id
then commits what was aborted. So an abort is believed when the id's next transaction is under way over
connections that held, and is unknown otherwise.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from faults.content import content, token
from faults.events import DeliveryReport, Ended, Sent
from faults.history import Journal
from faults.record_generator import random_record

KINDS = ("plain", "plain", "commit", "abort")
CERTAIN = {KafkaError._PURGE_QUEUE, KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD}
"""Delivery errors after which a record is not in the log; after any other it may be."""
_SLOW_COMMIT_SECONDS = 1.0
_PATIENCE_SECONDS = 5.0


class Workload:
    """Writes rounds of records; one thread at a time."""

    def __init__(
        self,
        servers: str,
        topics: Mapping[str, int],  # name → partitions
        journal: Journal,
        seed: int,
        *,
        name: str = "w",  # one of its own in a history: it is in every token
        topic_ids: Mapping[str, str] | None = None,
        largest: int = 1024 * 1024,
        kinds: Sequence[str] = KINDS,
    ) -> None:
        self.counts: Counter[str] = Counter()  # sent, ok, failed, unknown, committed, aborted, …
        self.stopping = threading.Event()
        self.topics = dict(topics)
        self._servers, self._journal = servers, journal
        self._places = [(topic, n) for topic, partitions in sorted(topics.items()) for n in range(partitions)]
        self._topic_ids = topic_ids or {}
        self._name, self._largest, self._kinds = name, largest, kinds
        self._random = Random(seed)
        self._numbers = 0
        self._transactions = 0
        self._waiting: set[str] = set()  # tokens that nobody has answered for
        self._plain: Producer | None = None
        self._transactional: _Transactional | None = None
        self._unproven: tuple[str, int] | None = None  # an answered abort, and its records
        self._left_open = False  # a transaction that hides what comes behind it, until a producer ends it
        self._thread: threading.Thread | None = None

    @property
    def visible(self) -> int:
        """Records that are acknowledged, and committed where they had to be."""
        return self.counts["plain ok"] + self.counts["committed records"]

    def start(self, pause_seconds: float = 0.02) -> None:
        """Write round after round in a thread of its own until `stop`."""

        def rounds() -> None:
            while not self.stopping.wait(pause_seconds):
                self.round()

        self._thread = threading.Thread(target=rounds, name=f"workload-{self._name}", daemon=True)
        self._thread.start()

    def stop(self, seconds: float = 60.0) -> None:
        """End the thread, and learn what can be learned about everything that was sent."""
        self.stopping.set()
        if self._thread is not None:
            self._thread.join(seconds)
            assert not self._thread.is_alive(), "the workload's thread does not end"
        self.settle(seconds)

    def round(self) -> None:
        """Some records of one kind."""
        kind = self._random.choice(self._kinds)
        count = self._random.randint(1, 40 if kind != "abort" else 10)
        if kind == "plain":
            for _ in range(count):
                self._plain = self._plain or self._producer(logging.NullHandler())
                self._send(self._plain, "")
            if self._plain is not None:
                self._plain.poll(0)
        else:
            self._transaction(count, commit=kind == "commit")

    def settle(self, seconds: float = 30.0) -> None:
        """No record is on its way any more, no transaction is open; what has no answer stays unknown."""
        deadline = time.monotonic() + seconds
        if self._plain is not None:
            self._plain.flush(seconds)
            self._give_up(self._plain)
        if self._transactional is not None:
            connection = self._transactional.connection
            self._prove(self._unproven is not None and self._fenced() is not None and not connection.shaken)
            self._give_up(self._transactional.producer)
        self._plain = self._transactional = None
        while self._left_open and time.monotonic() < deadline:
            self._fenced()
        for name in sorted(self._waiting):
            self._note_outcome(name, "unknown", why="nobody answered", plain=True)

    def _send(self, producer: Producer, transaction: str) -> bool:
        """Hand over one record. False where it was not taken."""
        self._numbers += 1
        name = token(self._name, self._numbers)
        topic, partition = self._random.choice(self._places)
        rec = random_record(self._random, name, time.time_ns() // 1_000_000, self._largest)
        self._journal.add(
            Sent(
                self._journal.now(), name, topic, partition,
                content(rec.key, rec.value, rec.headers, rec.timestamp, "create"),
                transaction, self._topic_ids.get(topic, ""),
            )
        )  # fmt: skip
        self._waiting.add(name)
        self.counts["sent"] += 1
        plain = not transaction
        while True:
            try:
                producer.produce(
                    topic, value=rec.value, key=rec.key, partition=partition, timestamp=rec.timestamp,
                    headers=list(rec.headers) or None, on_delivery=self._report(name, plain),
                )  # fmt: skip
                return True
            except BufferError:
                producer.poll(0.1)
                if self.stopping.is_set():
                    self._note_outcome(name, "failed", why="never handed over", plain=plain)
                    return False
            except KafkaException as error:  # a producer that cannot go on takes nothing any more
                self._note_outcome(name, "failed", why=str(error), plain=plain)
                if plain:
                    self._give_up(producer)
                    self._plain = None
                return False

    def _report(self, name: str, plain: bool) -> Callable[[Any, Any], None]:
        def report(error: Any, message: Any) -> None:
            if error is None:
                offset = message.offset()
                self._note_outcome(
                    name, "ok", offset=-1 if offset is None or offset < 0 else offset, plain=plain
                )
            else:
                self._note_outcome(
                    name, "failed" if error.code() in CERTAIN else "unknown", str(error), plain=plain
                )

        return report

    def _note_outcome(self, name: str, outcome: Any, why: str = "", offset: int = -1, *, plain: bool) -> None:
        if name in self._waiting:
            self._waiting.discard(name)
            self.counts[f"{'plain' if plain else 'transactional'} {outcome}"] += 1
            self._journal.add(DeliveryReport(self._journal.now(), name, outcome, offset, why))

    def _transaction(self, count: int, *, commit: bool) -> None:
        tx = self._transactional = self._transactional or self._fenced()
        if tx is None:
            return
        self._transactions += 1
        name = f"{self._name}-tx-{self._transactions}"
        sent = 0
        asked = False  # to commit: from here the outcome is the coordinator's
        try:
            tx.producer.begin_transaction()
            for _ in range(count):
                if not self._send(tx.producer, name):
                    raise KafkaException(KafkaError(KafkaError._STATE, "a record was not taken"))
                sent += 1
            if tx.producer.flush(_PATIENCE_SECONDS):
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "records are still on their way"))
            self._prove(not tx.connection.shaken)  # markers come before the next transaction's first record
            if commit:
                began, asked = time.monotonic(), True
                tx.producer.commit_transaction(_PATIENCE_SECONDS)
                tx.connection.shaken |= time.monotonic() - began > _SLOW_COMMIT_SECONDS
                self._end(name, "committed", sent)
            else:
                tx.producer.abort_transaction(_PATIENCE_SECONDS)
                self._unproven = name, sent
        except KafkaException as error:
            tx.connection.shaken = self._left_open = True
            self._prove(False)
            self._end(name, "unknown" if asked else "aborted", sent, str(error))
        if tx.connection.shaken:
            self._prove(False)
            self._give_up(tx.producer)
            self._transactional = None

    def _prove(self, proven: bool) -> None:
        """The abort that was answered last is believed, or is unknown."""
        if self._unproven is not None:
            name, records = self._unproven
            self._unproven = None
            why = "" if proven else "it was answered, and the connection broke before its markers were seen"
            self._end(name, "aborted" if proven else "unknown", records, why)

    def _end(self, transaction: str, outcome: Any, records: int, why: str = "") -> None:
        self.counts[outcome] += 1
        self.counts[f"{outcome} records"] += records
        self._journal.add(Ended(self._journal.now(), transaction, outcome, why))

    def _fenced(self) -> _Transactional | None:
        """A producer with an epoch of its own; None while the brokers are away."""
        connection = _Shaken()
        producer = self._producer(
            connection,
            **{
                "transactional.id": f"workload.{self._name}",
                "transaction.timeout.ms": 15_000,
                "log_level": 5,
            },
        )
        try:
            producer.init_transactions(_PATIENCE_SECONDS)
        except KafkaException:
            return None
        producer.poll(0)
        connection.shaken = self._left_open = False
        return _Transactional(producer, connection)

    def _producer(self, listener: logging.Handler, **more: Any) -> Producer:
        logger = logging.Logger(self._name)
        logger.addHandler(listener)
        return Producer(
            {
                "bootstrap.servers": self._servers, "linger.ms": 5, "enable.idempotence": True, "acks": "all",
                "message.max.bytes": 10_000_000, "queue.buffering.max.messages": 20_000,
                "reconnect.backoff.max.ms": 500, "logger": logger,
                # Without a callback of its own, any call may raise what happened to some connection.
                "error_cb": lambda _error: None, **more,
            }
        )  # fmt: skip

    def _give_up(self, producer: Producer) -> None:
        """Take back what waits, and hear about it; closing would wait for brokers that may be away."""
        producer.purge(in_queue=True, in_flight=True, blocking=True)
        producer.poll(0)


class _Shaken(logging.Handler):
    """Any line that a client logs means that something happened to its connections."""

    def __init__(self) -> None:
        super().__init__()
        self.shaken = False

    def emit(self, record: logging.LogRecord) -> None:
        self.shaken = True


@dataclass(slots=True)
class _Transactional:
    """Nothing may point back to it: a producer that is given up must be gone at once.

    One that still tries to get its epoch would get it later, and fence the one that took its place.
    """

    producer: Producer
    connection: _Shaken
