"""A mirror through random faults for a long time: `make soak SECONDS=600 SEED=7`.

One side has three brokers, the other one has one (both have one if there are no faults), each behind a proxy.
The same seed gives the same faults in the same order. After each fault the mirror must be back at zero lag,
then the next one is injected; sometimes two at a time. A supervisor starts the mirror again whenever it has
ended. At the end both sides are read, and the checker decides; the history, the verdict, a plot and the logs
stay in a directory.

Exit code 0: no anomaly. 1: an anomaly, or the soak could not be completed.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, get_args

from faults import plot, soak_summary
from faults.checker import check
from faults.events import Side
from faults.invariant_result import Report
from faults.nemesis import FAMILIES, TRANSACTION_SECONDS, ScheduledFault, kinds, schedule
from faults.network import ProxiedCluster, lines
from faults.shortages import kept_in_a_file
from faults.supervised import HARMED, PATIENCE_SECONDS, TOPICS, SoakScenario, SupervisedMirror

GOES_ON: dict[str, Any] = {"on_gap": "continue", "on_recreate": "restart"}
PAUSE_SECONDS = 0.2
"""Between rounds of the workload: two cores run everything, and the checker needs the history in memory."""
SAMPLE_SECONDS = 1.0


def soak(options: argparse.Namespace, directory: Path) -> bool:
    """Run the soak; returns whether nothing was wrong."""
    known = kinds(options.three, options.families) if options.families else []
    report: Report | None = None
    with _clusters(directory, options.three) as sides:
        mirror = SupervisedMirror(
            directory, sides["source"].cluster, sides["destination"].cluster,
            proxied=("source", "destination"), name=f"soak{options.seed}", env=_environment(directory),
            transaction_timeout=f"{TRANSACTION_SECONDS}s", slice=options.slice,
            replication_factor=len(sides["destination"].proxies),
            clusters=kept_in_a_file(directory), **GOES_ON,
        )  # fmt: skip
        scenario = SoakScenario(
            directory, sides["source"].cluster, sides["destination"].cluster, mirror,
            TOPICS | HARMED,
            seed=options.seed, pause_seconds=PAUSE_SECONDS, sample_seconds=SAMPLE_SECONDS,
        )  # fmt: skip
        failure = ""
        try:
            with scenario:
                scenario.begin(sides)
                if known:
                    _faults(scenario, schedule(options.seed, known), options.seconds, options.faults)
                else:
                    _quiet(scenario, options.seconds)
                print("quiet: the rest is replicated, both sides are read, the checker decides", flush=True)
                scenario.said.note(scenario.journal)  # all its verdicts, unfounded ones too
                report = scenario.end(judge=False, seconds=PATIENCE_SECONDS)
                for source in mirror.ledger().stopped:  # policies say to continue
                    scenario.target.complain(f"{source.topic}[{source.partition}] is stopped at the end")
        except Exception as error:
            failure = f"{str(error).splitlines()[0]}\n{''.join(traceback.format_exception(error))}"
            print(failure, flush=True)
        _keep_logs(scenario)
    history = scenario.journal.history()
    report = report or check(history)
    limits = {kind.name: kind.limit_ms for kind in known}
    wrong = [
        *soak_summary.wrong(history, report, limits, restarted="processes" in options.families),
        *scenario.target.trouble,
    ]
    wrong += [f"not brought to its end: {failure.splitlines()[0]}"] if failure else []
    lines = soak_summary.summary(history, report, options.seed, limits, wrong)
    (directory / "verdict.txt").write_text("\n".join([*lines, "", str(report), failure]))
    title = soak_summary.headline(history, report, options.seed, wrong)
    plot.draw(history, directory / "soak.png", title, {kind.name: kind.family for kind in known})
    print("\n".join(lines))
    return not wrong


def _faults(scenario: SoakScenario, steps: Iterator[ScheduledFault], seconds: float, most: int) -> None:
    began, number = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds and number < most:
        step = next(steps)
        print(f"[{passed:.0f}/{seconds:.0f} s] fault {number + 1}: {step}, {step.seconds} s", flush=True)
        scenario.go_through(step)
        number += len(step.kinds)


def _quiet(scenario: SoakScenario, seconds: float) -> None:
    """Only records, in one run: what its processes use must not grow."""
    over = time.monotonic() + seconds
    scenario.until(lambda: time.monotonic() >= over, "time has passed", seconds + PATIENCE_SECONDS)


@contextmanager
def _clusters(directory: Path, three: Side | None) -> Iterator[dict[Side, ProxiedCluster]]:
    with ExitStack() as stack:
        found: dict[Side, ProxiedCluster] = {}
        for side in get_args(Side):
            place = directory / "clusters" / side
            found[side] = stack.enter_context(lines(side, place, 3 if side == three else 1))
        yield found


def _environment(directory: Path) -> dict[str, str]:
    """Directories for what killed processes leave behind, which we remove."""
    scratch = directory / "scratch"
    scratch.mkdir()
    return {
        "CAUSEWAY_STATE": str(directory / "state"), "TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(scratch),
        "JAVA_TOOL_OPTIONS": f'"-Djava.io.tmpdir={scratch}"',
    }  # fmt: skip


def _keep_logs(scenario: SoakScenario) -> None:
    """Copy the brokers' logs, which are deleted with their clusters."""
    for side, cluster in scenario.clusters.items():
        for broker in cluster.brokers:
            if broker.log.exists():
                shutil.copyfile(broker.log, scenario.directory / f"{side}-broker-{broker.id}.log")
    shutil.rmtree(scenario.directory / "scratch", ignore_errors=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak", description="A mirror through random faults.")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long faults are injected")
    parser.add_argument("--seed", type=int, default=None, help="the same seed gives the same faults")
    parser.add_argument("--slice", default="30s", help="of the mirror: each one has clients of its own")
    parser.add_argument("--three", choices=get_args(Side), help="has three brokers; the destination, or none")
    parser.add_argument(
        "--families",
        default=",".join(FAMILIES),
        help="of faults, with commas between; empty: no faults",
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # brokers and mirror are stopped on the way out
    print(f"seed {options.seed}, {options.seconds:.0f} s, kept in {directory}", flush=True)
    fine = soak(options, directory.absolute())
    print(f"history, verdict, plot (soak.png) and logs: {directory}", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
