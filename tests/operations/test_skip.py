"""`causeway offsets` against real brokers: what is refused, what is written, and what is fenced.

The tests write the ledger, under a lease as a mirror does: no Spark is needed.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from causeway.cli.main import main
from causeway.config import MirrorSettings, Settings, load
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Stopped
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.task_order import ledger_topic, quarantine_topic, transactional_id
from causeway.errors import CausewayError, IntegrityError, PlanRefused, Superseded, UsageError
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger_topics import ensure_topics
from causeway.kafka.quarantine import ensure_quarantine
from causeway.kafka.task_errors import Again
from causeway.operations import offsets
from causeway.operations.offsets import read_offsets
from causeway.operations.rules.skipping import TargetOffset
from causeway.operations.skip import Skip, SkipRequest
from causeway.planning.clusters import limits_of
from causeway.rules.quarantine import Label, labelled
from causeway.rules.sharding import shard_of
from support.records import Rec
from support.topics import delete_topic
from support.world import World, now_ms

SHARDS = 3
REPLICATED = 20  # offsets of each partition, of 50
EXPIRED = 30  # the new log start of the source, in partition 1


class Ledger:
    """A mirror that replicated the start of a topic of two partitions, and was stopped by a gap in one."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.config = world.config(shards=SHARDS, heartbeat="1s")
        self.settings: Settings = load(self.config, [])
        self.mirror: MirrorSettings = self.settings.mirrors[0]
        self.topic = world.topic("t", 2)
        world.produce(self.topic, world.numbers(100, 2))
        self.destination = Cluster("dst", {"bootstrap.servers": world.servers["destination"]})
        self.source = ClusterView(Cluster("src", {"bootstrap.servers": world.servers["source"]}))
        self.view = ClusterView(self.destination)
        self.control = Control(self.destination, world.mirror, "exactly-once", limits_of(self.mirror))
        self.control.acquire(ensure_topics(self.view, world.mirror, SHARDS, 1).topic_id)
        ensure_quarantine(self.view, world.mirror, 1, 0)
        self.generation = self.control.settle_shards(SHARDS).number
        for number in range(2):
            self.write(self.position(number))
        world.delete_records(self.topic, 1, EXPIRED)
        what = f"{self.topic}[1] begins at offset 30 now"
        self.write(Stopped(*self.at(1), verdict="gap", what=what, todo="do it", at=now_ms()))

    def at(self, number: int) -> SourcePartition:
        return SourcePartition(self.source.cluster_id(), self.topic, number)

    def position(self, number: int, offset: int = REPLICATED) -> Position:
        return Position(
            source=self.at(number),
            topic_id=self.source.describe([self.topic])[self.topic].topic_id,
            start=0,
            offset=offset,
            epoch=2,
            place=Place(self.topic, "there", number),
            place_start=0,
            place_end=offset,
            generation=self.generation,
            at=now_ms(),
            tally=Tally(delivered=offset - 1, quarantined=1),
        )

    def write(self, record: Position | Stopped) -> None:
        self.control.write([(shard_of(record.source, SHARDS), record)])

    def skip(self, to: TargetOffset, *numbers: int, back: bool = False, why: str = "", **how: str) -> Skip:
        request = SkipRequest(how.get("topic", self.topic), to, numbers, how.get("source", ""), back, why)
        made = Skip(self.settings, self.mirror, request)
        made.plan()
        return made

    def offsets(self) -> list[int]:
        return [position.offset for _, position in sorted(self.world.ledger().positions.items())]


@pytest.fixture
def ledger(world: World) -> Iterator[Ledger]:
    made = Ledger(world)
    yield made
    made.control.close()


def refusal(call: Callable[[], object]) -> CausewayError:
    with pytest.raises(CausewayError) as caught:
        call()
    return caught.value


