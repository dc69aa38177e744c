"""Faults as data: each one can be injected into any mirror, in a scenario of its own.

A fault starts while the mirror runs and a workload writes. When it ends, both run again (a fault that stopped
the mirror starts it). A fault of one topic hits `u`; `t` must not be affected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from faults import processes
from faults.contenders import Contender
from faults.content import TOKEN_HEADER, content, token
from faults.events import DeliveryReport, Sent
from faults.scenario import Scenario
from support.mirrormaker2 import TRANSACTION_TIMEOUT_MS
from support.process import eventually
from support.proxy import Proxy
from support.records import end_offsets
from support.topics import delete_topic
from support.world import now_ms

TOPICS = {"t": 2, "u": 1}
HELD_MS = TRANSACTION_TIMEOUT_MS + 5_000
CUT_MS = 6_000
MORE = 200  # records that are written while a mirror is down
LIMIT, TOO_LARGE = 40_000, 60_000  # bytes; the workload's own records are smaller than both


@dataclass(frozen=True)
class MirrorTarget:
    scenario: Scenario
    mirror: Contender
    proxy: Proxy  # in front of the destination, for mirrors that connect through it


@dataclass(frozen=True)
class Scheduled:
    name: str  # on the command line
    title: str
    act: Callable[[MirrorTarget], None]
    proxied: bool = False


def nothing(target: MirrorTarget) -> None:
    with target.scenario.fault("nothing"):
        target.scenario.advances(MORE)


def killed(target: MirrorTarget) -> None:
    scenario, mirror = target.scenario, target.mirror
    scenario.until(lambda: scenario.unseen.count() > 0, "records are on their way")
    with scenario.fault("kill -9 of the mirror", crash=True):
        mirror.kill()
        _pile_up(scenario)
        mirror.start()


def held(target: MirrorTarget) -> None:
    scenario, mirror = target.scenario, target.mirror
    pids = [pid for role in mirror.pids().values() for pid in role]
    scenario.until(lambda: scenario.unseen.count() > 0, "records are on their way")
    with scenario.fault("SIGSTOP of the mirror", crash=True), processes.held(pids):
        _pass(scenario, HELD_MS)


def broker_killed(target: MirrorTarget) -> None:
    scenario = target.scenario
    (broker,) = scenario.clusters["destination"].brokers
    with scenario.fault("kill -9 of the destination's broker"):
        broker.kill()
        _pile_up(scenario)
        broker.start()


def cut(target: MirrorTarget) -> None:
    scenario = target.scenario
    with scenario.fault("the destination is cut off"):
        target.proxy.cut()
        _pass(scenario, CUT_MS)
        target.proxy.heal()


def overtaken(target: MirrorTarget) -> None:
    """Retention deletes records while the mirror is down."""
    scenario, mirror = target.scenario, target.mirror
    topic = scenario.topic("u")
    _all_replicated(target)
    assert mirror.stop() == 0
    replicated = _ends(scenario, topic)[0]
    _write(scenario, lambda: _ends(scenario, topic)[0] > replicated + MORE)
    to = (replicated + _ends(scenario, topic)[0]) // 2
    with scenario.fault("records deleted before they were replicated"):
        for future in scenario.admins["source"].delete_records([TopicPartition(topic, 0, to)]).values():
            future.result()
        scenario.damage("removed", "source", topic, 0, to)
        mirror.start()
    scenario.write(scenario.topics)


def recreated_meanwhile(target: MirrorTarget) -> None:
    """The new topic is longer: the mirror's position exists in it, and is another record."""
    scenario, mirror = target.scenario, target.mirror
    _all_replicated(target)
    assert mirror.stop() == 0
    with scenario.fault("topic recreated while the mirror was down"):
        _recreate(scenario)
        mirror.start()
    scenario.write(scenario.topics)


def recreated_under_it(target: MirrorTarget) -> None:
    scenario = target.scenario
    _all_replicated(target)
    with scenario.fault("topic recreated under the mirror"):
        _recreate(scenario)
    scenario.write(scenario.topics)


