"""A mirror through a long day of random faults: `make soak SECONDS=600 SEED=7`.

One side has three brokers, the other one (on a quiet day both one); a proxy stands before each. The same
seed gives the same faults in the same order. After each one the mirror has to be back at zero lag, then the
next one comes; now and then two come together. A supervisor starts the mirror again whenever it has ended.
In the end both sides are read, and the checker decides; what it rests on stays in a directory: history,
verdict, plot, logs.

Exit code 0: no anomaly. 1: there is one, or the day could not be brought to its end.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, get_args

from confluent_kafka import KafkaException

from causeway.errors import CausewayError
from faults import plot, score
from faults.acts import GROWING
from faults.brokers import Brokers
from faults.checker import check
from faults.day import Day
from faults.events import Exited, Side
from faults.mirrors import CausewayMirror
from faults.nemesis import FAMILIES, TRANSACTION_SECONDS, Step, kinds, schedule
from faults.network import Lines, lines
from faults.ruling import Report
from faults.stage import Stage, complaint
from support.process import eventually

TOPICS = {"t": 3, "u": 2, GROWING: 2}
PAUSE_SECONDS = 0.2
"""Between rounds of the workload: two cores carry everything, and the checker has to bear the history."""
SAMPLE_SECONDS = 1.0
WARM_SECONDS = 20.0
"""What a process uses while it starts says nothing about what it uses later."""
PATIENCE_SECONDS = 120.0
MOST_TROUBLE = 10
UNREACHABLE, SUPERSEDED = 5, 8


class Kept(CausewayMirror):
    """Tells of its processes once they are warm, and apart by its number of shards, which counts for them."""

    since = 0.0

    def start(self, *arguments: str, **more: Any) -> Any:
        self.since = time.monotonic()
        return super().start(*arguments, **more)

    def pids(self) -> dict[str, list[int]]:
        if time.monotonic() - self.since < WARM_SECONDS or not self.alive:
            return {}
        return {f"{role}, {self.keys['shards']} shards": pids for role, pids in super().pids().items()}


class Soak(Day):
    """A day with a supervisor."""

    mirror: Kept
    stage: Stage
    in_fault = False

    def begin(self, lines: dict[Side, Lines]) -> None:
        brokers: dict[Side, Brokers] = {side: Brokers(line.cluster) for side, line in lines.items()}
        self.stage = Stage(self, self.mirror, lines, brokers)
        self.start()

    def until(self, condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
        def holds() -> object:
            self.supervise()
            return condition()

        try:
            eventually(holds, what, max(seconds, PATIENCE_SECONDS))
        except AssertionError as error:
            left = f"{self.unseen.count()} unseen, {self.unseen.seen} seen"
            raise AssertionError(f"{error} ({left})\n{self.mirror.run.output[-4000:]}") from None

    def supervise(self) -> None:
        """Start it again where it has ended; that it has ended without a reason is an anomaly."""
        if not self.mirror.runs or self.mirror.alive:
            return
        run = self.mirror.run
        if run not in self.stage.ended:
            code = run.process.returncode
            self.journal.add(Exited(self.journal.now(), "run", code))
            assert self.unseen.seen, (
                f"the mirror ended with {code} before anything arrived:\n{run.output[-4000:]}"
            )
            if code != UNREACHABLE or not self.in_fault:
                self.stage.complain(f"the mirror ended with {code}: {complaint(run.output)}")
            assert len(self.stage.trouble) < MOST_TROUBLE, f"again and again:\n{run.output[-4000:]}"
        self.mirror.start()

    def go_through(self, step: Step) -> None:
        """From somewhere in the middle of its work until zero lag, and until who was replaced has ended."""
        random = Random(step.seed)
        self.advances(random.randint(1, 40))
        self.in_fault = True
        try:
            with ExitStack() as faults:
                for kind in step.kinds:
                    faults.enter_context(self.fault(kind.name, crash=kind.crash))
                for kind in step.kinds:
                    faults.enter_context(kind.act(self.stage, random))
                over = self.journal.now() + step.seconds * 1000
                self.until(lambda: self.journal.now() >= over, "time has passed")
        except (AssertionError, KafkaException, CausewayError) as error:
            self.stage.complain(f"{step} could not be brought about: {str(error).splitlines()[0]}")
            now = self.journal.now()
            self.until(lambda: self.unseen.count(now) == 0, f"all has arrived after {step}")
        else:
            self.recovered(PATIENCE_SECONDS)
        self.in_fault = False
        while self.stage.replaced:
            older = self.stage.replaced.pop()
            code = older.wait(60)
            if code != SUPERSEDED:
                self.stage.complain(f"a replaced instance ended with {code}: {complaint(older.output)}")


def soak(options: argparse.Namespace, directory: Path) -> bool:
    """Whether nothing was wrong."""
    known = kinds(options.three, options.families) if options.families else []
    report: Report | None = None
    with _clusters(directory, options.three) as sides:
        mirror = Kept(
            directory, sides["source"].cluster, sides["destination"].cluster,
            proxied=("source", "destination"), name=f"soak{options.seed}", env=_environment(directory),
            transaction_timeout=f"{TRANSACTION_SECONDS}s", slice="30s",
            replication_factor=len(sides["destination"].proxies),
        )  # fmt: skip
        day = Soak(
            directory, sides["source"].cluster, sides["destination"].cluster, mirror, TOPICS,
            seed=options.seed, pause_seconds=PAUSE_SECONDS, sample_seconds=SAMPLE_SECONDS,
        )  # fmt: skip
        failure = ""
        try:
            with day:
                day.begin(sides)
                if known:
                    _faults(day, schedule(options.seed, known), options.seconds, options.faults)
                else:
                    _quiet(day, options.seconds)
                print("quiet: the rest is carried, both sides are read, the checker decides", flush=True)
                report = day.end(judge=False, seconds=PATIENCE_SECONDS)
        except Exception as error:
            failure = f"{str(error).splitlines()[0]}\n{''.join(traceback.format_exception(error))}"
            print(failure, flush=True)
        _keep_logs(day)
    history = day.journal.history()
    report = report or check(history)
    limits = {kind.name: kind.limit_ms for kind in known}
    wrong = [
        *score.wrong(history, report, limits, restarted="processes" in options.families),
        *day.stage.trouble,
    ]
    wrong += [f"not brought to its end: {failure.splitlines()[0]}"] if failure else []
    lines = score.summary(history, report, options.seed, limits, wrong)
    (directory / "verdict.txt").write_text("\n".join([*lines, "", str(report), failure]))
    title = score.headline(history, report, options.seed, wrong)
    plot.draw(history, directory / "soak.png", title, {kind.name: kind.family for kind in known})
    print("\n".join(lines))
    return not wrong


def _faults(day: Soak, steps: Iterator[Step], seconds: float, most: int) -> None:
    began, number = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds and number < most:
        step = next(steps)
        print(f"[{passed:.0f}/{seconds:.0f} s] fault {number + 1}: {step}, {step.seconds} s", flush=True)
        day.go_through(step)
        number += len(step.kinds)


def _quiet(day: Soak, seconds: float) -> None:
    """Nothing but records, in one run: what its processes use must not grow."""
    over = time.monotonic() + seconds
    day.until(lambda: time.monotonic() >= over, "time has passed", seconds + PATIENCE_SECONDS)


@contextmanager
def _clusters(directory: Path, three: Side | None) -> Iterator[dict[Side, Lines]]:
    with ExitStack() as stack:
        found: dict[Side, Lines] = {}
        for side in get_args(Side):
            place = directory / "clusters" / side
            found[side] = stack.enter_context(lines(side, place, 3 if side == three else 1))
        yield found


def _environment(directory: Path) -> dict[str, str]:
    """What killed processes leave behind is put where we remove it."""
    scratch = directory / "scratch"
    scratch.mkdir()
    return {
        "CAUSEWAY_STATE": str(directory / "state"), "TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(scratch),
        "JAVA_TOOL_OPTIONS": f'"-Djava.io.tmpdir={scratch}"',
    }  # fmt: skip


def _keep_logs(day: Soak) -> None:
    """Brokers and their logs go with their clusters."""
    for side, cluster in day.clusters.items():
        for broker in cluster.brokers:
            if broker.log.exists():
                shutil.copyfile(broker.log, day.directory / f"{side}-broker-{broker.id}.log")
    shutil.rmtree(day.directory / "scratch", ignore_errors=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak", description="A mirror through random faults.")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long faults are injected")
    parser.add_argument("--seed", type=int, default=None, help="the same seed gives the same faults")
    parser.add_argument("--three", choices=get_args(Side), help="has three brokers; the destination, or none")
    parser.add_argument(
        "--families", default=",".join(FAMILIES), help="of faults, with commas between; none: a quiet day"
    )
    parser.add_argument("--faults", type=int, default=sys.maxsize, help="at most so many")
    parser.add_argument(
        "--directory", type=Path, default=None, help="for everything that is kept; new or empty"
    )
    options = parser.parse_args(arguments)
    options.families = [name for name in options.families.split(",") if name]
    if unknown := sorted(set(options.families) - set(FAMILIES)):
        parser.error(f"no such family: {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    if options.three is None and options.families:
        options.three = "destination"
    if options.seed is None:
        options.seed = Random().randrange(1_000_000)
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    directory = options.directory or Path(tempfile.mkdtemp(prefix="causeway-soak-"))
    directory.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # brokers and mirror are ended on the way out
    print(f"seed {options.seed}, {options.seconds:.0f} s, kept in {directory}", flush=True)
    fine = soak(options, directory.absolute())
    print(f"history, verdict, plot (soak.png) and logs: {directory}", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