def test_a_position_is_moved_with_a_record_of_who_did_it(ledger: Ledger) -> None:
    skip = ledger.skip("earliest", 1)
    assert skip.consequences == [f"{ledger.topic}[1] moves from offset 20 to 30: skips offsets 20 to 29 (10)"]
    [gap] = skip.write()

    image = ledger.world.ledger()
    assert list(image.gaps.values()) == [gap]
    assert (gap.begin, gap.end, gap.verdict) == (20, 30, "gap")
    assert gap.by == f"{getpass.getuser()}@{socket.gethostname()}"
    assert gap.why == f"{ledger.topic}[1] begins at offset 30 now", "what stopped it"
    assert not image.stopped
    position = image.positions[ledger.at(1)]
    assert (position.offset, position.epoch, position.tally.skipped) == (30, -1, 10)
    assert position.generation == ledger.generation
    assert position.offset - position.start == position.tally.offsets
    home = shard_of(ledger.at(1), SHARDS)
    assert [number for number, source in image.by_partition if source == ledger.at(1)] == [home]

    [back] = ledger.skip(35, 1).write() and ledger.skip("earliest", 1, back=True, why="too far").write()
    assert (back.verdict, back.why, back.skipped) == ("skip", "too far", -5)
    assert ledger.offsets() == [20, 30]
    assert len(ledger.world.ledger().gaps_of(ledger.at(1))) == 3, "each of them is kept"


def test_running_tasks_and_the_driver_are_fenced(ledger: Ledger) -> None:
    """An attempt that hangs during a transaction, and the driver that ordered it."""
    home = shard_of(ledger.at(0), SHARDS)
    zombie = Producer(
        {
            "bootstrap.servers": ledger.world.servers["destination"],
            "transactional.id": transactional_id(ledger.world.mirror, home),
        }
    )
    zombie.init_transactions(10)
    skip = ledger.skip("latest", 0)
    zombie.begin_transaction()
    zombie.produce(ledger_topic(ledger.world.mirror), b"{}", b"stale", partition=home)
    zombie.flush(10)

    skip.write()

    with pytest.raises(KafkaException):
        zombie.commit_transaction(10)
    with pytest.raises(Superseded):
        ledger.control.heartbeat(1)
    assert ledger.offsets() == [50, 20]


def test_a_position_that_moved_meanwhile_is_not_moved_again(ledger: Ledger) -> None:
    skip = ledger.skip("latest", 0)
    ledger.write(ledger.position(0, 25))

    error = refusal(skip.write)

    assert isinstance(error, IntegrityError)
    assert "changed from offset 20 to 25 meanwhile" in str(error)
    assert (ledger.offsets(), ledger.world.ledger().gaps) == ([25, 20], {})


def test_a_position_is_not_moved_to_an_offset_that_retention_deleted_meanwhile(ledger: Ledger) -> None:
    skip = ledger.skip("earliest", 1)
    ledger.world.delete_records(ledger.topic, 1, 33)

    assert "offset 30 is out of range" in str(refusal(skip.write))
    assert ledger.offsets() == [20, 20]


def test_no_position_of_a_running_mirror_is_moved(ledger: Ledger) -> None:
    done = threading.Event()

    def beat() -> None:
        while not done.wait(0.1):
            with contextlib.suppress(Again):
                ledger.control.heartbeat(1)

    ledger.control.heartbeat(1)
    mirror = threading.Thread(target=beat)
    mirror.start()
    try:
        error = refusal(lambda: ledger.skip("latest", 0))
    finally:
        done.set()
        mirror.join()

    assert isinstance(error, IntegrityError)
    assert f"the mirror is running on {socket.gethostname()} (process {os.getpid()})" in str(error)
    assert "stop it first" in error.todo
    assert ledger.skip("latest", 0).moves, "it has just ended: there are no heartbeats any more"


def test_several_partitions_move_together_and_all_only_if_a_gap_stopped_all(ledger: Ledger) -> None:
    error = refusal(lambda: ledger.skip("earliest"))
    assert isinstance(error, UsageError)
    assert error.todo == "--partition 1"
    ledger.world.delete_records(ledger.topic, 0, 22)
    ledger.write(Stopped(*ledger.at(0), verdict="gap", what="", todo="", at=now_ms()))
    assert isinstance(refusal(lambda: ledger.skip("latest")), UsageError)

    assert len(ledger.skip("earliest").write()) == 2

    assert ledger.offsets() == [22, 30]
    assert ledger.skip(30, 0, 1).consequences[1].endswith("is at offset 30 already: it does not move")
    assert [gap.partition for gap in ledger.skip(30, 0, 1).write()] == [0]


