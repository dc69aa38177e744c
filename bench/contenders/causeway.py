"""Causeway, as users run it: `causeway run CONFIG`, with its defaults except for what a case measures."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.child import Child, Failed
from bench.contenders.job import Job
from bench.stage import Encrypted
from causeway.config.toml import written
from support.process import python_workers

CHECK_SECONDS = 300


@dataclass(frozen=True)
class Causeway:
    name: str = "causeway"
    title: str = "Causeway, exactly once"
    mirror: Mapping[str, Any] = field(default_factory=dict)  # keys that differ from the defaults
    spark: Mapping[str, Any] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()  # as for -X
    encrypted: Encrypted | None = None  # listeners with TLS, in the place of the job's servers
    besides: Callable[[], Sequence[int]] = list  # processes of a Spark cluster
    keeps_all: bool = True

    def settings(self, job: Job) -> dict[str, str]:
        chosen = {key: written(value) for key, value in (*self.mirror.items(), *self.spark.items())}
        overrides = {"-X": " ".join(self.overrides)} if self.overrides else {}
        return {
            "command": "causeway run CONFIG", "compression": job.compression, **chosen, **overrides,
            "everything else": "its defaults",
        }  # fmt: skip

    def start(self, job: Job) -> Child:
        arguments = [argument for override in self.overrides for argument in ("-X", override)]
        return Child(
            [sys.executable, "-m", "causeway", "run", str(self.write(job)), *arguments],
            job.directory,
            env={"CAUSEWAY_STATE": str(job.directory / "state")},
            besides=self.besides,
        )

    def check(self, job: Job) -> float:
        """Seconds that `causeway check` takes: a start, and the whole plan without Spark. Raises Failed."""
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "causeway", "check", str(self.write(job))],
            capture_output=True, text=True, timeout=CHECK_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode:
            output = (done.stderr or done.stdout).strip().splitlines()
            raise Failed(f"causeway check: {output[-1] if output else f'exit code {done.returncode}'}")
        return time.monotonic() - began

    def write(self, job: Job) -> Path:
        """The configuration file."""
        settings = {
            "name": job.name, "source": "source", "destination": "destination",
            "topics": list(job.topics), "compression": job.compression, **self.mirror,
        }  # fmt: skip
        lines = [
            *self._cluster("source", job.source),
            *self._cluster("destination", job.destination),
            "[[mirrors]]",
            *(f"{key} = {written(value)}" for key, value in settings.items()),
        ]
        if self.spark:
            lines += ["[spark]", *(f"{key} = {written(value)}" for key, value in self.spark.items())]
        job.directory.mkdir(parents=True, exist_ok=True)
        path = job.directory / "mirror.toml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def _cluster(self, alias: str, servers: str) -> list[str]:
        if self.encrypted is None:
            return [f"[clusters.{alias}]", f"bootstrap_servers = {written(servers)}"]
        return [
            f"[clusters.{alias}]",
            f"bootstrap_servers = {written(getattr(self.encrypted, alias))}",
            f"tls.ca = {written(str(self.encrypted.ca))}",
        ]

    def arrives_in(self, topic: str) -> str:
        return topic

    def workers(self, child: Child) -> Sequence[int]:
        return python_workers(child.pids())
