"""`causeway run`: mirrors of one process, as one Spark application."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from causeway.config import Settings
from causeway.errors import (
    CausewayError,
    DeliveryFailed,
    IntegrityError,
    SetupError,
    Superseded,
    from_code,
)
from causeway.kafka.outcome import Again
from causeway.mirror.clusters import chosen
from causeway.mirror.driver import NO_HEARTBEAT, Driver
from causeway.mirror.routing import Known
from causeway.mirror.telling import Say
from causeway.model.progress import MirrorProgress
from causeway.model.receipt import Receipt
from causeway.pipeline import session
from causeway.pipeline.slice import Slice

WATCH_SECONDS = 0.1
STOP_SECONDS = 5.0
EARLY_SECONDS = 1.0
"""So long before the end of a slice Spark gets the job of the next: planning it takes a third of that."""
OVERDUE_SECONDS = 30.0
FIRST_BACKOFF_SECONDS = 0.5
LAST_BACKOFF_SECONDS = 10.0


class Run:
    """Mirrors that run until they are told to stop, or until they are at their end."""

    def __init__(self, settings: Settings, names: list[str], stop_at_end: bool, say: Say) -> None:
        self._settings = settings
        self._say = say
        self._stopping = threading.Event()
        self._drivers = [Driver(settings, mirror, stop_at_end, say) for mirror in chosen(settings, names)]
        self._errors: list[CausewayError] = []
        self._threads: list[threading.Thread] = []
        self._spark: session.Spark | None = None

    def prepare(self) -> None:
        """Everything that can be wrong from the start, before Spark is even started."""
        for driver in self._drivers:
            driver.others = partial(self._edges, driver)
            driver.prepare(os.cpu_count() or 1)

    def _edges(self, driver: Driver) -> list[Known]:
        """What the other mirrors carry: a route that brings records back is refused."""
        return [edge for other in self._drivers if other is not driver for edge in other.edges]

    def start(self, on_spark: Callable[[Path], None]) -> None:
        """Start Spark, and a thread for each mirror that has something to do."""
        busy = [driver for driver in self._drivers if not driver.fulfilled]
        for driver in self._drivers:
            driver.settle("running" if driver in busy else "done")
            if driver not in busy:
                driver.finish()
        if not busy:
            return
        slots = sum(driver.shards for driver in busy)
        log = session.log_directory(self._settings.spark) / f"spark-{os.getpid()}.log"
        on_spark(log)
        # A tailing task holds its slot for the whole slice, so all shards must fit at once.
        self._spark = session.start(
            self._settings.spark, slots, "causeway", log, needed=slots, stopping=self._stopping
        )
        for driver in busy:
            thread = threading.Thread(target=self._serve, args=(driver, self._spark), name=driver.name)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        self._stopping.set()

    @property
    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def progress(self) -> Sequence[MirrorProgress]:
        return [driver.outlook.progress for driver in self._drivers]

    def finish(self) -> None:
        """Wait for all mirrors, stop Spark, and raise what went wrong, the gravest first."""
        for thread in self._threads:
            thread.join()
        if self._spark is not None:
            session.stop(self._spark)
        for kind in (Superseded, IntegrityError, DeliveryFailed, CausewayError):
            for error in self._errors:
                if isinstance(error, kind):
                    raise error

    def _serve(self, driver: Driver, spark: session.Spark) -> None:
        try:
            serve(driver, spark, self._stopping)
        except CausewayError as error:
            # The other mirrors go on; the process ends with this error when they have ended too.
            self._errors.append(error)
            driver.tell("error", f"this mirror has stopped: {error}")
        except Exception as error:
            self._errors.append(
                CausewayError(f"unexpected: {type(error).__name__}: {error}", where=driver.name)
            )
            self._stopping.set()
            raise


def serve(driver: Driver, spark: session.Spark, stopping: threading.Event) -> None:
    """Slice after slice, until told to stop or until the order is fulfilled."""
    backoff = FIRST_BACKOFF_SECONDS
    superseded = False
    queued: Slice | None = None
    try:
        while not stopping.is_set() or queued is not None:
            if driver.paused and queued is None:
                driver.tick(WATCH_SECONDS)
                continue
            piece = queued or _hand_over(driver, spark)
            if piece is None:
                if driver.stop_at_end:
                    break
                driver.tick(WATCH_SECONDS)
                continue
            queued = watch(driver, piece, spark, stopping)
            if not piece.failure:
                _check(piece.receipts, driver)
                backoff = FIRST_BACKOFF_SECONDS
                if driver.stop_at_end and all(receipt.outcome == "done" for receipt in piece.receipts):
                    break
            elif not stopping.is_set() and not session.alive(spark, stopping):
                raise SetupError(
                    "Spark has ended under the mirror",
                    where=f'mirror "{driver.name}"',
                    why=piece.failure,
                    todo="start again: nothing is lost, and nothing comes twice",
                )
            elif not stopping.is_set():
                driver.outlook.failed_slices += 1
                driver.tell("warning", f"slice {piece.number} failed: {piece.failure}; starting another")
                stopping.wait(backoff)
                backoff = min(LAST_BACKOFF_SECONDS, 2 * backoff)
        driver.settle("stopped" if stopping.is_set() else "done")
    except CausewayError as error:
        driver.settle("failed")
        superseded = isinstance(error, Superseded)
        raise
    finally:
        if queued is not None:
            _withdraw(queued)
        if superseded:
            driver.leave()  # the newer instance owns the ids: fencing them would only disturb it
        else:
            driver.finish()
    _judge(driver)


def _hand_over(driver: Driver, spark: session.Spark, after: int = 0) -> Slice | None:
    """Give Spark the next slice's job, if there is anything to carry."""
    orders = driver.orders(after)
    if not orders:
        return None
    return Slice(spark, orders, f"{driver.name}: slice {driver.slice_number}, {len(orders)} shards")


