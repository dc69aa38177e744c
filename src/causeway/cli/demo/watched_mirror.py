"""The demo's mirror: starts it, waits for conditions while it runs, verifies what it did, stops it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from causeway.cli.child import Child, last_words
from causeway.cli.demo.arrived import count
from causeway.cli.demo.environment import DESTINATION, DemoEnvironment
from causeway.cli.demo.ledger_watch import LedgerWatch, progress_text
from causeway.cli.demo.records import TOPICS
from causeway.cli.demo.steps import Steps
from causeway.cli.demo.summary import DemoVerdict, verdict_of
from causeway.errors import CausewayError, VerifyMismatch

PATIENCE_SECONDS = 180.0
STOP_SECONDS = 60.0
POLL_SECONDS = 0.02


class WrittenRecords(Protocol):
    """What writes to the source."""

    committed: Counter[str]  # by topic

    def poll(self) -> None: ...


class WatchedMirror:
    """`process` is the current one."""

    def __init__(
        self, environment: DemoEnvironment, steps: Steps, traffic: WrittenRecords, ledger: LedgerWatch
    ) -> None:
        self.process: Child
        self._environment = environment
        self._steps = steps
        self._traffic = traffic
        self._ledger = ledger

    def start(self) -> None:
        self.process = self._environment.start("run")

    def until(
        self,
        condition: Callable[[], bool],
        what: str,
        show: Callable[[], str] | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        """Wait for a condition while the mirror runs; raises CausewayError if it ends or time runs out."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            self.process.check()
            self._traffic.poll()
            self._ledger.poll(poll_seconds)
            self._steps.now(f"waiting until {what}: {(show or self.progress)()}")
            if time.monotonic() > deadline:
                raise CausewayError(f"not within {PATIENCE_SECONDS:.0f} s: {what}")

    def progress(self, goal: int = 0) -> str:
        written, ledger = self._traffic.committed.total(), self._ledger
        return f"{written:,} records written, {progress_text(ledger.records, goal, ledger.rate())}"

    def verify(self, written: Counter[str], *options: str) -> DemoVerdict:
        """Verify as a user would: with the command, while the mirror runs."""
        output = self._environment.logs / "verify.json"
        verify = self._environment.start("verify", "--wait", "-o", "json", *options, output=output)
        arrived = count(self._environment.cluster(DESTINATION), TOPICS)
        done = "both sides are compared"
        self.until(lambda: verify.exit_code is not None, done, lambda: last_words(verify.log))
        if verify.exit_code not in (0, VerifyMismatch.exit_code):
            verify.check()
        try:
            report = json.loads(output.read_text())
        except ValueError:
            raise verify.failure("`causeway verify` did not print its report") from None
        return verdict_of(report, written, arrived)

    def stop(self) -> None:
        self._steps.say("stopping the mirror")
        code = self.process.stop(STOP_SECONDS)
        if code != 0:
            raise self.process.failure(f"the mirror ended with exit code {code} after SIGTERM")
