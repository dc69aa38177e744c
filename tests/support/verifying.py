"""`causeway verify` as users run it: exit code, standard output and standard error apart."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.process import causeway_command


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        """The first mirror of the `-o json` output."""
        mirror: dict[str, Any] = json.loads(self.stdout)["mirrors"][0]
        return mirror


def run_verify(config: Path, *arguments: str, seconds: float = 240.0) -> Outcome:
    done = subprocess.run(
        causeway_command("verify", config, *arguments),
        capture_output=True,
        text=True,
        timeout=seconds,
        env={**os.environ, "CAUSEWAY_STATE": str(config.parent / "state")},
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)
