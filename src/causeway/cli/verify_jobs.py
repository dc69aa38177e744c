"""Comparisons started from the page: `causeway verify` as its own process and Spark application.

A comparison takes no Spark slot from the mirrors. It reads this process's effective configuration from stdin:
that may come from another tool's file, from variables and options, and its secrets must be in no file that
this process would leave behind if it were killed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

from causeway.cli.child import Child
from causeway.config import Settings
from causeway.config.overrides import PREFIX
from causeway.config.toml import written
from causeway.core.clock import now_ms
from causeway.core.job import Job, JobState
from causeway.errors import UsageError, VerifyMismatch

MOST_KEPT = 20
MOST_LINES = 200
WAIT = "10m"
STDIN = "/dev/stdin"
_STATES: dict[int | None, JobState] = {None: "running", 0: "equal", VerifyMismatch.exit_code: "different"}


@dataclass
class _Comparison:
    id: str
    mirror: str
    started_at: int
    child: Child
    ended_at: int = -1


class Comparisons:
    """At most one running comparison per mirror; all end with this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._directory: Path | None = None
        self._comparisons: dict[str, _Comparison] = {}
        self._lock = threading.Lock()

    def start(self, mirror: str, *, wait: bool) -> str:
        """Start comparing a mirror, with `wait` after it has reached the current ends; returns an id."""
        with self._lock:
            if any(
                comparison.mirror == mirror and comparison.child.exit_code is None
                for comparison in self._comparisons.values()
            ):
                raise UsageError("this mirror is being compared already", where=f'mirror "{mirror}"')
            directory = self._ensure_directory()
            job_id = uuid.uuid4().hex[:12]
            child = Child(
                "verify", STDIN, "--mirror", mirror,
                *(("--wait", "--timeout", WAIT) if wait else ()),
                log=directory / f"{job_id}.log", env=_environment(), given=_text(self._settings),
            )  # fmt: skip
            self._comparisons[job_id] = _Comparison(job_id, mirror, now_ms(), child)
            for old in list(self._comparisons)[:-MOST_KEPT]:
                if self._comparisons[old].child.exit_code is not None:
                    del self._comparisons[old]
            return job_id

    def job(self, job_id: str) -> Job | None:
        with self._lock:
            comparison = self._comparisons.get(job_id)
            if comparison is None:
                return None
            code = comparison.child.exit_code
            if code is not None and comparison.ended_at < 0:
                comparison.ended_at = now_ms()
            lines = comparison.child.log.read_text(errors="replace").splitlines()[-MOST_LINES:]
            state = _STATES.get(code, "failed")
            return Job(
                comparison.id,
                comparison.mirror,
                state,
                comparison.started_at,
                comparison.ended_at,
                tuple(lines),
            )

    def close(self) -> None:
        with self._lock:
            for comparison in self._comparisons.values():
                comparison.child.kill()
            if self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)

    def _ensure_directory(self) -> Path:
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="causeway-verify-"))  # readable by this user alone
        return self._directory


def _text(settings: Settings) -> str:
    """The configuration as TOML, without what was resolved: tokens. A comparison serves nothing."""
    tables = settings.model_dump(exclude_none=True, exclude={"web", "metrics"})
    return "".join(f"{name} = {written(table)}\n" for name, table in tables.items())


def _environment() -> dict[str, str]:
    """Without the variables that set keys: the configuration has their values already."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