def too_large(target: MirrorTarget) -> None:
    """Too large for the destination's topic, whose limit was lowered after the mirror created it."""
    scenario = target.scenario
    topic = scenario.topic("u")
    limit = ConfigEntry("max.message.bytes", str(LIMIT), incremental_operation=AlterConfigOpType.SET)
    place = ConfigResource(ConfigResource.Type.TOPIC, target.mirror.named(topic), incremental_configs=[limit])
    for future in scenario.admins["destination"].incremental_alter_configs([place]).values():
        future.result()
    with scenario.fault("a record that the destination does not take"):
        offset = _send(scenario, topic, TOO_LARGE)
        scenario.damage("poison", "source", topic, 0, offset)


SCHEDULE = (
    Scheduled("nothing", "nothing happens", nothing),
    Scheduled("kill", "kill -9 of the mirror", killed),
    Scheduled("hold", "SIGSTOP of the mirror, longer than its transactions live", held),
    Scheduled("broker", "kill -9 of the destination's broker, and back", broker_killed),
    Scheduled("cut", "the destination cut off for some seconds", cut, proxied=True),
    Scheduled("overtaken", "records deleted from the source while the mirror was down", overtaken),
    Scheduled("recreated-away", "topic recreated while the mirror was down", recreated_meanwhile),
    Scheduled("recreated", "topic recreated while the mirror runs", recreated_under_it),
    Scheduled("too-large", "a record too large for the destination", too_large),
)


def _all_replicated(target: MirrorTarget) -> None:
    """Stop writing, wait until everything has arrived, and read the source before it is changed."""
    scenario = target.scenario
    scenario.quiet()
    scenario.until(lambda: scenario.unseen.count() == 0, "everything has arrived")


def _pile_up(scenario: Scenario) -> None:
    """Write records while the mirror is down, so that its return is visible."""
    waiting = scenario.unseen.count()
    eventually(lambda: scenario.unseen.count() > waiting + MORE, "records pile up")


def _write(scenario: Scenario, enough: Callable[[], bool]) -> None:
    """Write until there is enough, then stop."""
    workload = scenario.write(scenario.topics)
    eventually(enough, "enough was written")
    workload.stop()


def _recreate(scenario: Scenario) -> None:
    """Recreate the topic, with more records than the old one had."""
    topic = scenario.topic("u")
    before, old = _ends(scenario, topic)[0], scenario.ids[topic]
    delete_topic(scenario.admins["source"], topic)
    scenario.create("u", TOPICS["u"])
    scenario.damage("recreated", "source", topic, 0, topic_id=old)
    _write(scenario, lambda: _ends(scenario, topic)[0] > before + MORE)


def _ends(scenario: Scenario, topic: str) -> dict[int, int]:
    return end_offsets(scenario.servers["source"], topic, scenario.topics[topic])


def _pass(scenario: Scenario, ms: int) -> None:
    """Wait: the duration is the fault."""
    over = scenario.journal.now() + ms
    eventually(lambda: scenario.journal.now() >= over, "time has passed", ms / 1000 + 10)


def _send(scenario: Scenario, topic: str, size: int) -> int:
    """Write one record of this size, logged like the workload's; returns its offset."""
    name, at = token("large", 1), now_ms()
    value, headers = Random(scenario.seed).randbytes(size), [(TOKEN_HEADER, name.encode())]
    sent = content(None, value, headers, at, "create")
    scenario.journal.add(Sent(scenario.journal.now(), name, topic, 0, sent, "", scenario.ids[topic]))
    offsets: list[int] = []
    producer = Producer(
        {"bootstrap.servers": scenario.servers["source"], "message.max.bytes": 10 * size, "log_level": 0}
    )
    producer.produce(
        topic, value=value, partition=0, timestamp=at, headers=headers,
        on_delivery=lambda error, message: offsets.append(-1 if error else message.offset()),
    )  # fmt: skip
    producer.flush(30)
    assert offsets and offsets[0] >= 0, "the large record was not taken by the source"
    scenario.journal.add(DeliveryReport(scenario.journal.now(), name, "ok", offsets[0]))
    return offsets[0]
