"""The mirror's machine has another idea of the time: records keep theirs, and nothing else minds.

Configuration, secrets and scratch directories that vanish are with the crashes (test_crash.py).
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults.conftest import NewDay
from faults.mirrors import CausewayMirror
from support.world import now_ms

pytestmark = pytest.mark.deep

HOUR_MS = 3_600_000
SLEEPS = Path(__file__).parent.parent / "support" / "another_clock"


@dataclass(frozen=True)
class Clock:
    """Somebody else's clock: what its file says is added to the time, from the next look on."""

    file: Path
    library: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            # How long something takes is not what a wrong clock changes.
            "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": os.pathsep.join([str(SLEEPS), os.environ.get("PYTHONPATH", "")]),
        }

    def put(self, hours: int) -> None:
        """At once: whoever reads it never finds half of it."""
        new = self.file.with_suffix(".new")
        new.write_text(f"{hours * 3600:+d}s\n")
        new.replace(self.file)


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    found += sorted(Path("/usr/local/lib").glob("**/libfaketimeMT.so.1"))
    if shutil.which("faketime") is None or not found:
        pytest.skip(
            "another clock needs libfaketime: `apt-get install faketime`, or build it from its sources"
        )
    made = Clock(tmp_path / "clock", found[0])
    made.put(0)
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
