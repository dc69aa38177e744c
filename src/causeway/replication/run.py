"""`causeway run`: the mirrors of one process, as one Spark application."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from causeway.config import Settings
from causeway.core.clock import now_ms
from causeway.core.executor import Executor
from causeway.core.progress import MirrorProgress
from causeway.core.snapshot import ENDED, Snapshot
from causeway.errors import CausewayError, DeliveryFailed, IntegrityError, Superseded, UsageError
from causeway.planning.clusters import chosen
from causeway.planning.node_request import node_request
from causeway.planning.routing import Neighbours
from causeway.replication.driver import Driver
from causeway.replication.event_log import SayEvent
from causeway.replication.slice_loop import serve
from causeway.version import __version__

OpenExecutor = Callable[[int, int, threading.Event], Executor]
"""Called with the slots that are useful, those that are needed, and an event that ends a wait for them."""


class Run:
    """Mirrors that run until `stop` is called or, with `stop_at_end`, until they reach their end."""

    def __init__(self, settings: Settings, names: list[str], stop_at_end: bool, say: SayEvent) -> None:
        self._settings = settings
        self._say = say
        self._stopping = threading.Event()
        self._drivers = [Driver(settings, mirror, stop_at_end, say) for mirror in chosen(settings, names)]
        self._errors: list[CausewayError] = []
        self._threads: list[threading.Thread] = []
        self._finished: list[Driver] = []  # closed already, or closed by their threads
        self._last: Snapshot | None = None
        self._last_progress: Sequence[MirrorProgress] = ()
        self._executor: Executor | None = None
        self._prepared = False
        self._started_at = now_ms()

    def prepare(self, cores: int | None = None) -> None:
        """Prepare every driver: whatever can fail at the start fails here, before Spark starts.

        `cores`: how many shards a mirror gets if its settings do not say.
        """
        for driver in self._drivers:
            driver.know_others(partial(self._others, driver))
            driver.prepare(cores or os.cpu_count() or 1)
        self._prepared = True

    def _others(self, driver: Driver) -> Neighbours:
        """The other mirrors, to refuse a route that brings records back or replicates them twice."""
        others = [other for other in self._drivers if other is not driver]
        return Neighbours(
            names=frozenset((other.selection().destination, other.name) for other in others),
            edges=tuple(edge for other in others for edge in other.edges),
            earlier=tuple(one.selection() for one in self._drivers[: self._drivers.index(driver)]),
        )

    def start(self, open_executor: OpenExecutor) -> None:
        """Start a thread for each mirror that has something to do, in an executor that fits them all."""
        for driver in self._drivers:
            if self._stopping.is_set() or driver.fulfilled:
                driver.settle("stopped" if self._stopping.is_set() else "done")
                driver.finish()
                self._finished.append(driver)
        waiting = [driver for driver in self._drivers if driver not in self._finished]
        if not waiting:
            return
        # A tailing task holds its slot for the whole slice, so all shards must fit at once.
        slots = sum(driver.shards for driver in waiting)
        self._executor = open_executor(slots, slots, self._stopping)
        for driver in waiting:
            thread = threading.Thread(target=self._serve, args=(driver, self._executor), name=driver.name)
            self._threads.append(thread)
            self._finished.append(driver)  # by its thread
            driver.settle("running")
            thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether all mirrors have ended."""
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def snapshot(self) -> Snapshot:
        """All views. `at` is the oldest measurement among mirrors that are neither starting nor ended."""
        if self._last is not None:
            return self._last
        now = now_ms()
        awake = [one for one in self._drivers if one.state not in ("starting", *ENDED)]
        return Snapshot(
            at=min((one.status.measured_at for one in awake), default=now),
            version=__version__,
            host=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at,
            mirrors=tuple(one.status.view for one in self._drivers),
            prepared=self._prepared,
        )

    def request(self, mirror: str, *, paused: bool, by: str) -> None:
        """Request a pause or a resume of a mirror; its state shows when it takes effect."""
        for driver in self._drivers:
            if driver.name == mirror:
                if driver.state in ENDED:
                    raise UsageError(f"this mirror has {driver.state}", where=f'mirror "{mirror}"')
                driver.request(paused, by)

    def request_node(self, mirror: str, pool: str, node: str, by: str, *, force: bool) -> int:
        """Request another node of a source pool; returns the time of the request, which its results name.

        `pool` may be empty if there is one; without a `node`, the next fit one is meant.
        """
        driver = next(driver for driver in self._drivers if driver.name == mirror)
        where = f'mirror "{mirror}"'
        if driver.state in ENDED:
            raise UsageError(f"this mirror has {driver.state}", where=where)
        request = node_request(driver.pools, pool, node, by, force=force, where=where)
        driver.request_node(request)
        return request.at

    def progress(self) -> Sequence[MirrorProgress]:
        return self._last_progress or [driver.status.progress for driver in self._drivers]

    def finish(self) -> None:
        """Wait for all mirrors, stop Spark, and raise the most serious error, if there was one."""
        for thread in self._threads:
            thread.join()
        for driver in self._drivers:
            if driver not in self._finished:
                driver.leave()  # another mirror, or Spark, could not be started
        if self._executor is not None:
            self._executor.stop()
            self._executor = None
        for kind in (Superseded, IntegrityError, DeliveryFailed, CausewayError):
            for error in self._errors:
                if isinstance(error, kind):
                    raise error

    def release(self) -> None:
        """After the end: keep the last snapshot, and drop the drivers with their clients."""
        self._last_progress, self._last = self.progress(), self.snapshot()
        for driver in self._drivers:
            driver.know_others(Neighbours)  # these refer to each other through this object
        self._drivers, self._finished, self._threads = [], [], []

    def _serve(self, driver: Driver, executor: Executor) -> None:
        try:
            serve(driver, executor, self._stopping)
        except CausewayError as error:
            # The other mirrors continue; the process ends with this error when they have ended too.
            self._errors.append(error)
            driver.report("error", f"this mirror has stopped: {error}", todo=error.todo)
            driver.publish()
        except Exception as error:  # noqa: BLE001 - `finish` raises it, with its traceback as the cause
            unexpected = CausewayError(f"unexpected: {type(error).__name__}: {error}", where=driver.name)
            unexpected.__cause__ = error
            self._errors.append(unexpected)
            self._stopping.set()
