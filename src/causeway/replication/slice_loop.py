"""The outer loop of a mirror: submit one slice after the other to Spark, watch it, cut it short if needed."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence

from causeway.core.executor import Executor
from causeway.core.receipt import Receipt
from causeway.errors import CausewayError, DeliveryFailed, IntegrityError, SetupError, Superseded
from causeway.kafka.task_errors import Again
from causeway.replication.driver import NO_HEARTBEAT, Driver
from causeway.replication.slice_job import Slice

WATCH_SECONDS = 0.1
STOP_SECONDS = 5.0
EARLY_SECONDS = 1.5
"""How long before the end of a slice Spark gets the next one's job; planning it takes a few tenths."""
OVERDUE_SECONDS = 30.0
FIRST_BACKOFF_SECONDS = 0.5
LAST_BACKOFF_SECONDS = 10.0


def serve(driver: Driver, executor: Executor, stopping: threading.Event) -> None:
    """Run slice after slice, until `stopping` is set or, with --stop-at-end, until every shard is done."""
    backoff = FIRST_BACKOFF_SECONDS
    superseded = False
    queued: Slice | None = None
    try:
        while not stopping.is_set() or queued is not None:
            if driver.paused and queued is None:
                driver.settle("paused")  # only now: no task replicates any more
                driver.tick(WATCH_SECONDS)
                continue
            driver.settle("running")
            piece = queued or _hand_over(driver, executor)
            if piece is None:
                if driver.stop_at_end:
                    break
                driver.tick(WATCH_SECONDS)
                continue
            queued = watch(driver, piece, executor, stopping)
            driver.outlook.ended_slices += 1
            if not piece.failure:
                _check(piece.receipts, driver)
                backoff = FIRST_BACKOFF_SECONDS
                if driver.stop_at_end and all(receipt.outcome == "done" for receipt in piece.receipts):
                    break
            elif not stopping.is_set() and not executor.alive(stopping):
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
            driver.leave()  # the newer instance owns the transactional ids: do not fence it
        else:
            driver.finish()
    _judge(driver)


def _hand_over(driver: Driver, executor: Executor, after: int | None = None) -> Slice | None:
    """Submit the next slice's job to Spark, if there is anything to replicate."""
    orders = sorted(driver.orders(after), key=lambda order: driver.pulse.in_order(order.shard))
    if not orders:
        return None
    return Slice(executor, orders, f"{driver.name}: slice {driver.slice_number}, {len(orders)} shards")


def watch(driver: Driver, piece: Slice, executor: Executor, stopping: threading.Event) -> Slice | None:
    """Watch a slice until it has ended; cut it short if there is a reason to.

    Records wait while one slice has ended and the next has not begun. So Spark gets the next slice's job
    shortly before the end: its tasks are queued for slots, and each begins as soon as it gets one. Returns
    that slice, unless this one did not end by its time (it was cut short, or it failed).
    """
    shards = len(piece.shards)
    driver.pulse.begin(piece.shards)
    cut_at = looked_at = 0.0
    cut_for = ""
    overdue_at = math.inf
    queued: Slice | None = None
    early = min(EARLY_SECONDS, driver.mirror.slice / 4)
    try:
        while not piece.wait(0):
            reason = driver.tick(WATCH_SECONDS, leaving=bool(cut_at) or stopping.is_set())
            now = time.monotonic()
            ends_at = driver.pulse.begun(piece.number, piece.shards) + driver.mirror.slice
            if not reason and now - looked_at > 1.0:
                looked_at = now
                driver.pulse.ended = piece.ended_tasks()
                if 0 < driver.pulse.ended < shards and not driver.stop_at_end and queued is None:
                    reason = "a shard ended early"
            if not reason and now > overdue_at:
                reason = "a shard did not end with its slice"  # the next slice waits for its slot
            reason = "stopped" if stopping.is_set() else reason
            if reason and not cut_at:
                cut_at, cut_for = now, reason
                if reason.startswith(NO_HEARTBEAT):
                    there = piece.slots()
                    fewer = f" (Spark has {there} slots for {shards} shards)" if there < shards else ""
                    driver.tell("warning", f"{reason}{fewer}: ordering its work again")
                _cut(driver, reason)
            if cut_at and now - cut_at > STOP_SECONDS:
                piece.cancel(f"{cut_for}, and not all shards ended within {STOP_SECONDS:.0f} s")
                piece.wait(STOP_SECONDS)
                break
            due = now > ends_at - early and not (cut_at or queued or driver.stop_at_end)
            # With fewer slots than shards, a shard that waits for a slot would wait for two slices.
            if due and piece.slots() >= shards:
                queued = _hand_over(driver, executor, after=piece.number)
                overdue_at = ends_at + OVERDUE_SECONDS
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
    """Cancel a slice that was submitted early. If a task of it has begun, the next fence ends it."""
    queued.cancel()
    queued.wait(STOP_SECONDS)


def _cut(driver: Driver, reason: str) -> None:
    try:
        driver.cut(reason)
    except Again as error:
        driver.tell("warning", f"the slice could not be told to end ({error}): cancelling it")


def _check(receipts: Sequence[Receipt], driver: Driver) -> None:
    """Report shards that are ordered again while the lease is ours; raise the error of a broken one."""
    for receipt in receipts:
        if receipt.error is not None:
            raise receipt.error.as_exception()
        if receipt.outcome == "unready":
            driver.tell("warning", f"shard {receipt.shard} cannot begin: {receipt.why}; ordering it again")
        if receipt.outcome == "fenced":
            driver.outlook.shards.fenced(receipt.shard)
            driver.tell("warning", f"shard {receipt.shard} was fenced: {receipt.why}; ordering it again")


def _judge(driver: Driver) -> None:
    """A run with --stop-at-end fails if partitions are stopped."""
    stopped = driver.stopped()
    if not stopped or not driver.stop_at_end:
        return
    not_taken = all(record.verdict in ("poison", "refused") for record in stopped)
    kind = DeliveryFailed if not_taken else IntegrityError
    raise kind(
        f"{len(stopped)} partition(s) stopped: {stopped[0].what}",
        where=f'mirror "{driver.name}": ' + ", ".join(str(record.source) for record in stopped[:10]),
        todo=stopped[0].todo,
    )
