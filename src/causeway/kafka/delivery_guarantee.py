"""What a producer promises: at-least-once here, exactly-once in transaction.py.

Why at-least-once keeps the order of first arrivals, without a fence. Two statements are enough:

    1  a producer starts at a position of the ledger, and every record before that position was acknowledged
    2  what one producer appends to a place is a prefix of what it was given: no record without the one before

Then a record that arrives for the first time, from any producer, arrives after all records before it: those
from the producer's own start on by 2, the older ones by 1. So several producers may write at once. Example: a
producer that was given up has a request in flight, its successor sends 1 to 100, then the late request
appends 1 to 50 again. These are duplicates, which at-least-once allows; no record arrives for the first time
after a later one.

What would break 2, and what prevents it:

    a record expires alone in the client's queue,     message.timeout.ms = 0: none expires. `drain` has the
    and the younger ones are sent                     deadline, and the producer is purged and destroyed
    a batch is rejected, the client goes on with      enable.gapless.guarantee: the rejection is fatal, and
    the next one under a new epoch                    nothing is sent after it
    a batch fails at the broker, and the next one,    the broker rejects a batch out of sequence from a
    already in flight, is appended                    producer that it knows
    … from a producer that the broker does not know   the first record to each place is acknowledged before
    at this place: it accepts any sequence number     the second one is produced (`must_wait_for_first`)

With placement by key the client chooses the place, so the last line does not hold there: a record that is
rejected in a producer's first batch to a partition may be overtaken by the batch in flight after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from causeway.core.position import Place
from causeway.core.task_order import Limits
from causeway.core.topic import Spot
from causeway.kafka.producer_client import ProducerClient

MOST_RETRIES = 2_147_483_647


class DeliveryGuarantee(Protocol):
    """A part of one producer. The producer's client is given to each method that uses it."""

    every_record_reports: bool  # otherwise the first and the last of each stretch do
    visible_at_once: bool  # no record may be appended without the one before

    def properties(self, limits: Limits) -> dict[str, object]:
        """Client properties that the guarantee rests on."""

    def fence(self, client: ProducerClient) -> None:
        """Keep every older producer of the shard from committing."""

    def begin(self, client: ProducerClient) -> None: ...

    def commit(self, client: ProducerClient) -> None:
        """Make visible what was produced and acknowledged. Raises Again where the outcome is not certain."""

    def abandon(self, client: ProducerClient) -> None:
        """What was begun will not be committed: the client is about to be destroyed."""

    def must_wait_for_first(self, place: Place) -> bool:
        """Whether the producer's first record to this place is not acknowledged yet."""

    def first_acknowledged(self, places: Iterable[Spot]) -> None: ...


class AtLeastOnce:
    """No transaction: records first, the ledger record once they are acknowledged."""

    every_record_reports = True  # nothing else reports a record that failed
    visible_at_once = True

    def __init__(self) -> None:
        self._acknowledged: set[Spot] = set()  # places where this producer has a record acknowledged

    def properties(self, _limits: Limits) -> dict[str, object]:
        return {
            "message_timeout_ms": 0,
            "message_send_max_retries": MOST_RETRIES,
            "enable_gapless_guarantee": True,
        }

    def fence(self, _client: ProducerClient) -> None:
        """Does nothing: without transactions only the lease keeps older instances away."""

    def begin(self, _client: ProducerClient) -> None:
        """Does nothing."""

    def commit(self, _client: ProducerClient) -> None:
        """Does nothing: everything acknowledged is visible already."""

    def abandon(self, _client: ProducerClient) -> None:
        """Does nothing."""

    def must_wait_for_first(self, place: Place) -> bool:
        return place.partition >= 0 and (place.topic, place.partition) not in self._acknowledged

    def first_acknowledged(self, places: Iterable[Spot]) -> None:
        self._acknowledged.update(places)
