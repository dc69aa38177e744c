"""A destination without room, either side with a quota: that is waited for, and costs nothing but time."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from causeway.local_kafka import EmbeddedCluster
from faults.aim import Aim
from faults.day import Day
from faults.events import Side
from faults.harm import Harm
from faults.mirrors import CausewayMirror
from faults.shortages import quota
from support.process import eventually, send

pytestmark = pytest.mark.deep

DISK = "160m"
LEFT_BYTES = 1_500_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of memory."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("a full disk needs `mount`, which is not installed")
    if done.returncode:
        pytest.skip(
            f"a full disk needs a small file system, and mounting is not allowed: {done.stderr.strip()}"
        )
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("step", ["", "before-fence", "after-produce", "after-ledger"])
def test_a_full_disk_at_the_destination_is_waited_for(
    source: EmbeddedCluster, small_disk: Path, tmp_path: Path, step: str
) -> None:
    """Its broker ends. When there is room again, and somebody has started it, everything arrives.

    Little room is left to a mirror that goes on carrying; none to one that stands at a step.
    """
    aim = Aim(step, tmp_path / "flag") if step else None
    keys = {"shards": 1, **aim.keys} if aim else {}
    with EmbeddedCluster.start("small", directory=small_disk / "cluster") as destination:
        mirror = CausewayMirror(tmp_path, source, destination, **keys)
        with Day(tmp_path, source, destination, mirror, {"t": 2, "u": 1}) as day:
            (broker,) = destination.brokers
            if aim:
                aim.start(day)
                standing = aim.taken(day, mirror)
            else:
                day.start()
                standing = []
            ballast = small_disk / "ballast"
            with day.fault(f"the destination's disk is full, {step or 'carrying'}"):
                room = os.statvfs(small_disk)
                with ballast.open("wb") as file:
                    taken = room.f_bavail * room.f_frsize - (0 if aim else LEFT_BYTES)
                    os.posix_fallocate(file.fileno(), 0, taken)
                send(signal.SIGCONT, standing)
                day.until(lambda: not broker.is_up, "the broker ends for lack of room", 120)
                said = len(mirror.output)
                day.until(lambda: "waiting for an answer" in mirror.output[said:], "it says that it waits")
                ballast.unlink()
                broker.start()
            day.recovered()
            assert len(mirror.runs) == 1
            day.end()


@pytest.mark.parametrize("when", ["running", "away"])
@pytest.mark.parametrize("side", ["source", "destination"])
def test_a_quota_makes_it_slow_and_costs_nothing_else(
    source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path, side: Side, when: str
) -> None:
    """A backlog of many seconds behind a quota, also for one that starts: no transaction fails for ever."""
    mirror = CausewayMirror(tmp_path, source, destination)
    clusters = {"source": source, "destination": destination}
    with Day(tmp_path, source, destination, mirror, {"t": 2, "u": 1}, largest=400_000) as day:
        harm = Harm(day, mirror)
        day.start()
        harm.all_carried()
        with day.fault(f"a quota of the {side}, {when}", crash=when == "away"), quota(clusters[side], side):
            with harm.meanwhile(when):
                producer = Producer({"bootstrap.servers": day.servers["source"]})
                for n in range(40):
                    harm.send("t", n % 2, 100_000, producer=producer)
                day.write(day.topics)
                eventually(lambda: day.unseen.count() > 40, "records pile up")
            before = day.unseen.seen
            day.until(lambda: day.unseen.seen > before + 300, "it goes on, slowly", 120)
        day.recovered(120)
        assert not mirror.ledger().stopped
        day.end()
