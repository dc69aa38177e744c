"""Checks a source pool: are its nodes clusters that the ledger knows, with the same topics and records?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from causeway.config import MirrorSettings
from causeway.core.check_report import Remark, note, ok, problem, warning
from causeway.core.cluster import Cluster
from causeway.core.plural import counted
from causeway.core.pool_health import NodeVerdict
from causeway.core.topic import Spot
from causeway.errors import CausewayError, IntegrityError
from causeway.kafka.admin import ClusterView
from causeway.kafka.node_comparison import compare_nodes
from causeway.kafka.pool_view import PoolView
from causeway.planning.pool_nodes import read_pools, state_of
from causeway.planning.rules.selection import select

MOST_PARTITIONS = 100
"""Partitions of which records are compared, at most."""

LAST_RECORDS = 10
"""How many of the last common records of a partition are compared."""

OFFSETS_TOPIC = "__consumer_offsets"

Partitions = Mapping[str, int]  # of topics, by name


class PoolCheck:
    """Examines one pool of one mirror; writes nothing."""

    def __init__(self, mirror: MirrorSettings, view: PoolView, responding: Collection[str]) -> None:
        self.settled = False  # whether the pool's positions in the ledger are known
        self._mirror = mirror
        self._view = view
        self._responding = responding
        self._name = f"pool {view.pool.name}"

    def remarks(self, destination: Cluster | None) -> Iterator[Remark]:
        """Remarks on the pool; without the destination, only on what its nodes have."""
        try:
            self._view.connect()
            if destination is not None:
                yield from self._by_ledger(destination)
        except CausewayError as error:
            yield problem(error)
        nodes = {name: view for name, view in self._view.node_views().items() if name in self._responding}
        if not nodes:
            return
        try:
            topics = {name: self._topics(view) for name, view in nodes.items()}
            yield from self._same_topics(topics)
            yield from self._same_records(nodes, topics)
        except CausewayError as error:
            yield problem(error)

    def _by_ledger(self, destination: Cluster) -> Iterator[Remark]:
        """Cluster ids, and log bounds around the positions."""
        (read,), refused = read_pools(self._mirror, {self._view.pool.name: self._view}, destination)
        self.settled = True
        yield from (problem(IntegrityError(why)) for why in refused)
        if fit := [name for name, verdict in read.verdicts.items() if verdict.state == "fit"]:
            yield ok(f"{self._name}: fit to be read: {', '.join(fit)}")
        for name, verdict in read.verdicts.items():
            if name in self._responding and verdict.state != "fit":
                yield self._unfit(name, verdict)

    def _unfit(self, name: str, verdict: NodeVerdict) -> Remark:
        return warning(
            f"{self._name}: {name} is {state_of(verdict)}",
            "the mirror reads from it only if no node is fit"
            if verdict.state == "lagging"
            else "the mirror does not read from it before it has what was replicated",
        )

    def _topics(self, view: ClusterView) -> Partitions:
        own = self._mirror.for_source(self._view.pool.name)
        selected = select(view.topic_names(), own.topics, own.exclude)
        return {name: facts.partitions for name, facts in view.describe(selected).items()}

    def _same_topics(self, topics: Mapping[str, Partitions]) -> Iterator[Remark]:
        every = sorted(set().union(*topics.values()))
        different = 0
        for topic in every:
            counts = {name: found.get(topic, 0) for name, found in topics.items()}
            if len(set(counts.values())) == 1:
                continue
            different += 1
            each = ", ".join(
                f"{counted(count, 'partition')} on {name}" if count else f"none on {name}"
                for name, count in counts.items()
            )
            yield warning(
                f"{self._name}: {topic} has {each}",
                "give each node as many: a node cannot be read if it lacks a partition that was replicated",
            )
        if every and not different and len(topics) > 1:
            yield ok(
                f"{self._name}: {', '.join(topics)} have the same {counted(len(every), 'topic')},"
                " with as many partitions"
            )

    def _same_records(
        self, nodes: Mapping[str, ClusterView], topics: Mapping[str, Partitions]
    ) -> Iterator[Remark]:
        """Compare the last records that each node has in common with the first one that can be read."""
        readable = []
        for name, view in nodes.items():
            if OFFSETS_TOPIC in view.topic_names():
                readable.append(name)
            else:
                yield note(
                    f"{self._name}: no records of {name} were compared: it has no topic {OFFSETS_TOPIC}"
                    " that this user can see, and the first consumer of a cluster creates it"
                )
        if len(readable) < 2:
            return
        first = self._view.cluster.alias if self._view.cluster.alias in readable else readable[0]
        for name in readable:
            if name != first:
                yield from self._compare(nodes, topics, first, name)

    def _compare(
        self,
        nodes: Mapping[str, ClusterView],
        topics: Mapping[str, Partitions],
        first: str,
        name: str,
    ) -> Iterator[Remark]:
        common = [
            (number, topic)
            for topic, count in topics[first].items()
            for number in range(min(count, topics[name].get(topic, 0)))
        ]
        # The first partitions of each topic.
        spots: list[Spot] = [(topic, number) for number, topic in sorted(common)[:MOST_PARTITIONS]]
        compared = compare_nodes(nodes[first], nodes[name], spots, LAST_RECORDS)
        different = {spot: found.difference for spot, found in compared.items() if found.difference}
        for (topic, number), difference in sorted(different.items()):
            yield problem(
                IntegrityError(
                    f"{self._name}: {topic}[{number}] on {name} {difference}",
                    todo=f"remove {name} from the pool, or the node that has the wrong records",
                )
            )
        equal = sum(1 for found in compared.values() if found.records and not found.difference)
        yield (ok if equal else note)(
            f"{self._name}: the last common records of {first} and {name} are equal in {equal} of"
            f" {counted(len(common), 'partition')}"
            + (f" ({len(spots)} were compared)" if len(spots) < len(common) else "")
            + self._without_common(len(compared) - equal - len(different))
        )

    @staticmethod
    def _without_common(count: int) -> str:
        return f"; {counted(count, 'partition')} without a common record" if count else ""
