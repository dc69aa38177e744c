"""When numbered records arrive at the destination, as a read_committed consumer of its own sees it."""

from __future__ import annotations

import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

_QUIET = logging.Logger("arrivals")
_QUIET.addHandler(logging.NullHandler())
_NUMBER = re.compile(rb"\d+")


class Timing:
    """Arrivals by number. Pure."""

    def __init__(self) -> None:
        self.count = 0  # records, repeated ones too
        self._seen: set[int] = set()
        self._from: int | None = None
        self._began = 0.0
        self._first: float | None = None

    @property
    def distinct(self) -> int:
        return len(self._seen)

    def begin(self, number: int, at: float) -> None:
        """A fault began then; records from this number on were written when it had happened."""
        self._from, self._began, self._first = number, at, None

    def add(self, numbers: Iterable[int], now: float) -> None:
        for number in numbers:
            self.count += 1
            self._seen.add(number)
            if self._first is None and self._from is not None and number >= self._from:
                self._first = now

    @property
    def next_ms(self) -> int | None:
        """From the beginning of the fault to the first record that was written after it."""
        return None if self._first is None else round((self._first - self._began) * 1000)


class Arrivals:
    """Follows a topic that exists, until it is closed."""

    def __init__(self, servers: str, topic: str) -> None:
        self.timing = Timing()
        self._ending = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers, "group.id": f"arrivals-{uuid.uuid4().hex}",
                "isolation.level": "read_committed", "enable.auto.commit": False, "fetch.wait.max.ms": 20,
                "logger": _QUIET, "error_cb": lambda _error: None,
            }
        )  # fmt: skip
        partitions = self._consumer.list_topics(topic, timeout=10).topics[topic].partitions
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        self._thread = threading.Thread(target=self._follow, name="arrivals", daemon=True)
        self._thread.start()

    def after(self, act: Callable[[], object], number: Callable[[], int]) -> None:
        """Act, and measure from there. The number is that of the next record to be written then."""
        at = time.monotonic()
        act()
        self.timing.begin(number(), at)

    def close(self) -> None:
        self._ending.set()
        self._thread.join(20)

    def _follow(self) -> None:
        try:
            while not self._ending.is_set():
                try:
                    messages = self._consumer.consume(2_000, 0.02)
                except KafkaException:
                    continue
                values = [message.value() or b"" for message in messages if message.error() is None]
                self.timing.add(filter(lambda n: n >= 0, map(number_in, values)), time.monotonic())
        finally:
            self._consumer.close()


def number_in(value: bytes) -> int:
    """The number that a test's record carries; -1 if there is none."""
    found = _NUMBER.search(value)
    return int(found[0]) if found else -1
