"""A chosen step of a transaction: a worker stops itself there, its connections and its transaction open."""

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
    """A step at which a worker stops itself, once each time that somebody waits for it."""

    step: str
    flag: Path

    @property
    def keys(self) -> dict[str, Any]:
        """Of the mirror. A slice's beginning comes once in a slice, the other steps in each transaction."""
        begins = self.step == "before-fence"
        env = failing(self.step, 2 if begins else 30, "stop", self.flag)
        return {"env": env, "slice": "2s" if begins else "300s", "max_transaction_records": 200}

    def start(self, scenario: Scenario) -> None:
        """The warm-up: while there is a flag, nobody stops."""
        self.flag.touch()
        scenario.start()

    def taken(self, scenario: Scenario, mirror: CausewayMirror) -> list[int]:
        """Who stands there."""
        self.flag.unlink()
        scenario.until(self.flag.exists, f"somebody comes to {self.step}")
        eventually(lambda: any(map(is_held, mirror.run.workers())), f"a worker stands still {self.step}")
        return [pid for pid in mirror.run.workers() if is_held(pid)]
