"""Clusters behind proxies, one for each broker, and faults of their connections.

A mirror gets `cluster.proxied_servers`; the harness reads through `cluster.bootstrap_servers`, without a
proxy.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import Producer

from causeway.local_kafka import EmbeddedCluster
from faults.content import content, token
from faults.events import DeliveryReport, Sent
from faults.scenario import Scenario
from support.proxy import FETCH, PRODUCE, Proxy
from support.wire import Way
from support.world import now_ms

PROMPT = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
"""Abort timed-out transactions at once; Kafka's default looks every ten seconds."""


class ProxiedCluster:
    """A cluster, and the proxies to its brokers."""

    def __init__(self, cluster: EmbeddedCluster, proxies: Collection[Proxy]) -> None:
        self.cluster, self.proxies = cluster, tuple(proxies)

    def each(self, act: Callable[[Proxy], object]) -> None:
        for proxy in self.proxies:
            act(proxy)

    def to(self, broker: int) -> ProxiedCluster:
        """The same with the proxy of one broker only."""
        return ProxiedCluster(self.cluster, [self.proxies[broker]])


@contextlib.contextmanager
def lines(name: str, directory: Path, brokers: int = 1) -> Iterator[ProxiedCluster]:
    """Start a cluster with a proxy for each broker."""
    proxies = [Proxy() for _ in range(brokers)]
    try:
        with EmbeddedCluster.start(
            name, brokers, directory=directory, config=PROMPT,
            proxied={node: proxy.port for node, proxy in enumerate(proxies)},
        ) as cluster:  # fmt: skip
            for broker, proxy in zip(cluster.brokers, proxies, strict=True):
                assert broker.proxy_target_port is not None
                proxy.target(broker.proxy_target_port)
            yield ProxiedCluster(cluster, proxies)
    finally:
        for proxy in proxies:
            proxy.close()


@dataclass(frozen=True, slots=True)
class Trouble:
    """A network fault: how it begins, and when it has had its effect."""

    name: str
    begin: Callable[[ProxiedCluster], None]
    felt: Callable[[ProxiedCluster], bool] = lambda lines: True
    noticed: bool = False  # it lasts until the mirror reports what it waits for
    outlasts: bool = False  # and longer than the transaction timeout

    def __str__(self) -> str:
        return self.name


def dead(way: Way, *, late: bool) -> Trouble:
    """One direction is dead; connections stay open, and new ones seem to work."""
    fate = "late" if late else "lost"
    return Trouble(
        f"{way} are {fate}",
        lambda lines: lines.each(lambda proxy: proxy.mute(way, late=late)),
        noticed=True,
    )


def torn(way: Way, api: int) -> Trouble:
    """A frame is cut in half by a reset."""
    kind = {PRODUCE: "produce", FETCH: "fetch"}[api]

    def begin(lines: ProxiedCluster) -> None:
        for proxy in lines.proxies:
            proxy.torn.clear()
            proxy.tear(way, api)

    return Trouble(
        f"a reset within {kind} {way}",
        begin,
        lambda lines: any(proxy.torn.is_set() for proxy in lines.proxies),
    )


MOMENT = Trouble("cut for a moment", lambda lines: lines.each(Proxy.cut))
OUTAGE = Trouble(
    "cut for longer than a transaction", lambda lines: lines.each(Proxy.cut), noticed=True, outlasts=True
)
RESET = Trouble("every connection reset", lambda lines: lines.each(Proxy.reset))


def backlog(scenario: Scenario, topic: str, megabytes: float, *, record_bytes: int = 10_000) -> int:
    """Write this much incompressible data to a source topic; returns the number of records."""
    random = Random(scenario.seed)
    count = int(megabytes * 1_000_000 / record_bytes)
    name = f"backlog-{uuid.uuid4().hex[:6]}"
    producer = Producer({"bootstrap.servers": scenario.servers["source"], "linger.ms": 5, "log_level": 0})
    reported = 0

    def report(token_of: str) -> Callable[[Any, Any], None]:
        def report(error: Any, message: Any) -> None:
            nonlocal reported
            assert error is None, error
            reported += 1
            scenario.journal.add(DeliveryReport(scenario.journal.now(), token_of, "ok", message.offset()))

        return report

    for number in range(count):
        key, value, at = token(name, number).encode(), random.randbytes(record_bytes), now_ms()
        partition = number % scenario.topics[topic]
        sent = content(key, value, (), at, "create")
        scenario.journal.add(
            Sent(scenario.journal.now(), key.decode(), topic, partition, sent, "", scenario.ids[topic])
        )
        producer.produce(topic, value, key, partition, report(key.decode()), timestamp=at)
        producer.poll(0)
    producer.flush(60)
    assert reported == count
    return count
