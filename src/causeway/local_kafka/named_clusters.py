"""Named clusters, which outlive the command that started them.

Each has a directory <state>/kafka/<name>/; the state directory is $CAUSEWAY_STATE, else
$XDG_STATE_HOME/causeway, else ~/.local/state/causeway.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from causeway import owner_only
from causeway.errors import SetupError, UsageError
from causeway.local_kafka import schema_registry
from causeway.local_kafka.cluster import RECORD, EmbeddedCluster, check_name
from causeway.local_kafka.jars import DEFAULT_VERSION


def state_dir() -> Path:
    if chosen := os.environ.get("CAUSEWAY_STATE"):
        return Path(chosen).expanduser().absolute()
    if xdg := os.environ.get("XDG_STATE_HOME"):
        return Path(xdg).absolute() / "causeway"
    return Path.home() / ".local" / "state" / "causeway"


def clusters() -> list[EmbeddedCluster]:
    """All clusters that were started and not deleted, running or not."""
    return [EmbeddedCluster.open(record.parent) for record in sorted(_home().glob(f"*/{RECORD}"))]


def start(
    name: str,
    *,
    port: int | None = None,
    brokers: int | None = None,
    version: str | None = None,
    registry: bool = False,
) -> EmbeddedCluster:
    """Start a new cluster, or a stopped one with its data; raises UsageError if it is already running.

    With `registry`, start a schema registry beside it, also where the cluster runs already.
    """
    check_name(name)
    if registry:
        schema_registry.program()  # fail before a broker is started
    with _alone():
        directory = _home() / name
        if (directory / RECORD).exists():
            cluster = _start_again(directory, port, brokers, version, registry)
        else:
            if directory.exists():
                shutil.rmtree(directory)  # left by a start that was killed before it created the cluster
            cluster = EmbeddedCluster.start(
                name, brokers or 1, port, version or DEFAULT_VERSION, directory=directory, detached=True
            )
        if registry or cluster.registry is not None:
            cluster.start_registry()
        return cluster


def stop(name: str, *, delete: bool = False) -> bool:
    """Stop the brokers and the registry of this cluster only; False if none was up."""
    with _alone():
        known = [record.parent.name for record in _home().glob(f"*/{RECORD}")]
        if name not in known:
            raise UsageError(
                f"there is no cluster {name!r}",
                why=f"known: {', '.join(sorted(known))}" if known else "no cluster was started",
                todo="`causeway kafka list` shows them",
            )
        cluster = EmbeddedCluster.open(_home() / name)
        was_up = any(broker.is_up for broker in cluster.brokers)
        was_up |= cluster.registry is not None and cluster.registry.is_up
        if delete:
            cluster.destroy()
        else:
            cluster.stop()
        return was_up


def _start_again(
    directory: Path, port: int | None, brokers: int | None, version: str | None, registry: bool
) -> EmbeddedCluster:
    cluster = EmbeddedCluster.open(directory)
    options = [
        ("--port", port, cluster.brokers[0].port),
        ("--brokers", brokers, len(cluster.brokers)),
        ("--version", version, cluster.version),
    ]
    adds_registry = registry and (cluster.registry is None or not cluster.registry.is_up)
    if all(broker.is_up for broker in cluster.brokers) and not adds_registry:
        raise UsageError(
            f"cluster {cluster.name!r} is already running",
            where=cluster.bootstrap_servers,
            todo=f"use it, or stop it first: causeway kafka stop {cluster.name}",
        )
    for option, wanted, actual in options:
        if wanted is not None and wanted != actual:
            raise UsageError(
                f"cluster {cluster.name!r} exists with {option} {actual}, not {wanted}",
                where=str(directory),
                todo=f"choose another name, or delete it: causeway kafka stop {cluster.name} --delete",
            )
    cluster.start_brokers()
    return cluster


def _home() -> Path:
    return state_dir() / "kafka"


@contextmanager
def _alone() -> Iterator[None]:
    """One start or stop at a time: two starts of the same name would share its data."""
    try:
        lock = (owner_only.state_part(state_dir(), "kafka") / ".lock").open("w")
    except OSError as error:
        raise SetupError(
            "the directory for started clusters cannot be used",
            where=str(_home()),
            why=error.strerror or str(error),
            todo="set CAUSEWAY_STATE to a directory that can be written",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
