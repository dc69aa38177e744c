"""`causeway verify` as users run it: exit code, standard output and standard error apart."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.process import start_command


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
    env = {**os.environ, "CAUSEWAY_STATE": str(config.parent / "state")}
    with tempfile.TemporaryDirectory() as directory:
        stdout, stderr = Path(directory) / "stdout", Path(directory) / "stderr"
        code = start_command(["verify", str(config), *arguments], env, stdout, stderr).wait(seconds)
        return Outcome(code, stdout.read_text(), stderr.read_text())