def test_an_invalid_move_is_refused_with_a_reason(ledger: Ledger) -> None:
    world = ledger.world
    for call, kind, text in (
        (lambda: ledger.skip("latest", 0, topic="nothing"), UsageError, "no positions of topic nothing"),
        (lambda: ledger.skip("latest", 7), UsageError, "no position of partition 7"),
        (lambda: ledger.skip(51, 0), UsageError, "offset 51 is out of range"),
        (lambda: ledger.skip(29, 1), UsageError, "offset 29 is out of range"),
        (lambda: ledger.skip(5, 0), IntegrityError, "would replicate 15 offsets again"),
        (lambda: ledger.skip("latest", 0, source="unknown"), UsageError, "is no source of mirror"),
    ):
        error = refusal(call)
        assert (type(error), text in str(error)) == (kind, True), error
    delete_topic(world.admin(), ledger.topic)
    assert "no longer exists" in str(refusal(lambda: ledger.skip("latest", 0)))
    world.topic("t", 2)
    error = refusal(lambda: ledger.skip("latest", 0))
    assert (type(error), "deleted and created again" in str(error)) == (IntegrityError, True), error
    assert world.ledger().gaps == {}


def test_everything_is_shown_and_without_the_source_the_ledgers_part(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ledger.world
    label = Label(ledger.at(0), ledger.position(0).topic_id, 7, 1, "too large")
    rec = Rec(b"k", b"v", tuple(labelled([("h", b"1")], label)), now_ms())
    world.produce(quarantine_topic(world.mirror), [(0, rec)], on="destination")
    ledger.skip("earliest", 1, why="retention").write()

    report = read_offsets(ledger.settings, ledger.mirror)
    first, second = report.partitions
    assert (first.log_start, first.log_end, first.lag) == (0, 50, 30)
    assert (second.log_start, second.log_end, second.lag) == (30, 50, 20)
    assert [(row.source, row.offset, row.reason) for row in report.first_quarantined] == [
        (ledger.at(0), 7, "too large")
    ]
    assert (report.quarantined, report.notes) == (2, ())
    [gap] = report.to_json()["gaps"]
    assert (gap["begin"], gap["end"], gap["skipped"], gap["why"]) == (20, 30, 10, "retention")
    assert isinstance(refusal(lambda: read_offsets(ledger.settings, ledger.mirror, "nothing")), UsageError)

    monkeypatch.setattr(offsets, "SOURCE_SECONDS", 0.5)
    away = load(ledger.config, ["clusters.src.bootstrap_servers=127.0.0.1:1"])
    report = read_offsets(away, away.mirrors[0], ledger.topic)
    assert [(partition.position.offset, partition.lag) for partition in report.partitions] == [
        (20, None),
        (30, None),
    ]
    assert report.notes[0].startswith('no log start and log end of "src": ')


def test_without_a_ledger_there_is_nothing_to_show(world: World) -> None:
    settings = load(world.config(), [])
    assert isinstance(refusal(lambda: read_offsets(settings, settings.mirrors[0])), PlanRefused)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--to", "latest", "--yes"), "--topic"),
        (("--topic", "t", "--yes"), "--to"),
        (("--topic", "t", "--to", "soon", "--yes"), "must be an offset, earliest or latest"),
        (("--topic", "t", "--to", "-5", "--yes"), "must be an offset, earliest or latest"),
        (("--topic", "t", "--to", "latest", "--partition", "-1", "--yes"), "--partition"),
        (("--topic", "t", "--to", "latest"), "cannot ask for confirmation without a terminal"),
        (("--topic", "t", "--to", "latest", "--yes"), "several mirrors"),
        (("--topic", "t", "--to", "latest", "--yes", "--mirror", "unknown"), "no mirror is named unknown"),
    ],
)
def test_bad_arguments_are_usage_errors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: Sequence[str],
    text: str,
) -> None:
    config = tmp_path / "mirror.toml"
    config.write_text(
        '[clusters.a]\nbootstrap_servers = "a:1"\n[clusters.b]\nbootstrap_servers = "b:1"\n'
        + "".join(
            f'[[mirrors]]\nname = "{name}"\nsource = "a"\ndestination = "b"\ntopics = ["{name}"]\n'
            for name in ("m", "n")
        )
    )
    monkeypatch.setattr(sys, "argv", ["causeway", "offsets", "skip", str(config), *arguments])

    with pytest.raises(SystemExit) as ended:
        main()

    printed = capsys.readouterr().err
    assert (ended.value.code, text in printed, "Traceback" in printed) == (2, True, False), printed
