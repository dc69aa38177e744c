"""What a contender is asked to carry, and what it has to be able to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.child import Child
from bench.shapes import Compression
from bench.usage import peak


@dataclass(frozen=True)
class Job:
    name: str  # unlike any other's: what a contender keeps on the clusters bears it
    source: str  # servers
    destination: str
    topics: tuple[str, ...]
    partitions: int  # of all topics together
    compression: Compression
    directory: Path


class Mirror(Protocol):
    """It carries topics until it is stopped."""

    @property
    def name(self) -> str:
        """As a command line says it."""

    @property
    def title(self) -> str: ...

    @property
    def keeps_all(self) -> bool:
        """Whether timestamps and headers arrive too, and are compared."""

    def settings(self, job: Job) -> dict[str, str]:
        """What it is started with, for the report."""

    def start(self, job: Job) -> Child: ...

    def arrives_in(self, topic: str) -> str:
        """The topic at the destination."""

    def workers(self, child: Child) -> Sequence[int]:
        """Processes whose memory has a limit of its own."""


def largest(workers: Sequence[int]) -> dict[str, float]:
    """The figure of the worker that needed most memory, where there are workers."""
    return {"worker_megabytes": max(map(peak, workers)) / 1e6} if workers else {}
