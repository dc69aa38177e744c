"""Where tasks run: in a Spark that Causeway starts and stops, or in the caller's own session."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from causeway.config import SparkSettings
from causeway.core.executor import Executor
from causeway.errors import UsageError
from causeway.spark import borrowed, executor, session

_own = threading.Lock()
"""Held while a Spark of Causeway's runs: PySpark supports one application in a process."""


class SparkSlots(Protocol):
    def claim(self, mirrors: int) -> int:
        """Before anything else is done: how many cores each mirror may use. Raises if that is none."""

    def open(self, slots: int, needed: int, stopping: threading.Event) -> Executor:
        """An executor with so many slots; raises SetupError if it would have fewer than `needed`."""

    def release(self) -> None:
        """After the executor's `stop`, or without an executor."""


class OwnSpark:
    def __init__(self, settings: SparkSettings, app: str, on_start: Callable[[Path], None]) -> None:
        self._settings = settings
        self._app = app
        self._on_start = on_start
        self._claimed = False

    def claim(self, mirrors: int) -> int:
        if not _own.acquire(blocking=False):
            raise UsageError(
                "this process runs mirrors or a comparison in a Spark of Causeway's already",
                todo="run all mirrors in one call, use another process, or pass spark=session to both calls",
            )
        self._claimed = True
        if executor.in_use():
            self.release()
            raise UsageError(
                "this process has a Spark session already, and a process can have one Spark application",
                todo="pass it: spark=session",
            )
        return os.cpu_count() or 1

    def open(self, slots: int, needed: int, stopping: threading.Event) -> Executor:
        log = session.log_directory(self._settings) / f"spark-{os.getpid()}.log"
        self._on_start(log)
        return executor.start(self._settings, slots, self._app, log, needed=needed, stopping=stopping)

    def release(self) -> None:
        if self._claimed:
            self._claimed = False
            _own.release()


class BorrowedSpark:
    """Slots of the caller's session."""

    def __init__(self, spark: object) -> None:
        self._spark = borrowed.check_session(spark)

    def claim(self, mirrors: int) -> int:
        free = borrowed.free_slots(self._spark)
        if free < mirrors:
            raise borrowed.too_few(self._spark, mirrors, free)
        return min(os.cpu_count() or 1, max(1, free // max(1, mirrors)))

    def open(self, slots: int, needed: int, stopping: threading.Event) -> Executor:
        slots = max(needed, min(slots, borrowed.free_slots(self._spark)))
        lent = borrowed.BorrowedExecutor(self._spark, slots)
        try:
            lent.probe(stopping)
        except BaseException:
            lent.stop()
            raise
        return lent

    def release(self) -> None:
        """`stop` of the executor has given the slots back."""


def slots_for(
    settings: SparkSettings, spark: object | None, app: str, on_start: Callable[[Path], None]
) -> SparkSlots:
    return OwnSpark(settings, app, on_start) if spark is None else BorrowedSpark(spark)
