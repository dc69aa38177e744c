"""The mirror's machine has another idea of the time: records keep theirs, and nothing else minds.

Configuration, secrets and scratch directories that vanish are with the crashes (test_crash.py).
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults.conftest import NewDay
from faults.mirrors import CausewayMirror
from support.world import now_ms

pytestmark = pytest.mark.deep

HOUR_MS = 3_600_000
SOURCE = Path(__file__).parent.parent / "support" / "another_clock.c"


@dataclass(frozen=True)
class Clock:
    """Somebody else's clock: what its file says is added to the time, at once."""

    file: Path
    library: Path

    @property
    def env(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.library), "ANOTHER_CLOCK": str(self.file)}

    def put(self, hours: int) -> None:
        """In place: whoever looks has the file before its eyes."""
        with self.file.open("r+b") as file:
            file.write((hours * 3600).to_bytes(8, "little", signed=True))


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("another clock is a small library in C: `apt-get install gcc libc6-dev`")
    made = Clock(tmp_path / "clock", tmp_path / "another_clock.so")
    made.file.write_bytes(bytes(8))
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made.library, SOURCE, "-ldl"], check=True)
    return made


def off_by(mirror: CausewayMirror) -> int:
    """How far the newest heartbeat of a shard is from the true time, in whole hours."""
    newest = max(beat.at for shard, beat in mirror.ledger().heartbeats.items() if shard)
    return round((newest - now_ms()) / HOUR_MS)


@pytest.mark.parametrize("first", [1, -1], ids=["forward", "back"])
def test_a_clock_that_is_an_hour_off_changes_no_record(new_day: NewDay, clock: Clock, first: int) -> None:
    """It jumps while the mirror runs, one way and then the other; then a new instance starts an hour before
    its predecessor ended. Leases count, and heartbeats are heard; neither is a matter of the clock."""
    day, mirror = new_day({"t": 2, "u": 1}, env=clock.env, slice="5s")
    with day:
        day.start()
        assert off_by(mirror) == 0
        said = len(mirror.output)
        for hours in (first, -first):
            with day.fault(f"the clock is {hours:+d} h off"):
                clock.put(hours)
                day.until(lambda now=hours: off_by(mirror) == now, "shards live in another hour")  # type: ignore[misc]
                day.advances(300)
            day.recovered()
        assert len(mirror.runs) == 1
        assert "no heartbeat" not in mirror.output[said:]
        print(f"{mirror.output[said:].count('starting again')} attempts started again")
        with day.fault("kill -9, and an instance with a clock an hour before", crash=True):
            clock.put(1)
            day.advances(100)
            mirror.kill()
            clock.put(0)
            mirror.start()
        day.recovered()
        day.end("I13")
