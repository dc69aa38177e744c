"""The two programs that read the same source pool, with the same configuration file: kaf-relay's sample."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from causeway import __version__
from causeway.core.cluster import Cluster
from causeway.errors import Unreachable
from causeway.kafka.ledger import read_image
from support import kaf_relay_program
from support.kaf_relay_program import KafRelay
from support.process import Causeway

OURS, THEIRS = "causeway", "kaf-relay"
TITLES = ((OURS, "Causeway"), (THEIRS, "kaf-relay"))
_SWITCHED = re.compile(r"reading from (\S+) instead of")


@dataclass(frozen=True)
class PoolConfiguration:
    directory: Path
    file: Path
    group: str
    destination: str
    nodes: Mapping[str, str]  # name → servers


class PoolContender(Protocol):
    def start(self) -> None: ...

    def stop(self) -> None:
        """As its users do."""

    def kill(self) -> None: ...

    @property
    def alive(self) -> bool: ...

    @property
    def output(self) -> str: ...

    def read(self) -> list[str]:
        """The nodes that it has read, in order; the last one is read now."""


class PooledCauseway:
    """`causeway kaf-relay` with one shard, as kaf-relay has one consumer."""

    def __init__(self, configuration: PoolConfiguration) -> None:
        self._configuration = configuration
        self._run: Causeway | None = None
        self._first = ""

    def start(self) -> None:
        file, directory = self._configuration.file, self._configuration.directory
        arguments = ("--config", file, "--mode", "failover", "-X", "mirrors.0.shards=1")
        self._run = Causeway("kaf-relay", *arguments, log=directory / "causeway.log")

    def stop(self) -> None:
        if self._run is not None and self._run.alive:
            assert self._run.stop() == 0, self.output[-4000:]

    def kill(self) -> None:
        if self._run is not None:
            self._run.kill()

    @property
    def alive(self) -> bool:
        return self._run is not None and self._run.alive

    @property
    def output(self) -> str:
        return self._run.output if self._run is not None else ""

    def read(self) -> list[str]:
        """The ledger has the first node, the log has the switches."""
        switched = _SWITCHED.findall(self.output)
        if not self._first and not switched:
            cluster = Cluster("dst", {"bootstrap.servers": self._configuration.destination})
            with contextlib.suppress(Unreachable):
                beats = read_image(cluster, f"kaf-relay-{self._configuration.group}").heartbeats.values()
                self._first = next((node for beat in beats for node in beat.nodes.values()), "")
        return [node for node in (self._first, *switched) if node]


class RealKafRelay(KafRelay):
    def __init__(self, program: Path, configuration: PoolConfiguration) -> None:
        super().__init__(program, configuration.directory, configuration.file)
        self._nodes = list(configuration.nodes)

    def read(self) -> list[str]:
        return kaf_relay_program.names(kaf_relay_program.nodes_read(self.output), self._nodes)


def make(name: str, program: Path, configuration: PoolConfiguration) -> PoolContender:
    return PooledCauseway(configuration) if name == OURS else RealKafRelay(program, configuration)


def versions(program: Path) -> dict[str, str]:
    return {OURS: __version__, THEIRS: kaf_relay_program.version(program)}


def path(read: list[str]) -> str:
    """`n1 → n2`: the nodes that were read; the same one again is a new connection."""
    return " → ".join(read) or "none"
