"""Faults of a source pool's nodes as data: each one is injected while records are written and read.

The active node is the one that the program under test reads; the faults do not depend on which one it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from faults.arrivals import Arrivals
from faults.pool_contenders import PoolContender
from support.node_pool import NodePool, Traffic
from support.process import eventually
from support.proxy import Proxy
from support.records import Rec

BETWEEN = 500  # records that arrive between two steps of a fault
SLOW_SECONDS, SLOW_DELAY, SLOW_TIMES = 1.5, 0.15, 4
"""Shorter than healthcheck_interval, and each response later than request_timeout: in both directions."""
AHEAD = 700  # records of one partition; fewer than the lag_threshold of the sample
PATIENCE_SECONDS = 90.0


@dataclass
class PoolTarget:
    pool: NodePool
    topic: str
    contender: PoolContender
    arrivals: Arrivals
    proxies: Mapping[str, Proxy]
    traffic: Traffic
    notes: list[str] = field(default_factory=list)

    def active(self) -> str:
        self.until(lambda: self.contender.read(), "it reads a node")
        return self.contender.read()[-1]

    def others(self) -> list[str]:
        active = self.active()
        return [node for node in self.pool.nodes if node != active]

    def fault(self, act: Callable[[], object]) -> None:
        self.arrivals.after(act, lambda: self.traffic.next)

    def arrive(self, records: int = BETWEEN) -> None:
        wanted = self.arrivals.timing.distinct + records
        self.until(lambda: self.arrivals.timing.distinct >= wanted, f"{records} more records arrive")

    def until(self, condition: Callable[[], object], what: str) -> None:
        eventually(lambda: condition() or not self.contender.alive, what, PATIENCE_SECONDS)
        assert self.contender.alive, f"the program ended before {what}"


@dataclass(frozen=True)
class PoolFault:
    name: str  # on the command line
    title: str
    act: Callable[[PoolTarget], None]
    proxied: bool = False  # whether a proxy is in front of each node: it also answers for one that is dead


def nothing(target: PoolTarget) -> None:
    target.fault(lambda: None)
    target.arrive(6 * BETWEEN)


def killed(target: PoolTarget) -> None:
    active = target.active()
    target.fault(lambda: target.pool.kill(active))


def hangs(target: PoolTarget) -> None:
    active = target.active()
    target.fault(lambda: target.pool.pause(active))


def lags(target: PoolTarget) -> None:
    others = target.others()
    target.fault(lambda: setattr(target.traffic, "to", others))


def cut(target: PoolTarget) -> None:
    proxy = target.proxies[target.active()]
    target.fault(proxy.cut)


def slow(target: PoolTarget) -> None:
    proxy = target.proxies[target.active()]
    for _ in range(SLOW_TIMES):
        target.fault(lambda: proxy.delay(SLOW_DELAY))
        time.sleep(SLOW_SECONDS)  # the fault itself
        proxy.heal()
        target.arrive()


def ahead(target: PoolTarget) -> None:
    """The active node dies. One of the others has more records in sum, and lacks some of one partition."""
    numbers, pool, topic = target.pool.world.numbers, target.pool, target.topic
    pool_start = target.traffic.end()
    target.until(lambda: target.arrivals.timing.distinct >= pool_start, "everything has arrived")
    active, (short, whole) = target.active(), target.others()
    first = numbers(400, 2, pool_start)
    pool.send(topic, first, [active, whole])
    pool.only(topic, _of(0, first), to=short)
    target.until(lambda: target.arrivals.timing.distinct >= pool_start + 400, "it is read to its end")
    second = numbers(200, 2, pool_start + 400)
    more = [(0, rec) for _, rec in numbers(AHEAD, 1, pool_start + 600)]
    pool.send(topic, second, [whole])
    pool.only(topic, _of(0, second), to=short)
    pool.send(topic, more, [short])
    for node in (short, whole):
        pool.finish(node)
    target.arrivals.after(lambda: pool.kill(active), lambda: pool_start + 400)
    target.until(lambda: target.contender.read()[-1] != active, "it reads another node")
    target.until(lambda: target.arrivals.timing.next_ms is not None, "a record arrives")
    target.notes.append(f"{short} was ahead in sum and short on partition 1")
    pool.only(topic, _of(1, [*first, *second]), to=short)
    target.traffic = Traffic(pool, topic, pool_start + 600 + AHEAD)


def _of(partition: int, records: list[tuple[int, Rec]]) -> list[tuple[int, Rec]]:
    return [record for record in records if record[0] == partition]


SCHEDULE = (
    PoolFault("nothing", "nothing happens", nothing),
    PoolFault("kill", "kill -9 of the active node", killed),
    PoolFault("hang", "SIGSTOP of the active node", hangs),
    PoolFault("lag", "the active node gets no more records", lags),
    PoolFault("cut", "the active node is cut off", cut, proxied=True),
    PoolFault("slow", "slow responses, shorter than one check interval", slow, proxied=True),
    PoolFault("ahead", "kill -9, and another node is ahead in sum and short on one partition", ahead),
)
