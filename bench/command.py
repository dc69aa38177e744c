"""The command line: what to measure and which systems; then the table, the JSON and the page.

make bench                all measures; rewrites docs/benchmarks.md
make bench QUICK=1        the headline rows, in under five minutes
make bench FULL=1         all combinations of sizes, headers, compressions and partitions
make bench ARGS="--only latency --system causeway"
make bench ARGS="--from build/bench/A.json --from build/bench/B.json"   the page again, without a run
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bench import machine, samples
from bench.child import Failed
from bench.contenders import copyloop, others
from bench.contenders.causeway import Causeway
from bench.contenders.job import Mirror
from bench.contenders.kafka_tools import ConsumerLimit, Limit, ProducerLimit
from bench.contenders.mirrormaker import MirrorMaker2
from bench.measures import catch_up, growth, latency, page_cost, throughput
from bench.measures.bench import TROUBLE, Bench, reason, voiding
from bench.report.page import publish
from bench.report.screen import show
from bench.samples import Run
from bench.scale import FULL, MEASURES, QUICK, WHOLE, Scale
from bench.shapes import CENTRE, around, combinations
from bench.stage import set_up
from bench.warming import warm
from causeway.errors import CausewayError

DOCS = Path("docs")
BUILD = Path("build/bench")
WARMING = 1_500_000  # records through both brokers before the first measurement
SHAPES = {"centre": (CENTRE,), "around": tuple(around()), "all": tuple(combinations())}

DO = {
    "throughput": throughput.throughput,
    "latency": latency.latency,
    "boundary": latency.boundary,
    "catch-up": catch_up.catch_up,
    "shards": throughput.shards,
    "tls": throughput.tls,
    "spark-cluster": throughput.spark_cluster,
    "growth": growth.growth,
    "page": page_cost.page_cost,
}


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    try:
        if asked.past:
            run = samples.merged([samples.from_json(path.read_text()) for path in asked.past])
            docs = asked.docs or DOCS
        else:
            run, docs = measured(asked)
    except KeyboardInterrupt:
        print("bench: stopped; what was measured is kept", file=sys.stderr)
        return 130
    except CausewayError as error:
        print(*error.lines(), sep="\n", file=sys.stderr)
        return error.exit_code
    except TROUBLE as error:
        print(f"bench: {reason(error)}", file=sys.stderr)
        return 2
    show(run)
    print(f"the page: {publish(run, docs)}")
    return int(any(sample.system == "causeway" for sample in run.void()))


def measured(asked: argparse.Namespace) -> tuple[Run, Path]:
    """Run the measures; return the run and the directory of its page: docs/ only after a complete run."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # otherwise the brokers' data would stay
    began = datetime.now(UTC)
    scale = chosen(asked)
    run = Run(
        began=began.isoformat(timespec="seconds"),
        command=shlex.join(["python", "-m", "bench", *sys.argv[1:]]),
        machine=machine.describe(),
        versions=machine.versions(),
        scale=asdict(scale),
    )
    name = f"{began:%Y-%m-%d-%H%M%S}"
    kept = asked.into / f"{name}.json"
    mirrors, limits = entries(asked, run)
    with set_up((asked.into / name).absolute(), say) as stage:
        causeway = Causeway(overrides=tuple(asked.X))
        bench = Bench(stage, scale, run, causeway, mirrors, limits, lambda: samples.write(run, kept))
        warm(stage, min(WARMING, scale.records), scale.warm_seconds)
        for measure in scale.measures:
            with voiding(partial(given_up, run, measure)):
                DO[measure](bench)
    run.ended = datetime.now(UTC).isoformat(timespec="seconds")
    samples.write(run, kept)
    print(f"samples: {kept}")
    tried = asked.system or asked.X or asked.variant or asked.mm2
    whole = scale in (WHOLE, FULL) and not tried
    return run, asked.docs or (DOCS if whole else asked.into / name)


def given_up(run: Run, measure: str, why: str) -> None:
    """An error of the clusters ends this measure, not the whole run."""
    run.left_out.append(f"the rest of {measure}: {why}")
    say(run.left_out[-1])


