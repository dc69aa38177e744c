"""The outer loop of a mirror: submit one slice after the other to Spark, watch it, cut it short if needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from causeway.core.executor import Executor
from causeway.core.plural import counted
from causeway.core.receipt import Receipt
from causeway.errors import CausewayError, DeliveryFailed, IntegrityError, SetupError, Superseded
from causeway.kafka.task_errors import Again
from causeway.replication.cut_reason import CutCause, CutReason
from causeway.replication.driver import Driver
from causeway.replication.slice_job import Slice

WATCH_SECONDS = 0.1
STOP_SECONDS = 5.0
EARLY_SECONDS = 1.5
"""How long before the end of a slice Spark gets the next one's job; planning it takes a few tenths."""
OVERDUE_SECONDS = 30.0
ENDED_TASKS_SECONDS = 1.0
FIRST_BACKOFF_SECONDS = 0.5
LAST_BACKOFF_SECONDS = 10.0


def serve(driver: Driver, executor: Executor, stopping: threading.Event) -> None:
    """Run slice after slice, until `stopping` is set or, with --stop-at-end, until every shard is done."""
    backoff = FIRST_BACKOFF_SECONDS
    superseded = False
    submitted: Slice | None = None  # the next slice, if Spark has got it early
    try:
        while not stopping.is_set() or submitted is not None:
            if driver.paused and submitted is None:
                driver.settle("paused")  # only now: no task replicates any more
                driver.tick(WATCH_SECONDS)
                continue
            driver.settle("running")
            current = submitted or _submit(driver, executor)
            if current is None:
                if driver.stop_at_end:
                    break
                driver.tick(WATCH_SECONDS)
                continue
            submitted = watch(driver, current, executor, stopping)
            driver.status.ended_slices += 1
            if not current.failure:
                _check(current.receipts, driver)
                backoff = FIRST_BACKOFF_SECONDS
                if driver.stop_at_end and all(receipt.outcome == "done" for receipt in current.receipts):
                    break
            elif not stopping.is_set() and not executor.alive(stopping):
                raise SetupError(
                    "Spark has ended under the mirror",
                    where=f'mirror "{driver.name}"',
                    why=current.failure,
                    todo="start again: nothing is lost, and nothing comes twice",
                )
            elif not stopping.is_set():
                driver.status.failed_slices += 1
                driver.report(
                    "warning", f"slice {current.number} failed: {current.failure}; starting another"
                )
                stopping.wait(backoff)
                backoff = min(LAST_BACKOFF_SECONDS, 2 * backoff)
        driver.settle("stopped" if stopping.is_set() else "done")
    except CausewayError as error:
        driver.settle("failed")
        superseded = isinstance(error, Superseded)
        raise
    finally:
        if submitted is not None:
            _withdraw(submitted)
        if superseded:
            driver.leave()  # the newer instance owns the transactional ids: do not fence it
        else:
            driver.finish()
    _fail_if_stopped(driver)


def _submit(driver: Driver, executor: Executor, after: int | None = None) -> Slice | None:
    """Submit the next slice's job to Spark, if there is anything to replicate."""
    orders = sorted(driver.orders(after), key=lambda order: driver.liveness.first_begun(order.shard))
    if not orders:
        return None
    return Slice(
        executor, orders, f"{driver.name}: slice {driver.slice_number}, {counted(len(orders), 'shard')}"
    )


def watch(driver: Driver, current: Slice, executor: Executor, stopping: threading.Event) -> Slice | None:
    """Watch a slice until it has ended; cut it short if there is a reason to.

    Records wait while one slice has ended and the next has not begun. So Spark gets the next slice's job
    shortly before the end: its tasks are queued for slots, and each begins as soon as it gets one. Returns
    that slice, unless this one did not end by its time (it was cut short, or it failed).
    """
    watched = SliceWatch(driver, current, executor, stopping)
    try:
        while not current.wait(0) and watched.step():
            pass
    except BaseException:
        for each in (current, watched.next_slice):
            if each is not None:
                each.cancel()
        raise
    if watched.next_slice is not None and (watched.cut_for or current.failure):
        _withdraw(watched.next_slice)
        return None
    return watched.next_slice


