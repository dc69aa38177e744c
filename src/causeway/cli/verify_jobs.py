"""Comparisons started from the page: `causeway verify` as its own process and Spark application.

A comparison takes no Spark slot from the mirrors. It reads this process's effective configuration from a
private file, because that configuration may come from another tool's file, from variables and options.
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
from causeway.config.toml import written
from causeway.core.clock import now_ms
from causeway.core.job import Job, JobState
from causeway.errors import UsageError, VerifyMismatch

KEPT = 20
LINES = 200
WAIT = "10m"
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
        self._home: Path | None = None
        self._known: dict[str, _Comparison] = {}
        self._lock = threading.Lock()

    def start(self, mirror: str, *, wait: bool) -> str:
        """Start comparing a mirror, with `wait` after it has reached the current ends; returns an id."""
        with self._lock:
            if any(one.mirror == mirror and one.child.exit_code is None for one in self._known.values()):
                raise UsageError("this mirror is being compared already", where=f'mirror "{mirror}"')
            home = self._made_home()
            number = uuid.uuid4().hex[:12]
            child = Child(
                "verify", home / "causeway.toml", "--mirror", mirror,
                *(("--wait", "--timeout", WAIT) if wait else ()),
                log=home / f"{number}.log", env=os.environ,
            )  # fmt: skip
            self._known[number] = _Comparison(number, mirror, now_ms(), child)
            for old in list(self._known)[:-KEPT]:
                if self._known[old].child.exit_code is not None:
                    del self._known[old]
            return number

    def job(self, number: str) -> Job | None:
        with self._lock:
            one = self._known.get(number)
            if one is None:
                return None
            code = one.child.exit_code
            if code is not None and one.ended_at < 0:
                one.ended_at = now_ms()
            lines = one.child.log.read_text(errors="replace").splitlines()[-LINES:]
            state = _STATES.get(code, "failed")
            return Job(one.id, one.mirror, state, one.started_at, one.ended_at, tuple(lines))

    def close(self) -> None:
        with self._lock:
            for one in self._known.values():
                one.child.kill()
            if self._home is not None:
                shutil.rmtree(self._home, ignore_errors=True)

    def _made_home(self) -> Path:
        if self._home is None:
            self._home = Path(tempfile.mkdtemp(prefix="causeway-verify-"))  # readable by this user alone
            tables = self._settings.model_dump(exclude_none=True)
            text = "".join(f"{name} = {written(table)}\n" for name, table in tables.items())
            (self._home / "causeway.toml").write_text(text)
        return self._home
