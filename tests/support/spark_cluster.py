"""A real Spark standalone cluster on this machine: a master, workers, and their child processes.

Everything runs below one directory, which is also how it is found again: an executor outlives its worker for
a moment, and its Python processes outlive the executor.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pyspark

from causeway.local_kafka.java import find_java
from causeway.local_kafka.ports import HOST, free_ports, is_free
from causeway.local_kafka.process import ProcessId, Watchdog, is_alive, send, spawn, wait_gone
from support.process import command, descendants, eventually

_HOME = Path(pyspark.__file__).parent
_JVM = (
    "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dspark.master.rest.enabled=false",
    # Packages that Spark's own launcher opens; its network layer accesses them.
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.nio.ch", "java.util")),
)  # fmt: skip


@dataclass(frozen=True)
class Executor:
    """An executor's JVM."""

    pid: int
    number: int  # the application's
    worker: int  # the port of the worker that started it

    @property
    def daemon(self) -> list[int]:
        """The process that forks its Python workers."""
        return [pid for pid in descendants(self.pid) if "pyspark.daemon" in command(pid)][:1]

    @property
    def python(self) -> list[int]:
        """Its Python workers."""
        return [pid for pid in descendants(self.pid) if "pyspark.daemon" in command(pid)][1:]

    @property
    def tree(self) -> list[int]:
        """All its processes."""
        return [self.pid, *descendants(self.pid)]


class Daemon:
    """The master or a worker."""

    def __init__(self, name: str, port: int, ui: int, directory: Path, command: Sequence[str]) -> None:
        self.name, self.port, self.ui = name, port, ui
        self._directory, self._command = directory, command
        self._process: ProcessId | None = None
        self._watchdog: Watchdog | None = None

    def start(self) -> None:
        eventually(lambda: is_free(self.port) and is_free(self.ui), f"the ports of {self.name} are free")
        # Set by Spark's own scripts for the executors that a worker starts.
        environment = [f"SPARK_LOCAL_IP={HOST}", f"SPARK_HOME={_HOME}", "SPARK_SCALA_VERSION=2.13"]
        self._process = spawn(["env", *environment, *self._command], self._directory, self.log)
        self._watchdog = Watchdog(self._process)

    @property
    def log(self) -> Path:
        return self._directory / f"{self.name}.log"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and is_alive(self._process)

    def kill(self) -> None:
        if self._process is not None:
            send(self._process, signal.SIGKILL)
            assert wait_gone(self._process, 20), f"{self.name} does not end"
        if self._watchdog is not None:
            self._watchdog.disarm()
            self._watchdog = None


class SparkCluster:
    """A master and its workers; `recovers` keeps the master's state across its death."""

    def __init__(self, directory: Path, workers: int = 2, cores: int = 2, *, recovers: bool = True) -> None:
        self.directory = directory.resolve()
        ports = iter(free_ports(2 + 2 * workers))
        port, ui = next(ports), next(ports)
        self.url = f"spark://{HOST}:{port}"
        kept = self.directory / "recovery"
        properties = (
            ("-Dspark.deploy.recoveryMode=FILESYSTEM", f"-Dspark.deploy.recoveryDirectory={kept}")
            if recovers
            else ()
        )
        self.master = Daemon(
            "master", port, ui, self.directory,
            _java("org.apache.spark.deploy.master.Master", properties, "--port", port, "--webui-port", ui),
        )  # fmt: skip
        self.workers = []
        for number in range(workers):
            port, ui = next(ports), next(ports)
            arguments = (
                "--port", port, "--webui-port", ui, "--cores", cores, "--memory", "2g",
                "--work-dir", self.directory / f"work-{number}", self.url,
            )  # fmt: skip
            command = _java("org.apache.spark.deploy.worker.Worker", (), *arguments)
            self.workers.append(Daemon(f"worker-{number}", port, ui, self.directory, command))

    def __enter__(self) -> SparkCluster:
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            for daemon in (self.master, *self.workers):
                daemon.start()
            self.until_whole()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process that was started here, and its descendants."""
        for daemon in (self.master, *self.workers):
            daemon.kill()

        def over() -> bool:
            left = self.processes()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not left

        eventually(over, "all processes of the Spark cluster are gone", 20)

    def until_whole(self) -> None:
        """All daemons run (those that do not are started), and the master knows all workers."""
        for daemon in (self.master, *self.workers):
            if not daemon.alive:
                daemon.kill()
                daemon.start()
        logs = [daemon.log for daemon in (self.master, *self.workers)]
        eventually(
            lambda: (
                self.facts().get("aliveworkers") == len(self.workers) and self.facts()["status"] == "ALIVE"
            ),
            f"the master knows all workers; see {logs}",
        )

    def facts(self) -> dict[str, Any]:
        """The master's state; empty while it does not respond."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.master.ui}/json/", timeout=5) as response:
                return dict(json.load(response))
        except (OSError, ValueError):
            return {}

    def properties(self, **more: str) -> dict[str, str]:
        """The settings of an application on this cluster."""
        return {
            "spark.driver.host": HOST, "spark.driver.bindAddress": HOST, "spark.executor.cores": "1",
            "spark.executor.memory": "512m", "spark.pyspark.python": sys.executable, **more,
        }  # fmt: skip

    def executors(self) -> list[Executor]:
        """The running executors, whichever their worker, the oldest first."""
        executors = []
        for pid in self.processes():
            words = command(pid)
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
                options = dict(pairwise(words))
                worker = int(options["--worker-url"].rpartition(":")[2])
                executors.append(Executor(pid, int(options["--executor-id"]), worker))
        return sorted(executors, key=lambda executor: executor.number)

    def executor_of(self, python: int) -> Executor:
        """The executor of a Python worker."""
        return next(executor for executor in self.executors() if python in executor.tree)

    def worker_of(self, executor: Executor) -> Daemon:
        return next(worker for worker in self.workers if worker.port == executor.worker)

    def processes(self) -> list[int]:
        """Every process with its working directory in this directory."""
        return list(_inside(self.directory))


def _java(main: str, properties: Sequence[str], *arguments: object) -> list[str]:
    command = [str(find_java()), *_JVM, *properties, "-cp", f"{_HOME / 'jars'}/*", main, "--host", HOST]
    return [*command, *map(str, arguments)]


def _inside(directory: Path) -> Iterator[int]:
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error):  # it ended meanwhile, or is another user's
            if Path(psutil.Process(pid).cwd()).is_relative_to(directory):
                yield pid
