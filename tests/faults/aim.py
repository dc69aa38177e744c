"""A step of a transaction at which a worker stops itself (SIGSTOP), with its transaction open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.mirrors import CausewayMirror, failing
from faults.processes import is_held
from faults.scenario import Scenario
from support.process import eventually

STEPS = ("before-fence", "after-produce", "after-flush", "after-ledger", "after-commit")


@dataclass(frozen=True)
class Aim:
    """A step at which a worker stops itself, once for each wait."""

    step: str
    flag: Path

    @property
    def keys(self) -> dict[str, Any]:
        """The mirror's settings. A slice has one start; each transaction has the other steps."""
        begins = self.step == "before-fence"
        env = failing(self.step, 2 if begins else 30, "stop", self.flag)
        return {"env": env, "slice": "2s" if begins else "300s", "max_transaction_records": 200}

    def start(self, scenario: Scenario) -> None:
        """Start and warm up: while the flag file exists, no worker stops."""
        self.flag.touch()
        scenario.start()

    def taken(self, scenario: Scenario, mirror: CausewayMirror) -> list[int]:
        """Wait for workers that stopped at the step; returns their pids."""
        self.flag.unlink()
        scenario.until(self.flag.exists, f"a worker reaches {self.step}")
        eventually(lambda: any(map(is_held, mirror.run.workers())), f"a worker has stopped {self.step}")
        return [pid for pid in mirror.run.workers() if is_held(pid)]
