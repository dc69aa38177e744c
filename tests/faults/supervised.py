"""The soak's scenario: a supervisor starts the mirror whenever it has ended, and collects its verdicts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from contextlib import ExitStack
from random import Random
from typing import Any

from confluent_kafka import KafkaException

from causeway.errors import CausewayError
from faults.brokers import Brokers
from faults.events import Exited, Side
from faults.fault_target import FaultTarget, complaint
from faults.injections import GROWING
from faults.losses import LOSING, REPLACED
from faults.mirrors import CausewayMirror
from faults.nemesis import ScheduledFault
from faults.network import ProxiedCluster
from faults.scenario import Scenario
from faults.verdicts import Verdicts
from support.process import eventually

TOPICS = {"t": 3, "u": 2, GROWING: 2}
HARMED = {LOSING: 2, REPLACED: 2}
"""Only the faults that delete data write to these."""
WARM_SECONDS = 20.0
"""Processes younger than this are not sampled: a start uses other resources."""
LISTEN_SECONDS, ANSWER_SECONDS = 1.0, 3.0
PATIENCE_SECONDS = 120.0
MOST_TROUBLE = 10
UNREACHABLE, SUPERSEDED = 5, 8


class SupervisedMirror(CausewayMirror):
    """Reports its processes only once they are warm, and by number of shards, which they depend on."""

    since = 0.0

    def start(self, *arguments: str, **more: Any) -> Any:
        self.since = time.monotonic()
        return super().start(*arguments, **more)

    def pids(self) -> dict[str, list[int]]:
        if time.monotonic() - self.since < WARM_SECONDS or not self.alive:
            return {}
        return {f"{role}, {self.keys['shards']} shards": pids for role, pids in super().pids().items()}


class SoakScenario(Scenario):
    """A scenario with a supervisor that also collects the mirror's verdicts."""

    mirror: SupervisedMirror
    target: FaultTarget
    in_fault = False
    listened = 0.0

    def begin(self, lines: dict[Side, ProxiedCluster]) -> None:
        brokers: dict[Side, Brokers] = {side: Brokers(line.cluster) for side, line in lines.items()}
        self.target = FaultTarget(self, self.mirror, lines, brokers)
        self.said = Verdicts(self.servers["destination"], self.mirror.name)
        self.unseen.excuses_stops = False
        self.start(topics={self.topic(suffix): count for suffix, count in TOPICS.items()})
        # Recreated before its partitions have a position, a topic is no recreated one for the mirror.
        partitions = {(topic, number) for topic, count in self.topics.items() for number in range(count)}
        self.until(
            lambda: partitions <= {(s.topic, s.partition) for s in self.mirror.ledger().positions},
            "every partition has a position",
        )

    def until(self, condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
        def holds() -> object:
            self.supervise()
            self.listen()
            return condition()

        try:
            eventually(holds, what, max(seconds, PATIENCE_SECONDS))
        except AssertionError as error:
            left = f"{self.unseen.count()} unseen, {self.unseen.seen} seen, {self.unseen.progress()}"
            with contextlib.suppress(KafkaException):
                left += f", {self.held_back()} offsets in open transactions"
            raise AssertionError(f"{error} ({left})\n{self.mirror.run.output[-4000:]}") from None

    def listen(self) -> None:
        """Collect verdicts soon: offsets that were declared gone are not waited for.

        Only while records are pending that may be gone: requests to a destination that is down block.
        """
        due = time.monotonic() >= self.listened + LISTEN_SECONDS
        if due and any(self.unseen.count(topic=self.topic(suffix)) for suffix in HARMED):
            with contextlib.suppress(KafkaException, KeyError, AssertionError):  # it is read later
                self.said.note(self.journal, seconds=ANSWER_SECONDS)
            self.listened = time.monotonic()

    def supervise(self) -> None:
        """Start the mirror again if it has ended; an end without a reason is an anomaly."""
        if not self.mirror.runs or self.mirror.alive:
            return
        run = self.mirror.run
        if run not in self.target.ended:
            code = run.process.returncode
            self.journal.add(Exited(self.journal.now(), "run", code))
            assert self.unseen.seen, (
                f"the mirror ended with {code} before anything arrived:\n{run.output[-4000:]}"
            )
            if code != UNREACHABLE or not self.in_fault:
                self.target.complain(f"the mirror ended with {code}: {complaint(run.output)}")
            assert len(self.target.trouble) < MOST_TROUBLE, f"again and again:\n{run.output[-4000:]}"
        self.mirror.start()

    def go_through(self, step: ScheduledFault) -> None:
        """Inject the faults, and wait for zero lag and for the end of replaced runs."""
        random = Random(step.seed)
        self.advances(random.randint(1, 40))
        self.in_fault = True
        try:
            with ExitStack() as faults:
                for kind in step.kinds:
                    faults.enter_context(self.fault(kind.name, crash=kind.crash))
                for kind in step.kinds:
                    faults.enter_context(kind.act(self.target, random))
                over = self.journal.now() + step.seconds * 1000
                self.until(lambda: self.journal.now() >= over, "time has passed")
        except (AssertionError, KafkaException, CausewayError) as error:
            self.target.complain(f"{step} could not be brought about: {str(error).splitlines()[0]}")
            now = self.journal.now()
            self.until(lambda: self.unseen.count(now) == 0, f"all has arrived after {step}")
        else:
            self.recovered(PATIENCE_SECONDS)
        self.in_fault = False
        while self.target.replaced:
            older = self.target.replaced.pop()
            code = older.wait(60)
            if code != SUPERSEDED:
                self.target.complain(f"a replaced instance ended with {code}: {complaint(older.output)}")
