"""Resources that a mirror lacks for a while: bandwidth, configuration, secrets, scratch space."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from causeway.local_kafka import DEFAULT_VERSION, EmbeddedCluster
from causeway.local_kafka.jars import kafka_jars
from causeway.local_kafka.java import find_java
from faults.events import Side
from faults.fault_target import FaultTarget, Injection, complaint
from faults.network import backlog
from faults.processes import kill

QUOTA = 200_000  # bytes a second, from each broker
SHARED = 100_000  # the same for all of a side's brokers together
MEGABYTES = 1.5  # more than a quota allows in a broker's window of eleven seconds
FELT_MS = 2_000
BAD_CONFIGURATION = 3


def configure(cluster: EmbeddedCluster, *change: str) -> None:
    """Kafka's own tool: the client has no interface for quotas."""
    command = [str(find_java()), "-cp", f"{kafka_jars(DEFAULT_VERSION)}/*", "kafka.admin.ConfigCommand"]
    command += ["--bootstrap-server", cluster.bootstrap_servers, "--alter", "--entity-type", "clients"]
    done = subprocess.run(
        [*command, "--entity-default", *change], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def quota(cluster: EmbeddedCluster, side: Side, rate: int = QUOTA) -> Iterator[None]:
    """A quota for the mirror's client on this side."""
    name = "consumer_byte_rate" if side == "source" else "producer_byte_rate"
    configure(cluster, "--add-config", f"{name}={rate}")
    try:
        yield
    finally:
        configure(cluster, "--delete-config", name)


def throttled(side: Side) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        """On every broker, since all have partitions of the topic."""
        scenario, cluster = target.scenario, target.brokers[side].cluster
        with quota(cluster, side, SHARED // len(cluster.brokers)):
            backlog(scenario, scenario.topic("t"), MEGABYTES)
            scenario.until(
                lambda: scenario.unseen.count(scenario.journal.now() - FELT_MS), "records have to wait"
            )
            yield

    return act


def kept_in_a_file(directory: Path) -> dict[str, Any]:
    """Cluster tables with a secret in a file that the configuration names."""
    secret = _secret(directory)
    secret.write_text("causeway\n")
    return {alias: {"properties": {"client.id": f"${{file:{secret}}}"}} for alias in ("src", "dst")}


@contextmanager
def files_gone(target: FaultTarget, random: Random) -> Iterator[None]:
    """New workers need a missing file: they wait, and report for what."""
    run = target.mirror.run
    with _without_files(target):
        said = len(run.output)
        kill(target.workers())
        target.scenario.until(lambda: "No such file" in run.output[said:], "it says what it waits for")
        yield


@contextmanager
def started_without_files(target: FaultTarget, random: Random) -> Iterator[None]:
    target.end(target.mirror.run)
    with _without_files(target):
        run = target.mirror.start()  # which rewrites the configuration, but not the secret
        target.ended.append(run)
        code = run.wait()
    if code != BAD_CONFIGURATION:
        target.complain(f"without its secret the mirror ended with {code}: {complaint(run.output)}")
    yield


@contextmanager
def scratch_gone(target: FaultTarget, random: Random) -> Iterator[None]:
    """Delete Spark's scratch directory and the log directory; new workers have neither."""
    places = [Path(target.mirror.env[name]) for name in ("TMPDIR", "CAUSEWAY_STATE")]
    for place in places:
        shutil.rmtree(place, ignore_errors=True)  # a process may be writing there
    try:
        kill(target.workers())
        yield
    finally:
        for place in places:
            place.mkdir(exist_ok=True)


@contextmanager
def _without_files(target: FaultTarget) -> Iterator[None]:
    secret = _secret(target.mirror.directory)
    words = secret.read_text()
    secret.unlink()
    target.mirror.config.unlink()
    try:
        yield
    finally:
        secret.write_text(words)
        target.mirror.write_config()


def _secret(directory: Path) -> Path:
    return directory / "secret"
