"""What a fault is injected into: a running mirror, its brokers, and the connections between them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from random import Random

from causeway.core.task_order import transactional_id
from causeway.local_kafka import Broker
from faults.brokers import Brokers
from faults.events import Side
from faults.mirrors import CausewayMirror
from faults.network import ProxiedCluster
from faults.scenario import Scenario
from support.process import Causeway
from support.proxy import Proxy


@dataclass
class FaultTarget:
    scenario: Scenario
    mirror: CausewayMirror
    lines: dict[Side, ProxiedCluster]
    brokers: dict[Side, Brokers]
    ended: list[Causeway] = field(default_factory=list)  # runs that were ended on purpose
    replaced: list[Causeway] = field(default_factory=list)  # runs that have to end by themselves
    trouble: list[str] = field(default_factory=list)  # problems that no fault explains

    def end(self, run: Causeway) -> None:
        self.ended.append(run)
        run.kill()

    def complain(self, what: str) -> None:
        self.trouble.append(what)
        print(f"TROUBLE {what}", flush=True)

    def topic(self, side: Side, random: Random) -> str:
        """A topic that is being replicated, by its name on this side."""
        writing = [one for one in self.scenario.workloads if not one.stopping.is_set()]
        topic = random.choice(sorted({topic for one in writing for topic in one.topics}))
        return topic if side == "source" else self.mirror.named(topic)

    def leader(self, side: Side, random: Random) -> Broker:
        """The leader of a partition that is being replicated."""
        return self.brokers[side].leader(self.topic(side, random), random.randrange(2))

    def workers(self) -> list[int]:
        found: list[int] = []

        def some() -> bool:
            found[:] = self.mirror.run.workers()
            return bool(found)

        self.scenario.until(some, "there are workers")
        return found

    def commits(self, random: Random) -> tuple[Proxy, bytes]:
        """A shard's transactional id, and the proxy to its coordinator."""
        shard = transactional_id(self.mirror.name, random.randint(1, int(self.mirror.keys["shards"])))
        broker = self.brokers["destination"].coordinator(shard)
        return self.lines["destination"].proxies[broker.id], shard.encode()


Injection = Callable[[FaultTarget, Random], AbstractContextManager[None]]
"""Entering it injects the fault, leaving it heals; the victim is chosen at random."""


def complaint(output: str) -> str:
    """Why a run ended: its last error, or else its last line."""
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error: ")]
    return (errors or lines or ["no output"])[-1]
