"""The same faults of a source pool's nodes for Causeway and for a real kaf-relay, and the same checker.

    python -m faults.against_kaf_relay DIRECTORY [--fault NAME]… [--program NAME]… [--patience SECONDS]

Three nodes of one broker are fed with the same records by one writer. Both programs read them with one
configuration file, kaf-relay's sample, each into a topic of its own. DIRECTORY keeps the history, the verdict
and the logs of each run, results.json and summary.txt. The table shows everything that was run into it. The
exit code is about Causeway alone; 3 if kaf-relay is not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException

from causeway.local_kafka import DEFAULT_VERSION, EmbeddedCluster
from causeway.local_kafka.ports import free_ports
from faults.arrivals import Arrivals
from faults.fault_outcome import RESULT, FaultOutcome, examples, exit_code, show
from faults.invariant_result import Report
from faults.pool_contenders import OURS, TITLES, PoolConfiguration, make, path, versions
from faults.pool_faults import BETWEEN, SCHEDULE, PoolFault, PoolTarget
from faults.pool_history import judge
from support.kaf_relay_program import MISSING, file_for, find
from support.node_pool import NAMES, NodePool, Traffic, proxies_of, started_nodes
from support.process import eventually
from support.proxy import Proxy
from support.world import UNBOUNDED

CONFIGURATION = 3  # exit code
START_SECONDS = 120.0
_TITLE = "The same faults of the nodes, the same checker"


@dataclass(frozen=True)
class SharedNodes:
    """What all runs share."""

    nodes: Mapping[str, EmbeddedCluster]
    proxies: Mapping[str, Proxy]
    destination: EmbeddedCluster
    directory: Path
    program: Path
    patience: float


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    program = find()
    if program is None:
        print(MISSING, file=sys.stderr)
        return CONFIGURATION
    directory: Path = asked.directory.absolute()
    faults = [fault for fault in SCHEDULE if not asked.fault or fault.name in asked.fault]
    programs = [name for name, _ in TITLES if not asked.program or name in asked.program]
    done = []
    with started(directory, program, asked.patience) as shared:
        for fault, name in itertools.product(faults, programs):
            done.append(put_through(shared, fault, name))
            print(f"{fault.name} {name}: {done[-1].seconds:.0f} s", file=sys.stderr, flush=True)
    show(directory, [(fault.name, fault.title) for fault in SCHEDULE], TITLES, _TITLE)
    return exit_code(done, OURS)


@contextlib.contextmanager
def started(directory: Path, program: Path, patience: float) -> Iterator[SharedNodes]:
    clusters = directory / "clusters"
    shutil.rmtree(clusters, ignore_errors=True)
    with (
        proxies_of(NAMES) as proxies,
        started_nodes(clusters, proxies=proxies) as nodes,
        EmbeddedCluster.start("destination", directory=clusters / "destination") as destination,
    ):
        yield SharedNodes(nodes, proxies, destination, directory, program, patience)


def put_through(shared: SharedNodes, fault: PoolFault, name: str) -> FaultOutcome:
    """Run one program through one fault, with a topic of its own."""
    place = shared.directory / fault.name / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    began = time.monotonic()
    pool = NodePool(shared.nodes, shared.destination, place)
    topic = pool.topic()
    pool.world.topic(on="destination", partitions=2, config=UNBOUNDED)  # kaf-relay creates none
    contender = make(name, shared.program, configuration(shared, fault, pool, topic, place))
    target = PoolTarget(
        pool, topic, contender, Arrivals(shared.destination.bootstrap_servers, topic), shared.proxies,
        Traffic(pool, topic),
    )  # fmt: skip
    report: Report | None = None
    trouble = ""
    try:
        contender.start()
        eventually(lambda: target.arrivals.timing.distinct >= BETWEEN, "records arrive", START_SECONDS)
        fault.act(target)
        finish(target, shared.patience)
        report = judge(place, shared.destination.bootstrap_servers, topic, pool.written[topic])
    except (AssertionError, KafkaException) as error:
        trouble = str(error).splitlines()[0]
    finally:
        contender.kill()
        target.traffic.end()
        target.arrivals.close()
        heal(target)
        pool.close()
    outcome = FaultOutcome(
        fault.name, name, 0,
        acknowledged=len(pool.written[topic]),
        anomalies=dict(Counter(each.name for each in report.anomalies)) if report else {},
        examples=examples(report) if report else [],
        said=[], failures=[], recovery_ms=None, trouble=trouble,
        seconds=round(time.monotonic() - began, 1),
        versions={**versions(shared.program), "kafka": DEFAULT_VERSION},
        next_ms=target.arrivals.timing.next_ms,
        notes=[f"read {path(contender.read())}", *target.notes],
    )  # fmt: skip
    outcome.write(place / RESULT)
    return outcome


def configuration(
    shared: SharedNodes, fault: PoolFault, pool: NodePool, topic: str, place: Path
) -> PoolConfiguration:
    nodes = {
        name: node.proxied_servers if fault.proxied else node.bootstrap_servers
        for name, node in shared.nodes.items()
    }
    destination, group = shared.destination.bootstrap_servers, pool.world.mirror
    file = place / "config.toml"
    file.write_text(file_for(nodes, destination, topic, topic, group, free_ports(1)[0]))
    return PoolConfiguration(place, file, group, destination, nodes)


def finish(target: PoolTarget, patience: float) -> None:
    """After the fault some more records; then all nodes run and get everything, until nothing moves."""
    timing = target.arrivals.timing
    wanted = timing.distinct + BETWEEN
    comes_to_rest(target, lambda: timing.next_ms is not None and timing.distinct >= wanted, patience)
    target.traffic.end()
    heal(target)
    for node in target.pool.nodes:
        target.pool.catch_up(node)
        target.pool.finish(node)
    written = len(target.pool.written[target.topic])
    comes_to_rest(target, lambda: timing.distinct >= written, patience)
    target.contender.stop()


def comes_to_rest(target: PoolTarget, done: Callable[[], bool], patience: float) -> None:
    """Until it is done; gives up when nothing has arrived for this long, or the program has ended."""
    seen, moved = -1, time.monotonic()

    def rests() -> bool:
        nonlocal seen, moved
        if target.arrivals.timing.count != seen:
            seen, moved = target.arrivals.timing.count, time.monotonic()
        return done() or time.monotonic() - moved > patience or not target.contender.alive

    eventually(rests, "the program has come to rest", 20 * patience)


def heal(target: PoolTarget) -> None:
    for proxy in target.proxies.values():
        proxy.heal()
    target.pool.restore()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make faults-kaf-relay",
        description="The same faults of a source pool's nodes, for Causeway and for kaf-relay.",
    )
    parser.add_argument("directory", type=Path, help="where histories, verdicts and results go")
    parser.add_argument("--fault", action="append", choices=[fault.name for fault in SCHEDULE])
    parser.add_argument("--program", action="append", choices=[name for name, _ in TITLES])
    parser.add_argument(
        "--patience", type=float, default=30.0, help="seconds without any arrival after which a program rests"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
