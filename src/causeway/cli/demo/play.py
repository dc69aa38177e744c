"""The steps of the demo, in order. Conditions decide when the next one starts, never the clock."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable

from causeway.cli.child import Child, last_words
from causeway.cli.demo import latency
from causeway.cli.demo.arrived import count
from causeway.cli.demo.carried import LedgerWatch, Speed, carried_of, speed
from causeway.cli.demo.records import ORDERS, TOPICS
from causeway.cli.demo.stage import DESTINATION, MIRROR, SOURCE, Stage
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


class Play:
    """One run of the demo. `mirror` is the current process."""

    def __init__(self, stage: Stage, steps: Steps, records: int) -> None:
        self._stage = stage
        self._steps = steps
        self._records = records
        self._kills = 0
        self._killed_processes = 0
        self.mirror: Child

    def perform(self) -> Summary:
        stage, say = self._stage, self._steps.say
        for alias in (SOURCE, DESTINATION):
            say(f"starting a Kafka cluster: {alias}")
            stage.start_cluster(alias)
        stage.write_config()
        self._traffic = Traffic(stage.cluster(SOURCE))
        self._carried = LedgerWatch(stage.cluster(DESTINATION), MIRROR)
        try:
            self._mirror_and_kill()
            caught_up = self._go_on()
            trickle = self._trickle()
            written = self._traffic.committed + Counter({ORDERS: trickle.written})
            verdict = self._verify(written)
        finally:
            self._carried.close()
        if not stage.keep:
            self._stop()
        return Summary(
            records=written.total(),
            bytes=self._carried.bytes,
            aborted=self._traffic.aborted,
            topics=len(TOPICS),
            partitions=sum(topic.partitions for topic in TOPICS),
            kills=self._kills,
            killed_processes=self._killed_processes,
            speed=caught_up,
            latency_p50_ms=latency.percentile(trickle.latencies, 0.50),
            latency_p99_ms=latency.percentile(trickle.latencies, 0.99),
            trickle_per_second=latency.PER_SECOND,
            verdict=verdict,
        )

    def _mirror_and_kill(self) -> None:
        """Write while the mirror replicates; kill it in the middle."""
        traffic, carried, total = self._traffic, self._carried, self._records
        self._steps.say(f"starting the mirror, and writing to {SOURCE} meanwhile")
        self.mirror = self._stage.start("run")
        traffic.write_zoo()
        traffic.write(int(total * BEFORE))
        self._until(lambda: carried.records > 0, "the first record arrives")
        self._steps.say(f"the first {carried.records:,} records have arrived; writing goes on")
        traffic.write_zoo()

        def write_on() -> bool:
            if traffic.written < total * PAUSED_AT:
                traffic.write(max(1, total // CHUNKS))
            return carried.records >= total * KILL_AT

        self._until(write_on, "a quarter is carried", lambda: self._progress(int(total * KILL_AT)))
        written = traffic.written
        self._killed_processes = self.mirror.kill()
        self._kills += 1
        self._steps.say(
            f"killed the mirror: SIGKILL to all {self._killed_processes} of its processes"
            f" ({written:,} records written, {carried.records:,} carried)"
        )

    def _go_on(self) -> Speed:
        """Restart the mirror, and write the rest of the records meanwhile."""
        traffic, carried = self._traffic, self._carried
        self._steps.say("starting the mirror again, and writing the rest meanwhile")
        restarted_at = time.time_ns() // 1_000_000
        self.mirror = self._stage.start("run")
        while missing := self._records - traffic.written:
            traffic.write(min(missing, max(1, self._records // CHUNKS)))
            self._steps.now(f"{traffic.written:,} of {self._records:,} records are written")
        traffic.write_zoo()
        traffic.settle()
        view = ClusterView(self._stage.cluster(SOURCE))
        partitions = [(topic.name, number) for topic in TOPICS for number in range(topic.partitions)]
        ends = view.offsets(partitions, "stable")
        everything = traffic.committed.total()
        self._until(
            lambda: carried.reached(ends), "everything is carried", lambda: self._progress(everything)
        )
        self._steps.say(f"caught up: {carried.records:,} records are carried")
        return speed(commit for commit in carried.commits if commit.at >= restarted_at)

    def _trickle(self) -> latency.Trickle:
        self._steps.say(
            f"measuring the latency: {latency.PER_SECOND:,} records/s for {latency.SECONDS:.0f} s"
        )
        partitions = next(topic.partitions for topic in TOPICS if topic.name == ORDERS)
        source, destination = self._stage.cluster(SOURCE), self._stage.cluster(DESTINATION)
        trickle = latency.Trickle(source, destination, partitions)

        def watch() -> None:
            self.mirror.check()
            self._steps.now(f"{len(trickle.latencies):,} of {trickle.written:,} records have arrived")

        try:
            trickle.run(watch)
        finally:
            trickle.close()
        return trickle

    def _verify(self, written: Counter[str]) -> DemoVerdict:
        """Verify as a user would: with the command, while the mirror runs."""
        self._steps.say("verifying: both clusters are read and compared, record by record")
        output = self._stage.logs / "verify.json"
        verify = self._stage.start("verify", "--wait", "-o", "json", output=output)
        arrived = count(self._stage.cluster(DESTINATION), TOPICS)
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
            self._carried.poll(POLL_SECONDS)
            self._steps.now(f"waiting until {what}: {(show or self._progress)()}")
            if time.monotonic() > deadline:
                raise CausewayError(f"waited {PATIENCE_SECONDS:.0f} s in vain until {what}")

    def _progress(self, goal: int = 0) -> str:
        written, carried = self._traffic.committed.total(), self._carried
        return f"{written:,} records written, {carried_of(carried.records, goal, carried.rate())}"
