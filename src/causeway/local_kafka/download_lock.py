"""One process at a time fills a directory with downloads."""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from causeway.errors import SetupError

UNFINISHED = ".unfinished-"
"""How the name of a directory begins that is not complete."""


@contextmanager
def alone(directory: Path) -> Iterator[int]:
    """Hold the lock of a directory; it is released when its holders end, for whatever reason."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / ".lock").open("w")
    except OSError as error:
        raise SetupError(
            "the directory for downloaded jars cannot be used",
            where=str(directory),
            why=error.strerror or str(error),
            todo="set CAUSEWAY_CACHE to a directory that can be written",
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another process that downloads jars", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()
