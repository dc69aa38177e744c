"""What can be done to a mirror, to its brokers and to its lines: entering an act injects, leaving it heals.

Whoever ends the mirror says so to the stage; that it is started again is its supervisor's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from confluent_kafka.admin import NewPartitions

from faults import network
from faults.events import Side
from faults.network import Trouble, backlog
from faults.processes import held, kill
from faults.stage import Act, Stage, complaint
from support.process import eventually
from support.proxy import END_TXN, FETCH, PRODUCE, Proxy
from support.wire import Way

GROWING = "g"
"""The topic that gets more partitions."""
_SHARDS = (1, 2, 3)

# Processes


@contextmanager
def tree_killed(stage: Stage, random: Random) -> Iterator[None]:
    stage.end(stage.mirror.run)
    yield


@contextmanager
def driver_killed(stage: Stage, random: Random) -> Iterator[None]:
    """Its workers live on for a moment, as zombies."""
    stage.ended.append(stage.mirror.run)
    kill([stage.mirror.run.process.pid])
    yield


@contextmanager
def jvm_killed(stage: Stage, random: Random) -> Iterator[None]:
    """Nothing can go on without it: the driver ends, and says why."""
    run = stage.mirror.run
    stage.ended.append(run)
    kill(run.jvm())
    eventually(lambda: not run.alive, "the driver ends after its JVM")
    if run.process.returncode <= 0:
        stage.complain(f"the driver ended with {run.process.returncode} without its JVM")
    yield


@contextmanager
def killed_at_start(stage: Stage, random: Random) -> Iterator[None]:
    """And again before it has come up."""
    stage.end(stage.mirror.run)
    run = stage.mirror.start()
    _last(stage, random.uniform(0.5, 9.0))
    stage.end(run)
    yield


@contextmanager
def worker_killed(stage: Stage, random: Random) -> Iterator[None]:
    kill([random.choice(stage.workers())])
    yield


@contextmanager
def workers_killed(stage: Stage, random: Random) -> Iterator[None]:
    kill(stage.workers())
    yield


@contextmanager
def terminated(stage: Stage, random: Random) -> Iterator[None]:
    run = stage.mirror.run
    stage.ended.append(run)
    code = run.stop(60)
    if code != 0:
        stage.complain(f"SIGTERM ended the mirror with {code}: {complaint(run.output)}")
    yield


@contextmanager
def worker_held(stage: Stage, random: Random) -> Iterator[None]:
    with held([random.choice(stage.workers())]):
        yield


@contextmanager
def driver_held(stage: Stage, random: Random) -> Iterator[None]:
    with held([stage.mirror.run.process.pid]):
        yield


@contextmanager
def tree_held(stage: Stage, random: Random) -> Iterator[None]:
    with held(stage.mirror.run.family()):
        yield


@contextmanager
def second_instance(stage: Stage, random: Random) -> Iterator[None]:
    """It takes over, and the older one ends by itself."""
    older = stage.mirror.run
    stage.replaced.append(older)
    stage.mirror.start()
    stage.day.until(lambda: not older.alive, "the older instance ends")
    yield


@contextmanager
def zombie(stage: Stage, random: Random) -> Iterator[None]:
    """An instance stands still, another one takes over, and the first one goes on where it was."""
    older = stage.mirror.run
    stage.replaced.append(older)
    with held(older.family()):
        stage.mirror.start()
        stage.day.advances(20, 90)
        yield


@contextmanager
def resharded(stage: Stage, random: Random) -> Iterator[None]:
    now = int(stage.mirror.keys["shards"])
    count = random.choice([n for n in _SHARDS if n != now])
    stage.end(stage.mirror.run)
    stage.mirror.write_config(shards=count)
    yield


# Network


def troubled(side: Side, trouble: Trouble) -> Act:
    @contextmanager
    def act(stage: Stage, random: Random) -> Iterator[None]:
        trouble.begin(stage.lines[side])
        try:
            yield
        finally:
            stage.lines[side].each(Proxy.heal)

    return act


def one_line_cut(side: Side) -> Act:
    @contextmanager
    def act(stage: Stage, random: Random) -> Iterator[None]:
        line = stage.lines[side].to(stage.leader(side, random).id)
        line.each(Proxy.cut)
        try:
            yield
        finally:
            line.each(Proxy.heal)

    return act


def torn(side: Side) -> Act:
    @contextmanager
    def act(stage: Stage, random: Random) -> Iterator[None]:
        """On the line to one leader: whoever is never asked would keep it for later."""
        line = stage.lines[side].to(stage.leader(side, random).id)
        line.each(lambda proxy: proxy.torn.clear())
        way: Way = random.choice(("requests", "answers"))
        network.torn(way, FETCH if side == "source" else PRODUCE).begin(line)
        stage.day.until(lambda: all(proxy.torn.is_set() for proxy in line.proxies), "a frame is torn")
        yield

    return act


def thin(side: Side) -> Act:
    @contextmanager
    def act(stage: Stage, random: Random) -> Iterator[None]:
        stage.lines[side].each(lambda proxy: proxy.limit(1_000_000))
        try:
            backlog(stage.day, stage.day.topic("t"), 3)
            yield
        finally:
            stage.lines[side].each(Proxy.heal)

    return act


@contextmanager
def commit_unanswered(stage: Stage, random: Random) -> Iterator[None]:
    proxy, shard = stage.commits(random)
    proxy.lost.clear()
    proxy.lose_answer(END_TXN, shard, hang_up=random.random() < 0.5)
    stage.day.until(proxy.lost.is_set, "the answer to a commit is lost")
    yield


@contextmanager
def commit_late(stage: Stage, random: Random) -> Iterator[None]:
    """Delivered when its shard has long begun something new."""
    proxy, shard = stage.commits(random)
    proxy.held.clear()
    proxy.hold(END_TXN, shard)
    stage.day.until(proxy.held.is_set, "a commit is held back")
    try:
        yield
    finally:
        proxy.release()


# Topics


@contextmanager
def grown(stage: Stage, random: Random) -> Iterator[None]:
    day, topic = stage.day, stage.day.topic(GROWING)
    count, admin = day.topics[topic] + 1, stage.day.admins["source"]
    for future in admin.create_partitions([NewPartitions(topic, count)]).values():
        future.result()
    eventually(
        lambda: len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == count,
        "the new partition is known",
    )
    day.topics[topic] = count
    (before,) = (one for one in day.workloads if topic in one.topics and not one.stopping.is_set())
    day.write({**before.topics, topic: count})
    before.stop()
    yield


def _last(stage: Stage, seconds: float) -> None:
    """How long it lasts is what this fault is."""
    over = stage.day.journal.now() + seconds * 1000
    eventually(lambda: stage.day.journal.now() >= over, "time has passed", seconds + 30)
