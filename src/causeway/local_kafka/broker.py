"""One broker: a directory with its settings, log and data, and its process, if it runs.

process.json in that directory identifies the process, so every later command can find it.
"""

from __future__ import annotations

import signal
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from causeway.errors import SetupError
from causeway.local_kafka import ports, process
from causeway.local_kafka.cluster_shape import BrokerShape
from causeway.local_kafka.jars import kafka_jars
from causeway.local_kafka.java import find_java
from causeway.local_kafka.process import ProcessId, Watchdog

SETTINGS = "server.properties"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
_KILL_SECONDS = 20.0
_POLL_SECONDS = 0.05

_LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
    # Otherwise each start would list all 400 settings, twice.
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.utils.AppInfoParser=warn",
)
_TROUBLE = (" ERROR ", " FATAL ", "Exception", "Error:", "Caused by")


class Broker:
    def __init__(
        self, shape: BrokerShape, directory: Path, *, version: str, java_options: str, detached: bool
    ) -> None:
        self.id = shape.id
        self.port = shape.client_port
        self.proxy_target_port = shape.proxy_target_port
        self.directory = directory
        self.log = directory / "broker.log"
        self._internal_port = shape.internal_port
        self._version = version
        self._java_options = java_options
        self._detached = detached
        self._watchdog: Watchdog | None = None
        self._process_file = directory / "process.json"
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        running = self._process()
        return running.pid if running is not None else None

    @property
    def is_up(self) -> bool:
        return self.pid is not None

    def start(self, *, wait: bool = True, timeout: float = START_SECONDS) -> None:
        """Start on the same port with the same data; raises SetupError if it does not come up."""
        if self.is_up:
            return
        java, jars = find_java(), kafka_jars(self._version)
        options = [*shared_classes(java, jars), *self._java_options.split(), *_LOGGING]
        kafka = [*options, "-cp", f"{jars}/*", "kafka.Kafka"]
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        running = process.spawn([str(java), *kafka, SETTINGS], self.directory, self.log)
        if not self._detached:
            self._watchdog = Watchdog(running)
        self._process_file.write_text(running.to_json())
        if wait:
            self.wait_ready({self.id}, timeout)

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Stop it with SIGTERM; after the timeout, with SIGKILL."""
        self.ask_to_stop()
        running = self._process()
        if running is not None and not process.wait_gone(running, timeout):
            self.kill()
        self._forget()

    def ask_to_stop(self) -> None:
        self._send(signal.SIGTERM)
        self._send(signal.SIGCONT)  # a paused broker would never handle SIGTERM

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self._send(signal.SIGKILL)
        running = self._process()
        if running is not None and not process.wait_gone(running, _KILL_SECONDS):
            raise SetupError(f"broker {self.id} cannot be killed", where=f"pid {running.pid}")
        self._forget()

    def pause(self) -> None:
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def wait_ready(self, expected: Iterable[int], timeout: float = START_SECONDS) -> None:
        """Wait until this broker's own metadata lists all expected brokers; raises SetupError otherwise.

        Each attempt uses a new client: a client that knows the cluster would ask any broker, and the other
        brokers list a killed one for some more seconds.
        """
        wanted = set(expected)
        deadline = time.monotonic() + timeout
        while self.is_up:
            if ports.answers(self._internal_port) and wanted <= self._brokers_seen():
                return
            if time.monotonic() >= deadline:
                raise self._failure(f"was not ready within {timeout:.0f} s")
            time.sleep(_POLL_SECONDS)
        raise self._failure("ended during its start")

    def _brokers_seen(self) -> set[int]:
        client = AdminClient(
            {
                "bootstrap.servers": f"{ports.HOST}:{self._internal_port}",
                "log_level": 0,
                "error_cb": lambda _error: None,
            }
        )
        try:
            return set(client.list_topics(timeout=2).brokers)
        except KafkaException:
            return set()  # not ready yet: the caller's deadline decides

    def _process(self) -> ProcessId | None:
        """The broker's current process, whichever command started it."""
        try:
            known = ProcessId.from_json(self._process_file.read_text())
            if process.is_alive(known):
                return known
        except FileNotFoundError:
            pass
        except (ValueError, TypeError) as error:
            raise SetupError(
                f"cannot tell which process is broker {self.id}",
                where=str(self._process_file),
                why="the file is damaged",
                todo="kill that broker, then remove the file",
            ) from error
        self._disarm()  # it has ended, and its pid may be reused
        return None

    def _send(self, number: signal.Signals) -> None:
        running = self._process()
        if running is not None:
            process.send(running, number)

    def _disarm(self) -> None:
        if self._watchdog is not None:
            self._watchdog.disarm()
            self._watchdog = None

    def _forget(self) -> None:
        self._disarm()
        self._process_file.unlink(missing_ok=True)

    def _failure(self, what: str) -> SetupError:
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        return SetupError(
            f"broker {self.id} {what}",
            where=f"log {self.log}",
            why="\n     ".join(meaningful(lines)) or "it wrote nothing",
        )


def class_archive(java: Path, jars: Path) -> Path:
    """The archive of Kafka's parsed classes for this Java (class_data_sharing.py)."""
    binary = java.resolve()
    return jars / f"classes-{zlib.crc32(f'{binary} {binary.stat().st_mtime_ns}'.encode()):08x}.jsa"


def shared_classes(java: Path, jars: Path) -> list[str]:
    """The JVM options for that archive, if it exists."""
    path = class_archive(java, jars)
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", "-Xlog:cds=off"] if path.is_file() else []


def meaningful(lines: list[str], most: int = 5) -> list[str]:
    """The lines of a log that explain a failure: errors if there are any, else the last lines."""
    frames = ("\tat ", "\t... ")
    spoken = [line.rstrip() for line in lines if line.strip() and not line.startswith(frames)]
    complaints = [line for line in spoken if any(word in line for word in _TROUBLE)]
    return list(dict.fromkeys(complaints))[-most:] or spoken[-most:]
