"""Producers that write records with tokens to a real cluster, and log each delivery report.

Plain records, committed and aborted transactions, from a seed. Brokers may go down and come back: an outcome
that is not certain is unknown, never failed. A transaction whose commit was never sent cannot become visible,
whatever happened to its abort: the next producer under the id ends it. After a slow commit or a lost
connection the producer gets a new epoch, since librdkafka's own late copy of the commit could otherwise
commit the next transaction.

The response to an abort comes when it is decided, before its markers are written. A broker that dies in
between may take its partitions for deleted when it comes back, and omit the markers; the next transaction of
the id then commits what was aborted. So an abort is certain when the id's next transaction has records over
connections that held, and unknown otherwise.
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
from faults.events import DeliveryReport, Sent, TransactionEnded
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
        name: str = "w",  # unique in a history: it is in every token
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
        self._waiting: set[str] = set()  # tokens without a delivery report
        self._plain: Producer | None = None
        self._transactional: _Transactional | None = None
        self._unproven: tuple[str, int] | None = None  # an abort that may lack its markers, and its records
        self._left_open = False  # an open transaction hides what comes after it, until a producer ends it
        self._thread: threading.Thread | None = None

    @property
    def visible(self) -> int:
        """Records that are acknowledged, and committed if in a transaction."""
        return self.counts["plain ok"] + self.counts["committed records"]

    def start(self, pause_seconds: float = 0.02) -> None:
        """Write in a thread until `stop`."""

        def rounds() -> None:
            while not self.stopping.wait(pause_seconds):
                self.round()

        self._thread = threading.Thread(target=rounds, name=f"workload-{self._name}", daemon=True)
        self._thread.start()

    def stop(self, seconds: float = 60.0) -> None:
        """End the thread, and wait for the outcome of everything that was sent."""
        self.stopping.set()
        if self._thread is not None:
            self._thread.join(seconds)
            assert not self._thread.is_alive(), "the workload's thread does not end"
        self.settle(seconds)

    def round(self) -> None:
        """Write some records of one kind."""
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
        """Wait until no record is in flight and no transaction is open; without a report it is unknown."""
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
            self._note_outcome(name, "unknown", why="no delivery report", plain=True)

    def _send(self, producer: Producer, transaction: str) -> bool:
        """Produce one record. False if the producer did not take it."""
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
                    self._note_outcome(name, "failed", why="never produced", plain=plain)
                    return False
            except KafkaException as error:  # a producer with a fatal error takes nothing any more
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
        asked = False  # the commit was sent: from here the coordinator decides
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
        """Decide the last abort: certain or unknown."""
        if self._unproven is not None:
            name, records = self._unproven
            self._unproven = None
            why = "" if proven else "the connection broke before its markers were certain"
            self._end(name, "aborted" if proven else "unknown", records, why)

    def _end(self, transaction: str, outcome: Any, records: int, why: str = "") -> None:
        self.counts[outcome] += 1
        self.counts[f"{outcome} records"] += records
        self._journal.add(TransactionEnded(self._journal.now(), transaction, outcome, why))

    def _fenced(self) -> _Transactional | None:
        """A producer with a new epoch; None while the brokers are down."""
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
                # Without a callback, any call may raise a connection's error.
                "error_cb": lambda _error: None, **more,
            }
        )  # fmt: skip

    def _give_up(self, producer: Producer) -> None:
        """Purge what waits, and get its reports; closing would wait for brokers that may be down."""
        producer.purge(in_queue=True, in_flight=True, blocking=True)
        producer.poll(0)


class _Shaken(logging.Handler):
    """Any log line of a client means that something happened to its connections."""

    def __init__(self) -> None:
        super().__init__()
        self.shaken = False

    def emit(self, record: logging.LogRecord) -> None:
        self.shaken = True


@dataclass(slots=True)
class _Transactional:
    """Nothing may refer back to it: an abandoned producer must be destroyed at once.

    One that still initialises would get its epoch later, and fence its successor.
    """

    producer: Producer
    connection: _Shaken
