"""What a contender has to replicate, and the interface that it implements."""

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
    name: str  # unique: a contender's groups and internal topics use it
    source: str  # servers
    destination: str
    topics: tuple[str, ...]
    partitions: int  # of all topics together
    compression: Compression
    directory: Path


class Mirror(Protocol):
    """Replicates topics until it is stopped."""

    @property
    def name(self) -> str:
        """The name on the command line."""

    @property
    def title(self) -> str: ...

    @property
    def keeps_all(self) -> bool:
        """Whether it keeps timestamps and headers, so that they are compared."""

    def settings(self, job: Job) -> dict[str, str]:
        """Its settings, for the report."""

    def start(self, job: Job) -> Child: ...

    def arrives_in(self, topic: str) -> str:
        """The topic at the destination."""

    def workers(self, child: Child) -> Sequence[int]:
        """Processes that have their own memory limit."""


def largest(workers: Sequence[int]) -> dict[str, float]:
    """The peak memory of the largest worker, if there are workers."""
    return {"worker_megabytes": max(map(peak, workers)) / 1e6} if workers else {}
