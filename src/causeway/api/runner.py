"""`causeway.Runner` and `causeway.run`: mirrors that run in this process.

One thread of ours, the supervisor, prepares the mirrors, starts Spark, waits for the mirrors and stops Spark.
The caller's thread only waits, so an exception there (Ctrl-C) interrupts nothing halfway, and any thread may
be the caller's.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from causeway.api.arguments import Config, check_callable, check_seconds, names_of, settings_of
from causeway.api.pausing import PauseOrResume
from causeway.api.spark_slots import slots_for
from causeway.core.clock import now_ms
from causeway.core.progress import MirrorProgress
from causeway.core.run_result import RunResult, result_of
from causeway.core.snapshot import EventView, Snapshot
from causeway.errors import UsageError
from causeway.kafka.ledger_access import who
from causeway.planning.clusters import chosen
from causeway.replication.run import Run

STATUS_SECONDS = 1.0
PAUSE_SECONDS = 60.0
SPARK = "spark"

log = logging.getLogger("causeway")
log.addHandler(logging.NullHandler())
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

OnStatus = Callable[[Snapshot], object]
OnEvent = Callable[[str, EventView], object]
"""Called with the mirror's name, or "spark", and the event."""


class Runner:
    """Mirrors that run inside a `with` block, or between `start` and `stop`.

    Nothing happens before `start`, which a `with` block calls. At its end the block stops the mirrors and
    waits for them; `wait` lets them run on. A Runner runs once.

    `on_status` gets a Snapshot about once a second and once at the end, `on_event` each event as it happens;
    without it, events go to the logger "causeway". Both are called from threads of ours. If one of them
    raises, the mirrors stop as with `stop`, and `wait` raises that exception.
    """

    def __init__(
        self,
        config: Config,
        *,
        mirrors: Iterable[str] | str | None = None,
        stop_at_end: bool = False,
        spark: object | None = None,
        on_status: OnStatus | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        check_callable("on_status", on_status)
        check_callable("on_event", on_event)
        names = names_of(mirrors)
        settings = settings_of(config)
        self._names = [mirror.name for mirror in chosen(settings, names)]
        self._on_status = on_status
        self._on_event = on_event or _log
        self._slots = slots_for(settings.spark, spark, "causeway", self._spark_starts)
        self._supervisor: threading.Thread | None = None
        self._starter: threading.Thread | None = None
        self._ready = threading.Event()  # started, or ended before that
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._callback_error: Exception | None = None
        self._calling: set[int] = set()  # threads that are inside a callback
        self._raised = False  # the caller knows of the error
        self._result: RunResult | None = None
        self._run = Run(settings, names, stop_at_end, self._event)

    def start(self) -> None:
        """Start the mirrors; returns when Spark runs and every mirror has its lease and its plan."""
        if self._supervisor is not None:
            raise UsageError("this Runner was started before", todo="make another one")
        cores = self._slots.claim(len(self._names))
        self._starter = threading.current_thread()
        self._supervisor = threading.Thread(target=self._supervise, args=(cores,), name="causeway")
        self._supervisor.start()
        try:
            self._ready.wait()
        except BaseException:
            self.stop()
            self._ended.wait()
            raise
        if self._ended.is_set():
            self._raise_error()

    def stop(self) -> None:
        """Request a stop, without loss and without open transactions; `wait` returns when it is done."""
        self._run.stop()

    def wait(self, timeout: float | None = None) -> RunResult:
        """Wait until all mirrors have ended: stopped, at their end with `stop_at_end`, or failed.

        Raises the error of a mirror that failed, the most serious one if there are several, and TimeoutError
        if the mirrors still run after `timeout` seconds.
        """
        check_seconds("timeout", timeout)
        if self._supervisor is None:
            raise UsageError("this Runner was not started")
        if threading.get_ident() in self._calling:
            raise UsageError("wait() in a callback would wait for itself", todo="call stop() there")
        if not self._ended.wait(timeout):
            raise TimeoutError(f"the mirrors still run after {timeout} s")
        self._raise_error()
        assert self._result is not None
        return self._result

    @property
    def running(self) -> bool:
        """Whether `start` was called and the mirrors have not ended."""
        return self._supervisor is not None and not self._ended.is_set()

    def status(self) -> Snapshot:
        """The state of all mirrors; after the end, the last one."""
        return self._run.snapshot()

    def progress(self) -> Sequence[MirrorProgress]:
        """What the command's live table shows."""
        return self._run.progress()

    def pause(
        self, mirror: str | None = None, *, by: str | None = None, timeout: float = PAUSE_SECONDS
    ) -> None:
        """Pause a mirror, or all; returns when nothing is replicated any more. Holds across restarts.

        Raises Unreachable if that takes longer than `timeout` seconds; the request remains. With a timeout of
        0 it is only requested. The status shows `by`, the user and the host unless given.
        """
        self._request(mirror, True, by, timeout)

    def resume(
        self, mirror: str | None = None, *, by: str | None = None, timeout: float = PAUSE_SECONDS
    ) -> None:
        """Resume a paused mirror, or all; otherwise like `pause`."""
        self._request(mirror, False, by, timeout)

    def failover(
        self,
        mirror: str,
        *,
        pool: str = "",
        to: str = "",
        force: bool = False,
        by: str | None = None,
    ) -> int:
        """Request that a source pool of this mirror is read from another node: `to`, or the next fit one.

        Returns at once, with the time of the request; the status of the pool has its results. The shards
        refuse a node that is not fit; `force` allows one that lags, or does not respond.
        """
        self._check_running(mirror)
        return self._run.request_node(mirror, pool, to, who() if by is None else by, force=force)

    def __enter__(self) -> Runner:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._ended.wait()
        if self._error is None or self._raised:
            return
        if error is None:
            self._raise_error()
        else:
            error.add_note(f"the mirrors ended with an error, too: {self._error}")

    def _supervise(self, cores: int) -> None:
        try:
            self._result = self._run_to_end(cores)
        except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
            self._error = error
        finally:
            self._slots.release()
            self._run.release()
            self._ended.set()
            self._ready.set()

    def _run_to_end(self, cores: int) -> RunResult:
        errors: list[BaseException] = []
        first: Snapshot | None = None
        for step in (partial(self._serve, cores), self._run.finish):
            try:
                first = step() or first
            except BaseException as error:  # noqa: BLE001 - whatever happened, the next step cleans up
                errors.append(error)
                self._run.stop()
        self._report()
        if self._callback_error is not None:
            errors.append(self._callback_error)
        if errors:
            for other in errors[1:]:
                errors[0].add_note(f"then: {other}")
            raise errors[0]
        last = self._run.snapshot()
        return result_of(first or last, last, now_ms())

    def _serve(self, cores: int) -> Snapshot:
        """Run the mirrors; returns the snapshot from before the first slice."""
        self._run.prepare(cores)
        first = self._run.snapshot()
        self._run.start(self._slots.open)
        self._ready.set()
        while not self._run.wait(STATUS_SECONDS):
            self._stop_with_interpreter()
            self._report()
        return first

    def _stop_with_interpreter(self) -> None:
        """Stop when the program has ended without a `stop`: the interpreter waits for our threads."""
        assert self._starter is not None
        if not threading.main_thread().is_alive() and not self._starter.is_alive():
            self._run.stop()

    def _report(self) -> None:
        if self._on_status is not None and self._callback_error is None:
            self._called(self._on_status, self._run.snapshot())

    def _event(self, mirror: str, event: EventView) -> None:
        if self._callback_error is None:
            self._called(self._on_event, mirror, event)

    def _called(self, callback: Callable[..., object], *arguments: Any) -> None:
        thread = threading.get_ident()
        self._calling.add(thread)
        try:
            callback(*arguments)
        except Exception as error:  # noqa: BLE001 - a mirror must not fail halfway; `wait` raises it
            self._callback_error = error
            self._run.stop()
        finally:
            self._calling.discard(thread)

    def _spark_starts(self, path: Path) -> None:
        self._event(SPARK, EventView(now_ms(), "info", f"starting; Spark's own log is {path}"))

    def _raise_error(self) -> None:
        if self._error is not None:
            self._raised = True
            raise self._error

    def _check_running(self, mirror: str | None) -> None:
        if mirror is not None and mirror not in self._names:
            raise UsageError(f"this Runner has no mirror {mirror}", todo=f"it has: {', '.join(self._names)}")
        if not self.running:
            raise UsageError("the mirrors do not run")

    def _request(self, mirror: str | None, paused: bool, by: str | None, timeout: float) -> None:
        check_seconds("timeout", timeout)
        self._check_running(mirror)
        request = PauseOrResume(self._run, self._names if mirror is None else [mirror], paused)
        request.make(who() if by is None else by)
        if timeout:
            request.wait(timeout, self._ended)


def run(
    config: Config,
    *,
    mirrors: Iterable[str] | str | None = None,
    stop_at_end: bool = False,
    spark: object | None = None,
    on_status: OnStatus | None = None,
    on_event: OnEvent | None = None,
) -> RunResult:
    """Run mirrors until they end: at the current log ends with `stop_at_end`, otherwise only by an exception.

    Ctrl-C stops the mirrors without loss before KeyboardInterrupt leaves this function. To stop from
    elsewhere, raise an exception in `on_status`, or use a Runner, which has the same parameters.
    """
    runner = Runner(
        config, mirrors=mirrors, stop_at_end=stop_at_end, spark=spark, on_status=on_status, on_event=on_event
    )
    with runner:
        return runner.wait()


def _log(mirror: str, event: EventView) -> None:
    advice = f"; {event.todo}" if event.todo else ""
    log.log(_LEVELS[event.level], "%s: %s%s", mirror, event.what, advice)
