"""One schema registry for a whole test run, shared by all of its pytest workers.

The first worker that needs it starts it. Each user holds a shared lock on a file of the run. A keeper process
waits for the exclusive lock, so it gets it when the last user has ended, for whatever reason, and then kills
the registry. Whoever comes later waits for the keeper, and starts the registry again, with its schemas.

Register under subjects of your own: others use it at the same time. Do not stop it.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DIRECTORY, _USERS, _START = "schema-registry", "schema-registry-users", "schema-registry-start"


@contextmanager
def shared_registry(run: Path) -> Iterator[str]:
    """The URL of the registry's Confluent API; `run` is a directory that all workers of the run share."""
    from causeway.local_kafka import SchemaRegistry

    with (run / _USERS).open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with (run / _START).open("a") as start:
            fcntl.flock(start, fcntl.LOCK_EX)
            registry = SchemaRegistry.open(run / _DIRECTORY)
            if registry is None or not registry.is_up:
                _start_keeper(run)
                if registry is None:
                    registry = SchemaRegistry.start(run / _DIRECTORY, detached=True)
                else:
                    registry.start_process()
        yield registry.url


def _start_keeper(run: Path) -> None:
    keeper = subprocess.Popen(
        [sys.executable, __file__, str(run)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    keeper.returncode = 0  # it outlives this process; Popen would warn about a running child


def _keep(run: Path) -> None:
    with (run / _USERS).open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        from causeway.local_kafka import SchemaRegistry  # only now: it takes memory for the whole run

        registry = SchemaRegistry.open(run / _DIRECTORY)
        if registry is not None:
            registry.kill()


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
