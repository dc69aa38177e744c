"""The mirror's machine has another idea of the time: records keep theirs, and nothing else minds.

Configuration, secrets and scratch directories that vanish are with the crashes (test_crash.py).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults.conftest import NewScenario
from faults.mirrors import CausewayMirror
from support.records import Rec
from support.world import World, now_ms

pytestmark = pytest.mark.deep

HOUR_MS = 3_600_000
RAISES = """\
class Filter:
    def __init__(self, config):
        pass

    def keep(self, record):
        raise ValueError("no record is good enough")
"""
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
        """In place: a process that has opened the file sees it."""
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
def test_a_clock_that_is_an_hour_off_changes_no_record(
    new_scenario: NewScenario, clock: Clock, first: int
) -> None:
    """It jumps while the mirror runs, one way and then the other; then a new instance starts an hour before
    its predecessor ended. Leases count, and heartbeats are read; neither is a matter of the clock."""
    scenario, mirror = new_scenario({"t": 2, "u": 1}, env=clock.env, slice="5s")
    with scenario:
        scenario.start()
        assert off_by(mirror) == 0
        said = len(mirror.output)
        for hours in (first, -first):
            with scenario.fault(f"the clock is {hours:+d} h off"):
                clock.put(hours)
                scenario.until(lambda now=hours: off_by(mirror) == now, "shards live in another hour")  # type: ignore[misc]
                scenario.advances(300)
            scenario.recovered()
        assert len(mirror.runs) == 1
        assert "no heartbeat" not in mirror.output[said:]
        print(f"{mirror.output[said:].count('starting again')} attempts started again")
        with scenario.fault("kill -9, and an instance with a clock an hour before", crash=True):
            clock.put(1)
            scenario.advances(100)
            mirror.kill()
            clock.put(0)
            mirror.start()
        scenario.recovered()
        scenario.end("I13")


def test_a_partition_that_stops_after_the_clock_was_set_back_is_shown_as_stopped(
    world: World, clock: Clock, tmp_path: Path
) -> None:
    """A filter that raises is called again in every slice: its partition resumes, and stops again at once."""
    topic = world.topic("t", 1)
    (tmp_path / "raises.py").write_text(RAISES)
    config = world.config([topic], slice="2s", heartbeat="500ms", filters=[{"filter": "raises.py"}])
    clock.put(1)
    run = world.run(config, env=clock.env)
    world.produce(topic, [(0, Rec(b"k", b"v", (), now_ms()))])

    def stopped_at(hour: int) -> bool:
        return any(round((one.at - now_ms()) / HOUR_MS) == hour for one in world.ledger().stopped.values())

    def shown() -> int:
        with urllib.request.urlopen(f"{run.page()}/api/v1/mirrors/{world.mirror}", timeout=10) as answer:
            return int(json.load(answer)["stopped"])

    run.until(lambda: stopped_at(1) and shown(), "the partition has stopped", 90)
    clock.put(0)
    run.until(lambda: stopped_at(0), "it stops again, an hour earlier", 60)
    run.until(shown, "the page says so", 30)
    assert run.stop() == 0, run.output
