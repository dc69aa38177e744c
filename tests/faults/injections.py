"""Faults of processes, network and topics: entering the context injects the fault, leaving it heals.

A fault that ends the mirror reports that to its target; the supervisor starts the mirror again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from confluent_kafka.admin import NewPartitions

from faults import network
from faults.events import Side
from faults.fault_target import FaultTarget, Injection, complaint
from faults.network import Trouble, backlog
from faults.processes import held, kill
from support.process import eventually
from support.proxy import END_TXN, FETCH, PRODUCE, Proxy
from support.wire import Way

GROWING = "g"
"""The topic that gets more partitions."""
_SHARDS = (1, 2, 3)

# Processes


@contextmanager
def tree_killed(target: FaultTarget, random: Random) -> Iterator[None]:
    target.end(target.mirror.run)
    yield


@contextmanager
def driver_killed(target: FaultTarget, random: Random) -> Iterator[None]:
    """Its workers live on for a moment, as zombies."""
    target.ended.append(target.mirror.run)
    kill([target.mirror.run.process.pid])
    yield


@contextmanager
def jvm_killed(target: FaultTarget, random: Random) -> Iterator[None]:
    """Nothing can continue without it: the driver ends, and reports why."""
    run = target.mirror.run
    target.ended.append(run)
    kill(run.jvm())
    eventually(lambda: not run.alive, "the driver ends after its JVM")
    if run.process.returncode <= 0:
        target.complain(f"the driver ended with {run.process.returncode} without its JVM")
    yield


@contextmanager
def killed_at_start(target: FaultTarget, random: Random) -> Iterator[None]:
    """Kill it, and kill it again while it starts."""
    target.end(target.mirror.run)
    run = target.mirror.start()
    _last(target, random.uniform(0.5, 9.0))
    target.end(run)
    yield


@contextmanager
def worker_killed(target: FaultTarget, random: Random) -> Iterator[None]:
    kill([random.choice(target.workers())])
    yield


@contextmanager
def workers_killed(target: FaultTarget, random: Random) -> Iterator[None]:
    kill(target.workers())
    yield


@contextmanager
def terminated(target: FaultTarget, random: Random) -> Iterator[None]:
    run = target.mirror.run
    target.ended.append(run)
    code = run.stop(60)
    if code != 0:
        target.complain(f"SIGTERM ended the mirror with {code}: {complaint(run.output)}")
    yield


@contextmanager
def worker_held(target: FaultTarget, random: Random) -> Iterator[None]:
    with held([random.choice(target.workers())]):
        yield


@contextmanager
def driver_held(target: FaultTarget, random: Random) -> Iterator[None]:
    with held([target.mirror.run.process.pid]):
        yield


@contextmanager
def tree_held(target: FaultTarget, random: Random) -> Iterator[None]:
    with held(target.mirror.run.family()):
        yield


@contextmanager
def second_instance(target: FaultTarget, random: Random) -> Iterator[None]:
    """The second instance takes over, and the older one ends by itself."""
    older = target.mirror.run
    target.replaced.append(older)
    target.mirror.start()
    target.scenario.until(lambda: not older.alive, "the older instance ends")
    yield


@contextmanager
def zombie(target: FaultTarget, random: Random) -> Iterator[None]:
    """An instance is suspended, another one takes over, and the first one continues."""
    older = target.mirror.run
    target.replaced.append(older)
    with held(older.family()):
        target.mirror.start()
        target.scenario.advances(20, 90)
        yield


@contextmanager
def resharded(target: FaultTarget, random: Random) -> Iterator[None]:
    now = int(target.mirror.keys["shards"])
    count = random.choice([n for n in _SHARDS if n != now])
    target.end(target.mirror.run)
    target.mirror.write_config(shards=count)
    yield


# Network


def troubled(side: Side, trouble: Trouble) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        trouble.begin(target.lines[side])
        try:
            yield
        finally:
            target.lines[side].each(Proxy.heal)

    return act


def one_line_cut(side: Side) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        line = target.lines[side].to(target.leader(side, random).id)
        line.each(Proxy.cut)
        try:
            yield
        finally:
            line.each(Proxy.heal)

    return act


def torn(side: Side) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        """On the connection to a leader that gets requests: an idle one would keep the fault for later."""
        line = target.lines[side].to(target.leader(side, random).id)
        line.each(lambda proxy: proxy.torn.clear())
        way: Way = random.choice(("requests", "answers"))
        network.torn(way, FETCH if side == "source" else PRODUCE).begin(line)
        target.scenario.until(lambda: all(proxy.torn.is_set() for proxy in line.proxies), "a frame is torn")
        yield

    return act


def thin(side: Side) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        target.lines[side].each(lambda proxy: proxy.limit(1_000_000))
        try:
            backlog(target.scenario, target.scenario.topic("t"), 3)
            yield
        finally:
            target.lines[side].each(Proxy.heal)

    return act


@contextmanager
def commit_response_lost(target: FaultTarget, random: Random) -> Iterator[None]:
    proxy, shard = target.commits(random)
    proxy.lost.clear()
    proxy.lose_answer(END_TXN, shard, hang_up=random.random() < 0.5)
    target.scenario.until(proxy.lost.is_set, "the response to a commit is lost")
    yield


@contextmanager
def commit_late(target: FaultTarget, random: Random) -> Iterator[None]:
    """Deliver it when its shard has begun the next transactions."""
    proxy, shard = target.commits(random)
    proxy.held.clear()
    proxy.hold(END_TXN, shard)
    target.scenario.until(proxy.held.is_set, "a commit is held back")
    try:
        yield
    finally:
        proxy.release()


# Topics


@contextmanager
def grown(target: FaultTarget, random: Random) -> Iterator[None]:
    scenario, topic = target.scenario, target.scenario.topic(GROWING)
    count, admin = scenario.topics[topic] + 1, target.scenario.admins["source"]
    for future in admin.create_partitions([NewPartitions(topic, count)]).values():
        future.result()
    eventually(
        lambda: len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == count,
        "the new partition is known",
    )
    scenario.topics[topic] = count
    (before,) = (one for one in scenario.workloads if topic in one.topics and not one.stopping.is_set())
    scenario.write({**before.topics, topic: count})
    before.stop()
    yield


def _last(target: FaultTarget, seconds: float) -> None:
    """Wait: the duration is the fault."""
    over = target.scenario.journal.now() + seconds * 1000
    eventually(lambda: target.scenario.journal.now() >= over, "time has passed", seconds + 30)
