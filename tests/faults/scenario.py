"""One mirror, a workload and some faults: records are written, a fault happens, and the checker decides.

    start     topics, a workload, the mirror; waits until some records were acknowledged and have arrived
    fault     what a test does, and when it ended
    recovered waits until all records from before its end, and a newer one, have arrived
    end       stops the workload, reads both sides to their ends straight from the brokers, returns the report

It does not trust the mirror: progress is measured by reading the destination. On failure everything that
helps to find the cause stays in the scenario's directory, and the failure names it.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from causeway.local_kafka import EmbeddedCluster
from faults.checker import RECORDS, check
from faults.events import Damage, Drained, Exited, Fault, Lag, Route, Side, Terms
from faults.history import Journal
from faults.invariant_result import Report
from faults.ledger_events import note_topics, topic_ids
from faults.mirrors import Mirror
from faults.processes import usage
from faults.reader import drain
from faults.unseen import Unseen
from faults.workload import Workload
from support.process import eventually
from support.world import UNBOUNDED

LEDGER = ("I7", "I8", "I12")
"""Further invariants for a mirror with a ledger and an offset map."""
_ON_ITS_WAY_MS = 1_000


class Scenario:
    def __init__(
        self, directory: Path, source: EmbeddedCluster, destination: EmbeddedCluster, mirror: Mirror,
        topics: Mapping[str, int], *,  # suffix → partitions: names begin with the mirror's
        seed: int = 1, terms: Terms | None = None, config: Mapping[str, str] | None = None,
        largest: int = 20_000, pause_seconds: float = 0.05, sample_seconds: float = 0.0,
    ) -> None:  # fmt: skip
        self.directory, self.mirror = directory, mirror
        self.clusters = {"source": source, "destination": destination}
        self.servers = {side: cluster.bootstrap_servers for side, cluster in self.clusters.items()}
        self.admins = {
            side: AdminClient({"bootstrap.servers": at, "log_level": 0}) for side, at in self.servers.items()
        }
        self.journal = Journal(directory / "history.jsonl")
        self.journal.add(terms or Terms())
        self.seed, self.largest, self.pause_seconds = seed, largest, pause_seconds
        self.topics: dict[str, int] = {}
        self.ids: dict[str, str] = {}  # of source topics; workloads read this
        self.workloads: list[Workload] = []
        self.unseen = Unseen(self.servers["destination"], self.journal)
        self._config = dict(config or {})
        self._over: int | None = 0  # the end of the last fault; None during a fault
        self._last = Fault(0, "nothing", 0)
        self._ending = threading.Event()
        self._sampler = threading.Thread(target=self._sample, args=(sample_seconds,), daemon=True)
        for suffix, partitions in topics.items():
            self.create(suffix, partitions)
        note_topics(self.journal, self.admins["source"], "source", self.topics)
        if sample_seconds:
            self._sampler.start()

    def topic(self, suffix: str) -> str:
        return f"{self.mirror.name}.{suffix}"

    def create(self, suffix: str, partitions: int, **config: str) -> str:
        """Create a source topic and its route. A former topic of this name is a different one."""
        name, copies = self.topic(suffix), min(3, len(self.clusters["source"].brokers))
        settings = {**UNBOUNDED, **self._config, **config}
        if copies == 3:
            settings = {"min.insync.replicas": "2", **settings}
        made = self.admins["source"].create_topics([NewTopic(name, partitions, copies, config=settings)])
        made[name].result()
        if name not in self.topics:
            self.journal.add(Route(name, self.mirror.named(name)))
        self.topics[name] = partitions
        self.ids |= topic_ids(self.admins["source"], [name])
        return name

    def start(
        self, *, records: int = 50, seconds: float = 90.0, topics: Mapping[str, int] | None = None
    ) -> None:
        """Start workload and mirror; wait until this many records were acknowledged and have arrived."""
        self.write(self.topics if topics is None else topics)
        self.mirror.start()
        self.until(lambda: self.unseen.seen >= records, f"{records} records have arrived", seconds)

    def write(self, topics: Mapping[str, int], **more: Any) -> Workload:
        """Start another workload, which writes until the end."""
        number = len(self.workloads)
        workload = Workload(
            self.servers["source"], topics, self.journal, self.seed + number,
            name=f"w{number}", topic_ids=self.ids, **{"largest": self.largest, **more},
        )  # fmt: skip
        workload.start(self.pause_seconds)
        self.workloads.append(workload)
        return workload

    @contextlib.contextmanager
    def fault(self, name: str, *, crash: bool = False, flow: str = "") -> Iterator[None]:
        """The block is the fault; `crash`: a process that replicates dies or is fenced."""
        began = self.journal.now()
        self._over = None
        try:
            yield
        except BaseException:
            self.journal.add(Fault(began, name, -1, crash, flow))
            raise
        self._last = Fault(began, name, self.journal.now(), crash, flow)
        self._over = self._last.until
        self.journal.add(self._last)

    def damage(
        self, kind: Any, side: Side, topic: str, partition: int, offset: int = -1, topic_id: str = ""
    ) -> None:
        """Log that data was removed, truncated, replaced or damaged; `topic_id` is of the topic before."""
        known = topic_id or (self.ids.get(topic, "") if side == "source" else "")
        self.journal.add(Damage(self.journal.now(), kind, side, topic, partition, offset, known))

    def recovered(self, seconds: float = 60.0) -> float:
        """Wait until the mirror has caught up since the last fault's end; returns the seconds."""
        fault = self._last
        self.until(lambda: self._look() == 0, f"it has recovered from: {fault.name}", seconds)
        at = next(lag.at for lag in self.journal.history().of(Lag) if lag.at >= fault.until and not lag.lag)
        took = (at - fault.until) / 1000
        print(f"fault={fault.name} recovery={took:.1f}s", flush=True)
        return took

    def advances(self, records: int = 20, seconds: float = 60.0) -> None:
        """Wait until this many more records have arrived."""
        before = self.unseen.seen
        self.until(
            lambda: self.unseen.seen >= before + records, f"{records} more records have arrived", seconds
        )

    def held_back(self) -> int:
        """Offsets of the destination that read_committed readers cannot read yet: an open transaction."""
        admin = self.admins["destination"]
        known = admin.list_topics(timeout=10).topics
        names = {self.mirror.named(topic) for topic in self.topics} & known.keys()
        places = {
            TopicPartition(name, number): OffsetSpec.latest()
            for name in names
            for number in known[name].partitions
        }
        ends: list[int] = [
            sum(
                future.result().offset
                for future in admin.list_offsets(places, isolation_level=level).values()
            )
            for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
        ]
        return ends[1] - ends[0]

    def until(self, condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
        """Wait for a condition while the mirror runs."""

        def holds() -> object:
            done = condition()
            assert done or self.mirror.alive, f"the mirror ended before {what}"
            return done

        try:
            eventually(holds, what, seconds)
        except AssertionError as error:
            left = f"{self.unseen.count()} unseen, {self.unseen.seen} seen"
            raise AssertionError(f"{error} ({left})\n{self.mirror.output[-4000:]}") from None

    def quiet(self, seconds: float = 60.0) -> None:
        """Stop the workloads, collect their outcomes, and read the source."""
        for workload in self.workloads:
            if not workload.stopping.is_set():
                workload.stop(seconds)
        self.drain("source", seconds)

    def drain(self, side: Side, seconds: float = 60.0) -> None:
        """Read one side to its end; omits topics that do not exist."""
        there = self.admins[side].list_topics(timeout=10).topics
        for topic in self.topics:
            name = topic if side == "source" else self.mirror.named(topic)
            if name in there:
                known = self.ids[topic] if side == "source" else ""
                drain(self.servers[side], name, side, self.journal, topic_id=known, seconds=seconds)

    def end(self, *also: str, judge: bool = True, catch_up: bool = True, seconds: float = 60.0) -> Report:
        """Finish: no invariant may be broken, and the required ones must hold; `also` adds some.

        A mirror that should have ended by itself cannot `catch_up`. Without `judge` the report is returned
        without being checked.
        """
        self.quiet(seconds)
        if catch_up:
            self.until(lambda: self.unseen.count() == 0, "everything on the source has arrived", seconds)
            ends = {
                (one.topic, one.partition): one.end
                for one in self.journal.history().of(Drained)
                if one.side == "source" and one.topic_id == self.ids[one.topic]
            }
            self.until(lambda: self.mirror.at_end(ends), "the ledger is at the end", seconds)
        if self.mirror.alive:
            code = self.mirror.stop()
            self.journal.add(Exited(self.journal.now(), "run", code))
            assert code == 0, f"the mirror ended with {code}\n{self.mirror.output[-4000:]}"
        self.mirror.note_ledger(self.journal, whole=True)
        self.drain("destination", seconds)
        self.mirror.note_ledger(self.journal, whole=False)
        self.mirror.note_map(self.journal)
        note_topics(self.journal, self.admins["source"], "source")
        self._over = None
        self._look()
        history = self.journal.history()
        report = check(history)
        (self.directory / "verdict.txt").write_text(f"{report}\n")
        if judge:
            required = [*RECORDS, "I9", *also, *(["I11"] if history.of(Fault) else [])]
            required += LEDGER if self.mirror.has_ledger else ()
            report.require(*required)
        return report

    def __enter__(self) -> Scenario:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        for workload in self.workloads:
            workload.stopping.set()
        self.mirror.kill()
        if error is not None:
            error.add_note(f"history, verdict, output and broker logs are kept in {self._keep()}")
        if self._sampler.is_alive():
            self._sampler.join(20)
        self.unseen.close()
        for workload in self.workloads:
            with contextlib.suppress(AssertionError):
                workload.stop(20)
        self.journal.close()

    def _keep(self) -> Path:
        """Copy logs that would be deleted with the session into the scenario's directory.

        A scenario that did not finish is checked as far as it went.
        """
        for side, cluster in self.clusters.items():
            for broker in cluster.brokers:
                with contextlib.suppress(OSError):
                    shutil.copyfile(broker.log, self.directory / f"{side}-broker-{broker.id}.log")
        (self.directory / "mirror.log").write_text(self.mirror.output)
        if not (verdict := self.directory / "verdict.txt").exists():
            verdict.write_text(f"{check(self.journal.history())}\n")
        return self.directory

    def _look(self) -> int:
        """Sample the lag.

        Records acknowledged in the last second may be in flight. After a fault all records from before its
        end count, and while a workload writes, a record newer than the fault must arrive.
        """
        over, now = self._over, self.journal.now()
        unseen = self.unseen.count()
        lag = unseen if over is None else self.unseen.count(max(over, now - _ON_ITS_WAY_MS))
        if over is not None and self._writing and self.unseen.newest() <= over:
            lag = max(1, lag)
        self.journal.add(Lag(now, lag, unseen))
        return lag

    @property
    def _writing(self) -> bool:
        return any(not workload.stopping.is_set() for workload in self.workloads)

    def _sample(self, seconds: float) -> None:
        while not self._ending.wait(seconds):
            self._look()
            with contextlib.suppress(IndexError):  # not started yet
                self.journal.add(*usage(self.journal.now(), self.mirror.pids()))
