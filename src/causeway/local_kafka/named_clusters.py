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
from dataclasses import dataclass
from pathlib import Path

from causeway import owner_only
from causeway.errors import SetupError, UsageError
from causeway.local_kafka import client_access, schema_registry
from causeway.local_kafka.cluster import RECORD, EmbeddedCluster, check_name, check_ports
from causeway.local_kafka.cluster_shape import CLIENT
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
    mechanism: str | None = None,
    tls: bool = False,
    registry: bool = False,
) -> EmbeddedCluster:
    """Start a new cluster, or a stopped one with its data; raises UsageError if it is already running.

    `mechanism` (SASL's name of it) and `tls` are the security of a new one; a stopped one keeps what it has.
    With `registry`, start a schema registry beside it, also where the cluster runs already.
    """
    check_name(name)
    if registry:
        schema_registry.program()  # fail before a broker is started
    with _alone():
        directory = _home() / name
        wanted = _Wanted(port, brokers, version, mechanism, tls)
        if (directory / RECORD).exists():
            cluster = _start_again(directory, wanted, registry)
        else:
            cluster = _start_new(directory, wanted)
        client_access.admit(cluster)
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


@dataclass(frozen=True)
class _Wanted:
    """What the options ask for; None and False ask for nothing."""

    port: int | None
    brokers: int | None
    version: str | None
    mechanism: str | None
    tls: bool


def _start_new(directory: Path, wanted: _Wanted) -> EmbeddedCluster:
    brokers, version = wanted.brokers or 1, wanted.version or DEFAULT_VERSION
    check_ports(brokers, wanted.port)  # fail before keys are made
    if directory.exists():
        shutil.rmtree(directory)  # left by a start that was killed before it created the cluster
    try:
        security = client_access.create(directory, directory.name, wanted.mechanism, tls=wanted.tls)
        return EmbeddedCluster.start(
            directory.name,
            brokers,
            wanted.port,
            version,
            directory=directory,
            detached=True,
            listeners={CLIENT: security},
        )
    except BaseException:
        if not (directory / RECORD).exists():
            shutil.rmtree(directory, ignore_errors=True)
        raise


def _start_again(directory: Path, wanted: _Wanted, registry: bool) -> EmbeddedCluster:
    cluster = EmbeddedCluster.open(directory)
    security = client_access.security_of(cluster)
    options: list[tuple[str, object, object]] = [
        ("--port", wanted.port, cluster.brokers[0].port),
        ("--brokers", wanted.brokers, len(cluster.brokers)),
        ("--version", wanted.version, cluster.version),
        ("--sasl", wanted.mechanism, next(iter(security.mechanisms), None)),
        ("--tls", wanted.tls or None, security.tls or None),
    ]
    for option, asked, actual in options:
        if asked is not None and asked != actual:
            raise UsageError(
                f"cluster {cluster.name!r} exists {_with(option, actual)}, not {_with(option, asked)}",
                where=str(directory),
                todo=f"choose another name, or delete it: causeway kafka stop {cluster.name} --delete",
            )
    adds_registry = registry and (cluster.registry is None or not cluster.registry.is_up)
    if all(broker.is_up for broker in cluster.brokers) and not adds_registry:
        client_access.admit(cluster)
        raise UsageError(
            f"cluster {cluster.name!r} is already running",
            where=cluster.bootstrap_servers,
            todo=f"use it, or stop it first: causeway kafka stop {cluster.name}",
        )
    client_access.renew(cluster)
    cluster.start_brokers()
    return cluster


def _with(option: str, value: object) -> str:
    if value is None:
        return f"without {option}"
    return f"with {option}" if value is True else f"with {option} {value}"


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
