"""The same faults injected into Causeway and into a real MirrorMaker 2, decided by the same checker.

    python -m faults.against_mm2 DIRECTORY [--fault NAME]… [--mirror NAME]… [--seed N] [--patience SECONDS]

Each fault is a scenario of its own; all scenarios share the clusters. DIRECTORY keeps the history, the
verdict and the logs of each scenario, and results.json. Its table shows everything that was run into it, so a
schedule can be run in parts. All mirrors are held to the same terms: every record, once, in order. The exit
code is about Causeway alone.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException

from causeway import __version__
from causeway.local_kafka import DEFAULT_VERSION, EmbeddedCluster
from faults.contenders import CONTENDERS, Contender, Entry
from faults.events import Fault, Lag
from faults.fault_outcome import RESULT, FaultOutcome, examples, exit_code, said, show
from faults.invariant_result import Report
from faults.scenario import Scenario
from faults.schedules import SCHEDULE, TOPICS, MirrorTarget, Scheduled
from support.process import eventually
from support.proxy import Proxy

# Otherwise an abandoned transaction is aborted up to ten seconds after its timeout.
BROKERS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
AFTERWARDS = 100  # records that are written after a fault
LOOK_MS = 300
OURS = "causeway"


@dataclass(frozen=True)
class Arena:
    """Clusters and settings that all scenarios share."""

    source: EmbeddedCluster
    destination: EmbeddedCluster
    proxy: Proxy  # in front of the destination
    directory: Path
    seed: int
    patience: float


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    asked.directory.mkdir(parents=True, exist_ok=True)
    faults = [one for one in SCHEDULE if not asked.fault or one.name in asked.fault]
    entries = [one for one in CONTENDERS if not asked.mirror or one.name in asked.mirror]
    proxy = Proxy()
    done = []
    with (
        EmbeddedCluster.start("source", config=BROKERS) as source,
        EmbeddedCluster.start("destination", config=BROKERS, proxied={0: proxy.port}) as destination,
    ):
        proxy.target(destination.brokers[0].proxy_target_port or 0)
        arena = Arena(source, destination, proxy, asked.directory, asked.seed, asked.patience)
        for fault, entry in itertools.product(faults, entries):
            done.append(put_through(arena, fault, entry))
            print(f"{fault.name} {entry.name}: {done[-1].seconds:.0f} s", file=sys.stderr, flush=True)
    proxy.close()
    report_all(asked.directory)
    return exit_code(done, OURS)


def put_through(arena: Arena, fault: Scheduled, entry: Entry) -> FaultOutcome:
    """Run one mirror through one fault, in a scenario of its own."""
    arena.proxy.heal()
    arena.destination.start_brokers()
    place = arena.directory / fault.name / entry.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    began = time.monotonic()
    mirror = entry.make(place, arena.source, arena.destination, fault.proxied)
    scenario = Scenario(place, arena.source, arena.destination, mirror, TOPICS, seed=arena.seed)
    report: Report | None = None
    trouble, failures = "", list[str]()
    try:
        with scenario, looking(scenario):
            scenario.start()
            fault.act(MirrorTarget(scenario, mirror, arena.proxy))
            report, failures = finish(scenario, mirror, arena.patience)
    except (AssertionError, KafkaException) as error:
        trouble = str(error).splitlines()[0]
    recoveries = [took for _, took in report.recoveries] if report else []
    outcome = FaultOutcome(
        fault.name,
        entry.name,
        arena.seed,
        acknowledged=sum(one.visible for one in scenario.workloads),
        anomalies=dict(Counter(one.name for one in report.anomalies)) if report else {},
        examples=examples(report) if report else [],
        said=said(scenario.journal.history()),
        failures=failures,
        recovery_ms=recoveries[-1] if recoveries else None,
        trouble=trouble,
        seconds=round(time.monotonic() - began, 1),
        versions={"causeway": __version__, "kafka": DEFAULT_VERSION},
    )
    outcome.write(place / RESULT)
    return outcome


def finish(scenario: Scenario, mirror: Contender, patience: float) -> tuple[Report, list[str]]:
    """Write some more; then wait until everything has arrived, or nothing moves any more."""
    enough = sum(one.visible for one in scenario.workloads) + AFTERWARDS
    eventually(lambda: sum(one.visible for one in scenario.workloads) >= enough, "more is written")
    scenario.quiet()
    arrived = come_to_rest(scenario, mirror, patience)
    failures = mirror.failures()
    if not arrived and mirror.alive:
        mirror.stop()
    return scenario.end(judge=False, catch_up=arrived), failures


def come_to_rest(scenario: Scenario, mirror: Contender, patience: float) -> bool:
    """Whether everything that the mirror did not declare lost has arrived; gives up when nothing moves."""
    seen, moved, looked = -1, scenario.journal.now(), -LOOK_MS

    def rests() -> bool:
        nonlocal seen, moved, looked
        now = scenario.journal.now()
        if now - looked >= LOOK_MS:
            looked = now
            mirror.say(scenario)
        if scenario.unseen.seen != seen:
            seen, moved = scenario.unseen.seen, now
        return scenario.unseen.count() == 0 or now - moved > patience * 1000 or not mirror.alive

    eventually(rests, "the mirror has come to rest", 20 * patience)
    mirror.say(scenario)
    return scenario.unseen.count() == 0 and mirror.alive


def report_all(directory: Path) -> None:
    """Print the table of everything that was run into a directory."""
    faults, mirrors = ([(one.name, one.title) for one in group] for group in (SCHEDULE, CONTENDERS))
    show(directory, faults, mirrors, "The same faults, the same checker")


@contextlib.contextmanager
def looking(scenario: Scenario) -> Iterator[None]:
    """Sample how many records that were acknowledged before the last fault's end have not arrived."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_MS / 1000):
            faults = scenario.journal.history().of(Fault)
            lag = scenario.unseen.count(faults[-1].until if faults else None)
            scenario.journal.add(Lag(scenario.journal.now(), lag, scenario.unseen.count()))

    thread = threading.Thread(target=look, name="lag", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(20)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make faults-mm2", description="The same faults, done to Causeway and to MirrorMaker 2."
    )
    parser.add_argument("directory", type=Path, help="where histories, verdicts and results go")
    parser.add_argument("--fault", action="append", choices=[one.name for one in SCHEDULE])
    parser.add_argument("--mirror", action="append", choices=[one.name for one in CONTENDERS])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--patience", type=float, default=30.0, help="seconds without any arrival after which a mirror rests"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