def chosen(asked: argparse.Namespace) -> Scale:
    """The scale, with the command line's overrides."""
    scale = QUICK if asked.quick else FULL if asked.full else WHOLE
    given = {
        "measures": tuple(asked.only), "shapes": SHAPES.get(asked.shapes), "rounds": asked.rounds,
        "latency_rounds": asked.rounds, "records": asked.records, "around_records": asked.records,
        "megabytes": asked.megabytes, "latency_systems": named(asked, scale.latency_systems),
        "rates": tuple(asked.rate), "latency_seconds": asked.seconds, "idle_seconds": asked.idle_seconds,
        "backlog_megabytes": asked.backlog_megabytes, "growth": tuple(asked.partitions),
    }  # fmt: skip
    return replace(scale, **{name: value for name, value in given.items() if value})


def named(asked: argparse.Namespace, by_itself: Sequence[str]) -> tuple[str, ...]:
    """The systems whose latency is measured: the chosen ones, or else the scale's and the variants."""
    return tuple(asked.system) or (*by_itself, *(variant(text, ()).name for text in asked.variant))


def entries(asked: argparse.Namespace, run: Run) -> tuple[list[Mirror], list[Limit]]:
    """The systems that take part; those that cannot are noted in the run."""
    tuned = dict(pair.split("=", 1) for pair in asked.mm2)
    mirrors: list[Mirror] = [
        Causeway(overrides=tuple(asked.X)),
        *(variant(text, asked.X) for text in asked.variant),
        MirrorMaker2("at-least-once", tuned),
        MirrorMaker2("exactly-once", tuned),
    ]
    for other in others.read(asked.contenders) if asked.contenders else []:
        if others.installed(other):
            mirrors.append(other)
        else:
            run.left_out.append(f"{other.title}: {other.command[0]} is not installed")
    try:
        mirrors.append(copyloop.CopyLoop(copyloop.compiled(asked.into.absolute())))
    except Failed as error:
        run.left_out.append(f"bare copy loop in C: {error}")
    limits: list[Limit] = [ConsumerLimit(), ProducerLimit()]
    for line in run.left_out:
        say(f"left out: {line}")
    wanted = set(asked.system)
    if unknown := wanted - {entry.name for entry in (*mirrors, *limits)}:
        raise ValueError(f"unknown systems: {', '.join(sorted(unknown))}")
    return (
        [mirror for mirror in mirrors if not wanted or mirror.name in wanted],
        [limit for limit in limits if not wanted or limit.name in wanted],
    )


def variant(text: str, overrides: Sequence[str]) -> Causeway:
    """Causeway with other settings, as a system of its own. Raises ValueError."""
    name, colon, settings = text.partition(":")
    if not (name and colon and settings):
        raise ValueError(f"{text!r} is not NAME:KEY=VALUE,KEY=VALUE")
    return Causeway(f"causeway-{name}", f"Causeway, {name}", overrides=(*overrides, *settings.split(",")))


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description="Benchmark Causeway and other tools.")
    scales = parser.add_mutually_exclusive_group()
    scales.add_argument("--quick", action="store_true", help="the headline rows, in under five minutes")
    scales.add_argument("--full", action="store_true", help="all combinations of record shapes")
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--only", choices=MEASURES, help="this measure; may be repeated", **several)
    parser.add_argument("--system", help="this system by name; may be repeated", **several)
    parser.add_argument("--shapes", choices=SHAPES, help="record shapes of the throughput runs")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--records", type=int, help="records of a throughput run, at most")
    parser.add_argument("--megabytes", type=int, help="megabytes of a throughput run, at most")
    parser.add_argument("--rate", type=int, help="records/s for latency; may be repeated", **several)
    parser.add_argument("--seconds", type=float, help="of each latency run, after warming up")
    parser.add_argument("--idle-seconds", type=float, help="for which an idle mirror is watched")
    parser.add_argument("--backlog-megabytes", type=int, help="of catch-up")
    parser.add_argument("--partitions", type=int, help="of growth; may be repeated", **several)
    parser.add_argument(
        "--contenders", type=Path, metavar="FILE", help="other programs (contenders/others.py)"
    )
    parser.add_argument("-X", metavar="KEY=VALUE", help="for every run of Causeway", **several)
    parser.add_argument(
        "--variant", metavar="NAME:KEY=VALUE,…", help="Causeway once more, with other settings", **several
    )
    parser.add_argument("--mm2", metavar="KEY=VALUE", help="for every run of MirrorMaker 2", **several)
    parser.add_argument("--into", type=Path, default=BUILD, help="where results and logs go")
    parser.add_argument("--docs", type=Path, help="where the page goes")
    parser.add_argument(
        "--from", dest="past", type=Path, metavar="FILE", help="no run: the page of these", **several
    )
    return parser
