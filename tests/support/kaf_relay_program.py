"""The real kaf-relay, where it is installed, as a process of its own. Nothing here installs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from causeway.local_kafka import process
from causeway.local_kafka.ports import HOST
from causeway.local_kafka.process import ProcessId, Watchdog

PROGRAMS = ("kaf-relay", "kaf-relay.bin")
MISSING = """\
error: kaf-relay is not installed
  where: the PATH, $GOBIN, $GOPATH/bin and ~/go/bin
  to do: build release v1.4.0 as https://github.com/zerodha/kaf-relay describes it, and put the program
         there under the name kaf-relay"""
STOP_SECONDS = 20.0


def find(environment: Mapping[str, str] = os.environ) -> Path | None:
    """On the PATH, or where Go puts programs."""
    gopath = Path(environment.get("GOPATH") or Path(environment.get("HOME", "/")) / "go")
    places = [environment.get("PATH", ""), environment.get("GOBIN", ""), str(gopath / "bin")]
    path = os.pathsep.join(place for place in places if place)
    found = next((each for name in PROGRAMS if (each := shutil.which(name, path=path))), None)
    return Path(found) if found else None


def version(program: Path) -> str:
    """The first word that it prints for itself; "unknown" for a build without a version."""
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)
    return (shown.stdout.split() or ["unknown"])[0]


def file_for(nodes: Mapping[str, str], destination: str, topic: str, copy: str, group: str, port: int) -> str:
    """The sample that kaf-relay ships, for these nodes: its values, without logins, on loopback."""
    sources = "".join(_SOURCE.format(name=name, servers=servers) for name, servers in nodes.items())
    head = _HEAD.format(host=HOST, port=port, topic=topic, copy=copy, group=group)
    return head + sources + _TARGET.format(servers=destination)


def nodes_read(log: str) -> list[str]:
    """The numbers of the sources that it connected to, in this order; one may come several times.

    Its log has a JSON object in a line, and lines of libraries.
    """
    return [
        str(json.loads(line)["id"])
        for line in log.splitlines()
        if line.startswith("{") and '"poll loop got new healthy node"' in line
    ]


class KafRelay:
    """`kaf-relay --mode failover` in a directory, with a configuration file."""

    def __init__(self, program: Path, directory: Path, file: Path) -> None:
        self._command = [str(program), "--config", str(file), "--mode", "failover"]
        self._directory = directory
        self.log = directory / "kaf-relay.log"
        self._process: ProcessId | None = None
        self._watchdog: Watchdog | None = None

    def start(self) -> None:
        self._process = process.spawn(self._command, self._directory, self.log)
        self._watchdog = Watchdog(self._process)

    @property
    def alive(self) -> bool:
        return self._process is not None and process.is_alive(self._process)

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def stop(self) -> None:
        """SIGTERM, which drains what it has read; then SIGKILL."""
        if self._process is not None:
            process.send(self._process, signal.SIGTERM)
            process.wait_gone(self._process, STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        if self._process is not None:
            process.send(self._process, signal.SIGKILL)
            assert process.wait_gone(self._process, STOP_SECONDS), f"{self._process} cannot be killed"
        if self._watchdog is not None:
            self._watchdog.disarm()
        self._process = self._watchdog = None


def names(numbers: Iterable[str], nodes: Iterable[str]) -> list[str]:
    """The nodes' names for kaf-relay's numbers, which follow the order of the file."""
    known = list(nodes)
    return [known[int(number)] for number in numbers]


_HEAD = """\
[app]
log_level = "info"
metrics_server_addr = "{host}:{port}"

[[topics]]
"{topic}" = "{copy}"

[source_pool]
initial_offset = "start"
instance_id = "{group}"
group_id = "{group}"
healthcheck_interval = "3s"
offset_lag_threshold = 1000
max_retries = -1
backoff_enable = true
backoff_min = "2s"
backoff_max = "10s"
request_timeout = "100ms"
randomize_initial = false
"""
_SOURCE = """
[[sources]]
name = "{name}"
servers = ["{servers}"]
session_timeout = "6s"
max_wait_time = "10ms"
max_failovers = -1
"""
_TARGET = """
[target]
name = "target"
servers = ["{servers}"]
enable_idempotency = true
commit_ack_type = "cluster"
flush_frequency = "20ms"
session_timeout = "6s"
max_retries = -1
flush_batch_size = 1000
batch_size = 1000
buffer_size = 100000
max_message_bytes = 10000000
backoff_enable = true
backoff_min = "2s"
backoff_max = "10s"
request_timeout = "100ms"
"""
