"""The steps of the demo, in order. Conditions decide when the next one starts, never the clock."""

from __future__ import annotations

import time
from collections import Counter
from typing import NamedTuple

from causeway.cli.child import Child
from causeway.cli.demo import latency
from causeway.cli.demo.environment import DESTINATION, MIRROR, SOURCE, DemoEnvironment
from causeway.cli.demo.ledger_watch import LedgerWatch, Speed, speed
from causeway.cli.demo.records import ORDERS, TOPICS
from causeway.cli.demo.steps import Steps
from causeway.cli.demo.summary import Summary
from causeway.cli.demo.traffic import Traffic
from causeway.cli.demo.watched_mirror import WatchedMirror
from causeway.kafka.admin import ClusterView

BEFORE = 0.15
"""Share of the records that is written while the mirror starts."""
KILL_AT = 0.25
"""Share replicated when the mirror is killed. More than BEFORE, so the mirror also replicates live writes."""
PAUSED_AT = 0.75
"""Share at which writing waits for a slow mirror: the rest is for the restarted mirror."""
CHUNKS = 400


class MeasuredLatency(NamedTuple):
    written: int  # records, those of the warm-up included
    latencies: list[float]
    warm_up_seconds: float


class DemoScenario:
    """One run of the demo."""

    def __init__(
        self, environment: DemoEnvironment, steps: Steps, records: int, warm_up_seconds: float
    ) -> None:
        self._environment = environment
        self._steps = steps
        self._records = records
        self._warm_up_seconds = warm_up_seconds
        self._kills = 0
        self._killed_processes = 0

    @property
    def mirror(self) -> Child:
        """The current process."""
        return self._mirror.process

    def run(self) -> Summary:
        environment = self._environment
        environment.start_clusters(self._steps.say)
        self._traffic = Traffic(environment.cluster(SOURCE))
        self._ledger = LedgerWatch(environment.cluster(DESTINATION), MIRROR)
        self._mirror = WatchedMirror(environment, self._steps, self._traffic, self._ledger)
        try:
            self._mirror_and_kill()
            caught_up = self._restart()
            measured = self._latency()
            written = self._traffic.committed + Counter({ORDERS: measured.written})
            self._steps.say("verifying: both clusters are read and compared, record by record")
            verdict = self._mirror.verify(written)
        finally:
            self._ledger.close()
        if not environment.keep:
            self._mirror.stop()
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
        self._mirror.start()
        traffic.write_edge_cases()
        traffic.write(int(total * BEFORE))
        self._mirror.until(lambda: ledger.records > 0, "the first record arrives")
        self._steps.say(f"the first {ledger.records:,} records have arrived; writing continues")
        traffic.write_edge_cases()

        def write_on() -> bool:
            if traffic.written < total * PAUSED_AT:
                traffic.write(max(1, total // CHUNKS))
            return ledger.records >= total * KILL_AT

        self._mirror.until(
            write_on, "a quarter is replicated", lambda: self._mirror.progress(int(total * KILL_AT))
        )
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
        self._mirror.start()
        while missing := self._records - traffic.written:
            traffic.write(min(missing, max(1, self._records // CHUNKS)))
            self._steps.now(f"{traffic.written:,} of {self._records:,} records are written")
        traffic.write_edge_cases()
        traffic.settle()
        view = ClusterView(self._environment.cluster(SOURCE))
        partitions = [(topic.name, number) for topic in TOPICS for number in range(topic.partitions)]
        ends = view.offsets(partitions, "stable")
        everything = traffic.committed.total()
        self._mirror.until(
            lambda: ledger.reached(ends),
            "everything is replicated",
            lambda: self._mirror.progress(everything),
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