def watch(driver: Driver, piece: Slice, spark: session.Spark, stopping: threading.Event) -> Slice | None:
    """Stay with a slice until it has ended; cut it short where there is a reason to.

    Records wait while one slice has ended and the next has not begun. So Spark has the next one's job shortly
    before: its tasks are queued for the slots, and each begins the moment it gets one. Answers that slice,
    unless this one ended in another way than by its time.
    """
    shards = len(piece.shards)
    driver.pulse.begin(piece.shards)
    cut_at = looked_at = 0.0
    queued: Slice | None = None
    ends_at = time.monotonic() + driver.mirror.slice
    early = min(EARLY_SECONDS, driver.mirror.slice / 4)
    try:
        while not piece.wait(0):
            reason = driver.tick(WATCH_SECONDS)
            now = time.monotonic()
            if not reason and now - looked_at > 1.0:
                looked_at = now
                driver.pulse.ended = piece.ended_tasks()
                if 0 < driver.pulse.ended < shards and not driver.stop_at_end and queued is None:
                    reason = "a shard ended early"
            if not reason and queued is not None and now > ends_at + OVERDUE_SECONDS:
                reason = "a shard did not end with its slice"  # the next slice waits for its slot
            reason = "stopped" if stopping.is_set() else reason
            if reason and not cut_at:
                cut_at = now
                if reason.startswith(NO_HEARTBEAT):
                    there = piece.slots()
                    fewer = f" (Spark has {there} slots for {shards} shards)" if there < shards else ""
                    driver.tell("warning", f"{reason}{fewer}: ordering its work again")
                _cut(driver, reason)
            if cut_at and now - cut_at > STOP_SECONDS:
                piece.cancel()
                piece.wait(STOP_SECONDS)
                break
            if now > ends_at - early and not (cut_at or queued or driver.stop_at_end):
                queued = _hand_over(driver, spark, after=piece.number)
    except BaseException:
        for one in (piece, queued):
            if one is not None:
                one.cancel()
        raise
    if queued is not None and (cut_at or piece.failure):
        _withdraw(queued)
        return None
    return queued


def _withdraw(queued: Slice) -> None:
    """Take back what was handed over early. Where a task of it has begun, the next fence ends it."""
    queued.cancel()
    queued.wait(STOP_SECONDS)


def _cut(driver: Driver, reason: str) -> None:
    try:
        driver.cut(reason)
    except Again as error:
        driver.tell("warning", f"the slice could not be told to end ({error}): cancelling it")


def _check(receipts: Sequence[Receipt], driver: Driver) -> None:
    """A shard that was fenced is ordered again, as long as the lease is ours; a broken ledger ends all."""
    for receipt in receipts:
        if receipt.outcome == "broken":
            raise from_code(*json.loads(receipt.note))
        if receipt.outcome == "unready":
            driver.tell("warning", f"shard {receipt.shard} cannot begin: {receipt.note}; ordering it again")
        if receipt.outcome == "fenced":
            driver.outlook.shards.fenced(receipt.shard)
            driver.tell("warning", f"shard {receipt.shard} was fenced: {receipt.note}; ordering it again")


def _judge(driver: Driver) -> None:
    """Partitions that stand still make an ended run a failed one."""
    stopped = driver.stopped()
    if not stopped or not driver.stop_at_end:
        return
    kind = DeliveryFailed if all(record.verdict == "poison" for record in stopped) else IntegrityError
    raise kind(
        f"{len(stopped)} partition(s) stopped: {stopped[0].what}",
        where=f'mirror "{driver.name}": ' + ", ".join(str(record.source) for record in stopped[:10]),
        todo=stopped[0].todo,
    )