class SliceWatch:
    def __init__(self, driver: Driver, current: Slice, executor: Executor, stopping: threading.Event) -> None:
        self._driver = driver
        self._current = current
        self._executor = executor
        self._stopping = stopping
        self._counted_at = 0.0  # when ended tasks were counted last
        self._cut_at = 0.0
        self._overdue_at: float | None = None  # when all tasks must have ended
        self.cut_for: CutReason | None = None
        self.next_slice: Slice | None = None
        driver.liveness.begin(current.shards)

    def step(self) -> bool:
        """Tick once, and act on it; returns False once the slice was cancelled."""
        driver, current = self._driver, self._current
        leaving = self.cut_for is not None or self._stopping.is_set()
        reason = driver.tick(WATCH_SECONDS, leaving=leaving)
        now = time.monotonic()
        reason = reason or self._early_end(now)
        if reason is None and self._overdue_at is not None and now > self._overdue_at:
            reason = CutReason(CutCause.SHARD_OVERDUE)  # the next slice waits for its slot
        if self._stopping.is_set():
            reason = CutReason(CutCause.STOPPED)
        if reason is not None and self.cut_for is None:
            self._cut(reason, now)
        if self.cut_for is not None and now - self._cut_at > STOP_SECONDS:
            current.cancel(f"{self.cut_for}, and not all shards ended within {STOP_SECONDS:.0f} s")
            current.wait(STOP_SECONDS)
            return False
        self._submit_next(now)
        return True

    def _early_end(self, now: float) -> CutReason | None:
        """Count ended tasks: while others run on, the partitions of an ended one wait."""
        if now - self._counted_at <= ENDED_TASKS_SECONDS:
            return None
        driver, self._counted_at = self._driver, now
        driver.liveness.ended = ended = self._current.ended_tasks()
        early = 0 < ended < len(self._current.shards) and not driver.stop_at_end and self.next_slice is None
        return CutReason(CutCause.SHARD_ENDED) if early else None

    def _cut(self, reason: CutReason, now: float) -> None:
        """Tell the shards, through the ledger, to end."""
        driver, shards = self._driver, len(self._current.shards)
        self._cut_at, self.cut_for = now, reason
        if reason.cause is CutCause.NO_HEARTBEAT:
            slots = self._current.slots()
            fewer = f" (Spark has {slots} slots for {shards} shards)" if slots < shards else ""
            driver.report("warning", f"{reason}{fewer}: ordering its work again")
        try:
            driver.cut(reason)
        except Again as error:
            driver.report("warning", f"the slice could not be told to end ({error}): cancelling it")

    def _submit_next(self, now: float) -> None:
        """Shortly before the end: submit the next slice."""
        driver, current = self._driver, self._current
        if self.cut_for is not None or self.next_slice is not None or driver.stop_at_end:
            return
        begun_at = driver.liveness.begun_at(current.number, current.shards)
        if begun_at is None:
            return
        ends_at = begun_at + driver.mirror.slice
        due = now > ends_at - min(EARLY_SECONDS, driver.mirror.slice / 4)
        # With fewer slots than shards, a shard that waits for a slot would wait for two slices.
        if due and current.slots() >= len(current.shards):
            self.next_slice = _submit(driver, self._executor, after=current.number)
            self._overdue_at = ends_at + OVERDUE_SECONDS


def _withdraw(submitted: Slice) -> None:
    """Cancel a slice that was submitted early. If a task of it has begun, the next fence ends it."""
    submitted.cancel()
    submitted.wait(STOP_SECONDS)


def _check(receipts: Sequence[Receipt], driver: Driver) -> None:
    """Report shards that are ordered again while the lease is ours; raise the error of a broken one."""
    for receipt in receipts:
        if receipt.error is not None:
            raise receipt.error.as_exception()
        if receipt.outcome == "unready":
            driver.report("warning", f"shard {receipt.shard} cannot begin: {receipt.why}; ordering it again")
        if receipt.outcome == "fenced":
            driver.status.shards.fenced(receipt.shard)
            driver.report("warning", f"shard {receipt.shard} was fenced: {receipt.why}; ordering it again")


def _fail_if_stopped(driver: Driver) -> None:
    """A run with --stop-at-end fails if partitions are stopped."""
    stopped = driver.stopped()
    if not stopped or not driver.stop_at_end:
        return
    rejected = all(record.verdict in ("poison", "refused") for record in stopped)
    kind = DeliveryFailed if rejected else IntegrityError
    raise kind(
        f"{counted(len(stopped), 'partition')} stopped: {stopped[0].what}",
        where=f'mirror "{driver.name}": ' + ", ".join(str(record.source) for record in stopped[:10]),
        todo=stopped[0].todo,
    )
