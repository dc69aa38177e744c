"""The steps of the demo, in order. Conditions decide when the next one starts, never the clock."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from causeway.cli.child import Child, last_words
from causeway.cli.demo import latency
from causeway.cli.demo.arrived import count
from causeway.cli.demo.environment import DESTINATION, MIRROR, SOURCE, DemoEnvironment
from causeway.cli.demo.ledger_watch import LedgerWatch, Speed, progress_text, speed
from causeway.cli.demo.records import ORDERS, TOPICS
from causeway.cli.demo.steps import Steps
from causeway.cli.demo.summary import DemoVerdict, Summary, verdict_of
from causeway.cli.demo.traffic import Traffic
from causeway.errors import CausewayError, VerifyMismatch
from causeway.kafka.admin import ClusterView

BEFORE = 0.15
"""Share of the records that is written while the mirror starts."""
KILL_AT = 0.25
"""Share replicated when the mirror is killed. More than BEFORE, so the mirror also replicates live writes."""
PAUSED_AT = 0.75
"""Share at which writing waits for a slow mirror: the rest is for the restarted mirror."""
CHUNKS = 400

PATIENCE_SECONDS = 180.0
STOP_SECONDS = 60.0
POLL_SECONDS = 0.02


class MeasuredLatency(NamedTuple):
    written: int  # records, those of the warm-up included
    latencies: list[float]
    warm_up_seconds: float


class DemoScenario:
    """One run of the demo. `mirror` is the current process."""

    def __init__(
        self, environment: DemoEnvironment, steps: Steps, records: int, warm_up_seconds: float
    ) -> None:
        self._environment = environment
        self._steps = steps
        self._records = records
        self._warm_up_seconds = warm_up_seconds
        self._kills = 0
        self._killed_processes = 0
        self.mirror: Child

    def run(self) -> Summary:
        environment, say = self._environment, self._steps.say
        for alias in (SOURCE, DESTINATION):
            say(f"starting a Kafka cluster: {alias}")
            environment.start_cluster(alias)
        environment.write_config()
        self._traffic = Traffic(environment.cluster(SOURCE))
        self._ledger = LedgerWatch(environment.cluster(DESTINATION), MIRROR)
        try:
            self._mirror_and_kill()
            caught_up = self._restart()
            measured = self._latency()
            written = self._traffic.committed + Counter({ORDERS: measured.written})
            verdict = self._verify(written)
        finally:
            self._ledger.close()
        if not environment.keep:
            self._stop()
        return Summary(
            records=written.total(),
            bytes=self._ledger.bytes,
            aborted=self._traffic.aborted,
            topics=len(TOPICS),
            partitions=sum(topic.partitions for topic in TOPICS),
            kills=self._kills,
            killed_processes=self._killed_processes,
            speed=caught_up,
            latency_p50_ms=latency.percentile(measured.latencies, 0.50),
            latency_p99_ms=latency.percentile(measured.latencies, 0.99),
            warm_up_seconds=measured.warm_up_seconds,
            trickle_per_second=latency.PER_SECOND,
            verdict=verdict,
        )

    def _mirror_and_kill(self) -> None:
        """Write while the mirror replicates; kill it in the middle."""
        traffic, ledger, total = self._traffic, self._ledger, self._records
        self._steps.say(f"starting the mirror, and writing to {SOURCE} meanwhile")
        self.mirror = self._environment.start("run")
        traffic.write_edge_cases()
        traffic.write(int(total * BEFORE))
        self._until(lambda: ledger.records > 0, "the first record arrives")
        self._steps.say(f"the first {ledger.records:,} records have arrived; writing continues")
        traffic.write_edge_cases()

        def write_on() -> bool:
            if traffic.written < total * PAUSED_AT:
                traffic.write(max(1, total // CHUNKS))
            return ledger.records >= total * KILL_AT

        self._until(write_on, "a quarter is replicated", lambda: self._progress(int(total * KILL_AT)))
        written = traffic.written
        self._killed_processes = self.mirror.kill()
        self._kills += 1
        self._steps.say(
            f"killed the mirror: SIGKILL to all {self._killed_processes} of its processes"
            f" ({written:,} records written, {ledger.records:,} replicated)"
        )

    def _restart(self) -> Speed:
        """Restart the mirror, and write the rest of the records meanwhile."""
        traffic, ledger = self._traffic, self._ledger
        self._steps.say("starting the mirror again, and writing the rest meanwhile")
        restarted_at = time.time_ns() // 1_000_000
        self.mirror = self._environment.start("run")
        while missing := self._records - traffic.written:
            traffic.write(min(missing, max(1, self._records // CHUNKS)))
            self._steps.now(f"{traffic.written:,} of {self._records:,} records are written")
        traffic.write_edge_cases()
        traffic.settle()
        view = ClusterView(self._environment.cluster(SOURCE))
        partitions = [(topic.name, number) for topic in TOPICS for number in range(topic.partitions)]
        ends = view.offsets(partitions, "stable")
        everything = traffic.committed.total()
        self._until(
            lambda: ledger.reached(ends), "everything is replicated", lambda: self._progress(everything)
        )
        self._steps.say(f"caught up: {ledger.records:,} records are replicated")
        return speed(commit for commit in ledger.commits if commit.at >= restarted_at)

    def _latency(self) -> MeasuredLatency:
        """Warm up, then measure: new brokers still compile the code that handles each request."""
        partitions = next(topic.partitions for topic in TOPICS if topic.name == ORDERS)
        source, destination = self._environment.cluster(SOURCE), self._environment.cluster(DESTINATION)
        trickle = latency.Trickle(source, destination, partitions)

        def watch() -> None:
            self.mirror.check()
            self._steps.now(f"{trickle.arrived:,} of {trickle.written:,} records have arrived")

        try:
            self._steps.say(
                f"warming up: {latency.PER_SECOND:,} records/s until the latency settles"
                " (new brokers compile their code first)"
            )
            windows = latency.warm_up(trickle, watch, self._warm_up_seconds)
            self._steps.say(
                f"measuring the latency: {latency.PER_SECOND:,} records/s for {latency.SECONDS:.0f} s"
            )
            latencies = trickle.run(watch, latency.SECONDS)
        finally:
            trickle.close()
        return MeasuredLatency(trickle.written, latencies, len(windows) * latency.WINDOW_SECONDS)

    def _verify(self, written: Counter[str]) -> DemoVerdict:
        """Verify as a user would: with the command, while the mirror runs."""
        self._steps.say("verifying: both clusters are read and compared, record by record")
        output = self._environment.logs / "verify.json"
        verify = self._environment.start("verify", "--wait", "-o", "json", output=output)
        arrived = count(self._environment.cluster(DESTINATION), TOPICS)
        done = "both sides are compared"
        self._until(lambda: verify.exit_code is not None, done, lambda: last_words(verify.log))
        if verify.exit_code not in (0, VerifyMismatch.exit_code):
            verify.check()
        try:
            report = json.loads(output.read_text())
        except ValueError:
            raise verify.failure("`causeway verify` did not print its report") from None
        return verdict_of(report, written, arrived)

    def _stop(self) -> None:
        self._steps.say("stopping the mirror")
        code = self.mirror.stop(STOP_SECONDS)
        if code != 0:
            raise self.mirror.failure(f"the mirror ended with exit code {code} after SIGTERM")

    def _until(self, condition: Callable[[], bool], what: str, show: Callable[[], str] | None = None) -> None:
        """Wait for a condition while the mirror runs; raises CausewayError if it ends or time runs out."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            self.mirror.check()
            self._traffic.poll()
            self._ledger.poll(POLL_SECONDS)
            self._steps.now(f"waiting until {what}: {(show or self._progress)()}")
            if time.monotonic() > deadline:
                raise CausewayError(f"not within {PATIENCE_SECONDS:.0f} s: {what}")

    def _progress(self, goal: int = 0) -> str:
        written, ledger = self._traffic.committed.total(), self._ledger
        return f"{written:,} records written, {progress_text(ledger.records, goal, ledger.rate())}"
