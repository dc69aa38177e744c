"""The steps of `causeway demo --failover`: write to a pool of three nodes, kill the one that is read, suspend
the next one, verify.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.cli.child import Child
from causeway.cli.demo.arrivals import Arrivals
from causeway.cli.demo.environment import DESTINATION, MIRROR, NODES, DemoEnvironment
from causeway.cli.demo.failover_summary import FailoverSummary, NodeFault
from causeway.cli.demo.latency import PER_SECOND
from causeway.cli.demo.ledger_watch import LedgerWatch
from causeway.cli.demo.pool_traffic import PARTITIONS, PoolTraffic
from causeway.cli.demo.records import EDGE_CASES
from causeway.cli.demo.steps import Steps
from causeway.cli.demo.watched_mirror import WatchedMirror
from causeway.core.plural import counted
from causeway.kafka.admin import ClusterView
from causeway.local_kafka.broker import Broker

POLL_SECONDS = 0.002
SPOTS = [(topic, number) for topic, count in PARTITIONS.items() for number in range(count)]
PACED = [spot for spot in SPOTS if spot[0] != EDGE_CASES]
"""The partitions that are written to all the time."""


class FailoverScenario:
    """One run of the demo."""

    def __init__(self, environment: DemoEnvironment, steps: Steps, records: int) -> None:
        self._environment = environment
        self._steps = steps
        self._records = records

    @property
    def mirror(self) -> Child:
        return self._mirror.process

    def run(self) -> FailoverSummary:
        environment = self._environment
        environment.start_clusters(self._steps.say)
        destination = environment.cluster(DESTINATION)
        self._traffic = PoolTraffic({node: environment.cluster(node) for node in NODES}, PER_SECOND)
        self._ledger = LedgerWatch(destination, MIRROR)
        self._mirror = WatchedMirror(environment, self._steps, self._traffic, self._ledger)
        try:
            self._replicate()
            self._arrivals = Arrivals(destination, PACED)
            try:
                faults = self._faults()
            finally:
                self._arrivals.close()
            node = faults[-1].next_node
            self._settle(node)
            self._steps.say(f"verifying: {node} and {DESTINATION} are read and compared, record by record")
            verdict = self._mirror.verify(self._traffic.committed, "--node", node)
        finally:
            self._ledger.close()
        if not environment.keep:
            self._mirror.stop()
        return FailoverSummary(
            records=self._traffic.committed.total(),
            bytes=self._traffic.bytes,
            topics=len(PARTITIONS),
            partitions=len(SPOTS),
            paced_partitions=len(PACED),
            per_second=PER_SECOND,
            faults=faults,
            verdict=verdict,
        )

    def _replicate(self) -> None:
        """Write most of the records, start the mirror, and write at an even pace from then on."""
        traffic, ledger = self._traffic, self._ledger
        self._steps.say(f"writing {self._records:,} records, the same ones to each of {', '.join(NODES)}")
        traffic.write_edge_cases()
        traffic.write(self._records)
        traffic.settle()
        ends = self._ends(NODES[0])
        self._steps.say(f"starting the mirror; {PER_SECOND:,} records/s are written to each node from now on")
        self._mirror.start()
        traffic.resume()
        self._mirror.until(lambda: ledger.reached(ends), "the first records are replicated")
        self._steps.say(f"{ledger.records:,} records are replicated; read: {self._nodes_read()}")

    def _faults(self) -> tuple[NodeFault, ...]:
        self._until(lambda: bool(self._ledger.nodes()), "the ledger has the node that is read")
        self._all_arrive("records arrive in every partition")
        killed = self._fault("killed", "SIGKILL", self._kill)
        suspended = self._fault("suspended", "SIGSTOP", lambda node: self._broker(node).pause())
        self._broker(suspended.node).resume()
        self._steps.say(f"resumed {suspended.node}: SIGCONT to its broker; it gets what it lacks")
        self._traffic.write_edge_cases()
        return killed, suspended

    def _kill(self, node: str) -> None:
        self._broker(node).kill()
        self._traffic.leave_out(node)

    def _broker(self, node: str) -> Broker:
        return self._environment.clusters[node].brokers[0]

    def _fault(self, what: str, sent: str, do: Callable[[str], None]) -> NodeFault:
        """Do it to the node that is read, and wait until every partition is delivered from another one."""
        (node, shards), *_ = self._ledger.nodes().most_common()
        timing = self._arrivals.restart()
        do(node)
        self._steps.say(f"{what} {node}, which is read by {counted(shards, 'shard')}: {sent} to its broker")
        self._until(lambda: timing.first_ms is not None, "a record arrives that was written after it")
        first_ms = timing.first_ms or 0.0
        self._steps.say(f"{first_ms:,.0f} ms after it: the first record that was written after it arrived")
        self._all_arrive("records arrive in every partition again")
        self._until(lambda: not self._ledger.nodes()[node], "every shard reads another node")
        (next_node, _), *_ = self._ledger.nodes().most_common()
        self._steps.say(f"{timing.all_ms:,.0f} ms after it: in every partition; read: {self._nodes_read()}")
        return NodeFault(what, sent, node, next_node, first_ms, timing.all_ms, timing.longest_gap_ms)

    def _settle(self, node: str) -> None:
        """No more records; everything that was written is replicated."""
        self._traffic.pause()
        self._traffic.settle()
        ends = self._ends(node)
        everything = self._traffic.committed.total()
        self._mirror.until(
            lambda: self._ledger.reached(ends),
            "everything is replicated",
            lambda: self._mirror.progress(everything),
        )
        self._steps.say(f"caught up: {self._ledger.records:,} records are replicated")

    def _all_arrive(self, what: str) -> None:
        self._until(lambda: self._arrivals.timing.complete, what)

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        def arrived() -> bool:
            self._arrivals.poll()
            return condition()

        self._mirror.until(arrived, what, poll_seconds=POLL_SECONDS)

    def _ends(self, node: str) -> dict[tuple[str, int], int]:
        return ClusterView(self._environment.cluster(node)).offsets(SPOTS, "stable")

    def _nodes_read(self) -> str:
        nodes = self._ledger.nodes()
        return ", ".join(f"{node} by {counted(nodes[node], 'shard')}" for node in sorted(nodes))
