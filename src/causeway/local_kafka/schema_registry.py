"""A real schema registry beside a cluster: Apicurio Registry, which serves Confluent's API.

    <directory>/registry.json       its port, never changed
    <directory>/registry.log, process.json, data/

It listens on the loopback address alone and keeps its schemas in a file, each written before it is
acknowledged: a killed one comes back with all of them.
"""

from __future__ import annotations

import http.client
import json
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

from causeway.errors import SetupError
from causeway.local_kafka import ports
from causeway.local_kafka.java import find_java
from causeway.local_kafka.kept_process import STOP_SECONDS, KeptProcess
from causeway.local_kafka.maven_archive import MavenArchive, unpacked

VERSION = "3.0.9"
"""The last one that runs on Java 17 is below 3.1."""

PROGRAM = MavenArchive(
    "io.apicurio",
    "apicurio-registry-app",
    VERSION,
    "all",
    "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43",
)
START_SECONDS = 120.0
_POLL_SECONDS = 0.1

_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_SETTINGS = (
    f"-Dquarkus.http.host={ports.HOST}",
    "-Dquarkus.http.access-log.enabled=false",
    "-Dquarkus.log.level=WARN",
    '-Dquarkus.log.category."io.apicurio".level=WARN',
    # As Confluent's registry does without asking.
    "-Dapicurio.rest.deletion.artifact-version.enabled=true",
    "-Dapicurio.rest.deletion.artifact.enabled=true",
    "-Dapicurio.rest.deletion.group.enabled=true",
)


class SchemaRegistry:
    """Created by `start` (a new one) or `open` (an existing one). As a context manager it ends itself."""

    def __init__(self, directory: Path, port: int, *, detached: bool) -> None:
        self.directory = directory
        self.port = port
        self.url = f"http://{ports.HOST}:{port}/apis/ccompat/v7"
        self.log = directory / "registry.log"
        self._process = KeptProcess("the schema registry", directory, self.log, detached=detached)

    @classmethod
    def start(cls, directory: Path, *, detached: bool = False) -> SchemaRegistry:
        """Create one; returns when it responds. Raises SetupError if it does not come up."""
        find_java()
        program()  # fail before a directory is created
        (port,) = ports.free_ports(1)
        directory.mkdir(parents=True)
        _record(directory).write_text(json.dumps({"port": port, "version": VERSION}))
        registry = cls(directory, port, detached=detached)
        registry.start_process()
        return registry

    @classmethod
    def open(cls, directory: Path, *, detached: bool = True) -> SchemaRegistry | None:
        """The one that was created in a directory, running or not."""
        record = _record(directory)
        try:
            return cls(directory, int(json.loads(record.read_text())["port"]), detached=detached)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise SetupError(
                "the description of this schema registry cannot be read",
                where=str(record),
                why=str(error),
                todo=f"kill its process, if any, and remove {directory}",
            ) from error

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def is_up(self) -> bool:
        return self._process.is_up

    def start_process(self, timeout: float = START_SECONDS) -> None:
        """Start on the same port with the same schemas; after a failure, kill what was started here."""
        if self.is_up:
            return
        jar = program() / f"{PROGRAM.artifact}-{VERSION}-runner.jar"
        storage = f"jdbc:h2:file:{self.directory / 'data' / 'registry'};WRITE_DELAY=0"
        settings = (*_SETTINGS, f"-Dquarkus.http.port={self.port}", f"-Dapicurio.datasource.url={storage}")
        self._process.start([str(find_java()), *_JVM, *settings, "-jar", str(jar)])
        try:
            self._wait_ready(timeout)
        except BaseException:
            self.kill()
            raise

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        self._process.stop(timeout)

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self._process.kill()

    def pause(self) -> None:
        self._process.send(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send(signal.SIGCONT)

    def __enter__(self) -> SchemaRegistry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _wait_ready(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while self.is_up:
            if self._responds():
                return
            if time.monotonic() >= deadline:
                raise self._process.failure(f"was not ready within {timeout:.0f} s")
            time.sleep(_POLL_SECONDS)
        raise self._process.failure("ended during its start")

    def _responds(self) -> bool:
        try:
            with _DIRECTLY.open(f"{self.url}/subjects", timeout=5) as response:
                return isinstance(json.load(response), list)
        except urllib.error.HTTPError as error:
            error.close()
        except (OSError, ValueError, http.client.HTTPException):
            pass
        return False  # not ready yet: the caller's deadline decides


def program() -> Path:
    """The directory with the registry's code; downloads it if it does not exist."""
    return unpacked(PROGRAM)


_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens addresses of this machine without the proxy that the environment may name."""


def _record(directory: Path) -> Path:
    return directory / "registry.json"
