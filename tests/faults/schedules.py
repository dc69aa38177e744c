"""Faults as data: each can be done to any mirror, in a day of its own, and nothing in it knows which one.

A fault finds the mirror at work and the workload writing. It leaves the mirror started, if it has stopped
it, and somebody writing. `t` is a bystander where a fault is about one topic: that is always `u`.
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
from faults.day import Day
from faults.events import Answered, Sent
from support.mirrormaker2 import TRANSACTION_TIMEOUT_MS
from support.process import eventually
from support.proxy import Proxy
from support.records import end_offsets
from support.topics import delete_topic
from support.world import now_ms

TOPICS = {"t": 2, "u": 1}
HELD_MS = TRANSACTION_TIMEOUT_MS + 5_000
CUT_MS = 6_000
MORE = 200  # records that are written while a mirror is away
LIMIT, TOO_LARGE = 40_000, 60_000  # bytes; the workload's own records are smaller than both


@dataclass(frozen=True)
class Stage:
    day: Day
    mirror: Contender
    proxy: Proxy  # in front of the destination, for mirrors that were made to go through it


@dataclass(frozen=True)
class Scheduled:
    name: str  # as a command line says it
    title: str
    act: Callable[[Stage], None]
    proxied: bool = False


def nothing(stage: Stage) -> None:
    with stage.day.fault("nothing"):
        stage.day.advances(MORE)


def killed(stage: Stage) -> None:
    day, mirror = stage.day, stage.mirror
    day.until(lambda: day.unseen.count() > 0, "records are on their way")
    with day.fault("kill -9 of the mirror", crash=True):
        mirror.kill()
        _pile_up(day)
        mirror.start()


def held(stage: Stage) -> None:
    day, mirror = stage.day, stage.mirror
    pids = [pid for role in mirror.pids().values() for pid in role]
    day.until(lambda: day.unseen.count() > 0, "records are on their way")
    with day.fault("SIGSTOP of the mirror", crash=True), processes.held(pids):
        _pass(day, HELD_MS)


def broker_killed(stage: Stage) -> None:
    day = stage.day
    (broker,) = day.clusters["destination"].brokers
    with day.fault("kill -9 of the destination's broker"):
        broker.kill()
        _pile_up(day)
        broker.start()


def cut(stage: Stage) -> None:
    day = stage.day
    with day.fault("the destination is cut off"):
        stage.proxy.cut()
        _pass(day, CUT_MS)
        stage.proxy.heal()


def overtaken(stage: Stage) -> None:
    """Retention, or whoever deletes records, is faster than a mirror that is away."""
    day, mirror = stage.day, stage.mirror
    topic = day.topic("u")
    _all_carried(stage)
    assert mirror.stop() == 0
    carried = _ends(day, topic)[0]
    _write(day, lambda: _ends(day, topic)[0] > carried + MORE)
    to = (carried + _ends(day, topic)[0]) // 2
    with day.fault("records deleted before they were carried"):
        for future in day.admins["source"].delete_records([TopicPartition(topic, 0, to)]).values():
            future.result()
        day.damage("removed", "source", topic, 0, to)
        mirror.start()
    day.write(day.topics)


def recreated_meanwhile(stage: Stage) -> None:
    """Longer than the mirror's position: its offset exists in the new topic, and means another record."""
    day, mirror = stage.day, stage.mirror
    _all_carried(stage)
    assert mirror.stop() == 0
    with day.fault("topic recreated while the mirror was away"):
        _recreate(day)
        mirror.start()
    day.write(day.topics)


def recreated_under_it(stage: Stage) -> None:
    day = stage.day
    _all_carried(stage)
    with day.fault("topic recreated under the mirror"):
        _recreate(day)
    day.write(day.topics)


def too_large(stage: Stage) -> None:
    """For the destination's topic, which was made smaller after the mirror had created it."""
    day = stage.day
    topic = day.topic("u")
    limit = ConfigEntry("max.message.bytes", str(LIMIT), incremental_operation=AlterConfigOpType.SET)
    place = ConfigResource(ConfigResource.Type.TOPIC, stage.mirror.named(topic), incremental_configs=[limit])
    for future in day.admins["destination"].incremental_alter_configs([place]).values():
        future.result()
    with day.fault("a record that the destination does not take"):
        offset = _send(day, topic, TOO_LARGE)
        day.damage("poison", "source", topic, 0, offset)


SCHEDULE = (
    Scheduled("nothing", "nothing happens", nothing),
    Scheduled("kill", "kill -9 of the mirror", killed),
    Scheduled("hold", "SIGSTOP of the mirror, longer than its transactions live", held),
    Scheduled("broker", "kill -9 of the destination's broker, and back", broker_killed),
    Scheduled("cut", "the destination cut off for some seconds", cut, proxied=True),
    Scheduled("overtaken", "records deleted from the source while the mirror was away", overtaken),
    Scheduled("recreated-away", "topic recreated while the mirror was away", recreated_meanwhile),
    Scheduled("recreated", "topic recreated while the mirror runs", recreated_under_it),
    Scheduled("too-large", "a record too large for the destination", too_large),
)


def _all_carried(stage: Stage) -> None:
    """Nobody writes, everything has arrived, and what the source holds is known before it is changed."""
    day = stage.day
    day.quiet()
    day.until(lambda: day.unseen.count() == 0, "everything has arrived")


def _pile_up(day: Day) -> None:
    """Records wait for a mirror, so that it shows when it has come back."""
    waiting = day.unseen.count()
    eventually(lambda: day.unseen.count() > waiting + MORE, "records pile up")


def _write(day: Day, enough: Callable[[], bool]) -> None:
    """Somebody writes for a while, and comes to an end."""
    workload = day.write(day.topics)
    eventually(enough, "enough was written")
    workload.stop()


def _recreate(day: Day) -> None:
    """The topic under its name again, with more records than the old one had."""
    topic = day.topic("u")
    before, old = _ends(day, topic)[0], day.ids[topic]
    delete_topic(day.admins["source"], topic)
    day.create("u", TOPICS["u"])
    day.damage("recreated", "source", topic, 0, topic_id=old)
    _write(day, lambda: _ends(day, topic)[0] > before + MORE)


def _ends(day: Day, topic: str) -> dict[int, int]:
    return end_offsets(day.servers["source"], topic, day.topics[topic])


def _pass(day: Day, ms: int) -> None:
    """How long it lasts is what this fault is."""
    over = day.journal.now() + ms
    eventually(lambda: day.journal.now() >= over, "time has passed", ms / 1000 + 10)


def _send(day: Day, topic: str, size: int) -> int:
    """One record of this size, logged like the workload's; its offset."""
    name, at = token("large", 1), now_ms()
    value, headers = Random(day.seed).randbytes(size), [(TOKEN_HEADER, name.encode())]
    sent = content(None, value, headers, at, "create")
    day.journal.add(Sent(day.journal.now(), name, topic, 0, sent, "", day.ids[topic]))
    offsets: list[int] = []
    producer = Producer({"bootstrap.servers": day.servers["source"], "message.max.bytes": 10 * size})
    producer.produce(
        topic, value=value, partition=0, timestamp=at, headers=headers,
        on_delivery=lambda error, message: offsets.append(-1 if error else message.offset()),
    )  # fmt: skip
    producer.flush(30)
    assert offsets and offsets[0] >= 0, "the large record was not taken by the source"
    day.journal.add(Answered(day.journal.now(), name, "ok", offsets[0]))
    return offsets[0]
