"""The jars of Kafka, downloaded once per user and version.

Invariant: a directory below <cache>/jars/ is complete or does not exist. It is filled under another
name and renamed at the end; the holder of the lock may delete what an earlier, killed holder
left. A failure also deletes Ivy's own cache, which may hold modules without their dependencies
(see ivy.py).
"""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path

from causeway.cache import cache_dir
from causeway.errors import UsageError
from causeway.local_kafka import ivy
from causeway.local_kafka.download_lock import UNFINISHED, alone
from causeway.local_kafka.java import find_java
from causeway.local_kafka.progress import showing

DEFAULT_VERSION = "4.3.1"

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


def kafka_jars(version: str = DEFAULT_VERSION) -> Path:
    """The directory with the jars of a broker."""
    return resolve("org.apache.kafka", "kafka_2.13", version)


def resolve(group: str, artifact: str, version: str) -> Path:
    """The directory with the jars of a module and its dependencies; downloads them if it does not exist.

    Raises SetupError if they cannot be downloaded, UsageError for an invalid version.
    """
    for part in (group, artifact, version):
        if not _PLAIN_NAME.fullmatch(part):
            raise UsageError(f"{part!r} is not the name or version of a module", todo="e.g. --version 4.3.1")
    module = ivy.Module(group, artifact, version)
    place = cache_dir() / "jars" / f"{artifact}-{version}"
    if place.is_dir():
        return place
    java = find_java()
    with alone(place.parent) as lock:
        if not place.is_dir():  # another process may have filled it meanwhile
            _fill(java, module, place, lock)
    return place


def _fill(java: Path, module: ivy.Module, place: Path, lock: int) -> None:
    ivy_cache = cache_dir() / "ivy"
    for leftover in place.parent.glob(f"{UNFINISHED}*"):
        shutil.rmtree(leftover)
    unfinished = place.parent / f"{UNFINISHED}{place.name}"
    try:
        unfinished.mkdir()
        with showing(str(module)) as on_line:
            retrieve = partial(
                ivy.retrieve, java, into=unfinished, cache=ivy_cache, lock=lock, on_line=on_line
            )
            retrieve(module)
            if backend := _logging_backend(unfinished):
                retrieve(backend)
        unfinished.rename(place)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(ivy_cache, ignore_errors=True)
        raise


def _logging_backend(jars: Path) -> ivy.Module | None:
    """Kafka's modules log through slf4j and bring no backend: without one a broker logs nothing.

    slf4j-simple writes to stderr, which is the broker's log file, and is released with slf4j-api.
    """
    api = sorted(jars.glob("slf4j-api-*.jar"))
    if not api:
        return None
    return ivy.Module("org.slf4j", "slf4j-simple", api[-1].stem.removeprefix("slf4j-api-"))
