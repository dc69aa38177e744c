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
from faults.data_faults import DataFaults
from faults.events import Side
from faults.mirrors import CausewayMirror
from faults.scenario import Scenario
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
    """Its broker ends. When there is room again, and it was started, everything arrives.

    A running mirror has little room left; one that is stopped at a step has none.
    """
    aim = Aim(step, tmp_path / "flag") if step else None
    keys = {"shards": 1, **aim.keys} if aim else {}
    with EmbeddedCluster.start("small", directory=small_disk / "cluster") as destination:
        mirror = CausewayMirror(tmp_path, source, destination, **keys)
        with Scenario(tmp_path, source, destination, mirror, {"t": 2, "u": 1}) as scenario:
            (broker,) = destination.brokers
            if aim:
                aim.start(scenario)
                standing = aim.taken(scenario, mirror)
            else:
                scenario.start()
                standing = []
            ballast = small_disk / "ballast"
            with scenario.fault(f"the destination's disk is full, {step or 'replicating'}"):
                room = os.statvfs(small_disk)
                with ballast.open("wb") as file:
                    taken = room.f_bavail * room.f_frsize - (0 if aim else LEFT_BYTES)
                    os.posix_fallocate(file.fileno(), 0, taken)
                send(signal.SIGCONT, standing)
                scenario.until(lambda: not broker.is_up, "the broker ends for lack of room", 120)
                said = len(mirror.output)
                scenario.until(
                    lambda: "waiting for a response" in mirror.output[said:], "it says that it waits"
                )
                ballast.unlink()
                broker.start()
            scenario.recovered()
            assert len(mirror.runs) == 1
            scenario.end()


@pytest.mark.parametrize("when", ["running", "down"])
@pytest.mark.parametrize("side", ["source", "destination"])
def test_a_quota_makes_it_slow_and_costs_nothing_else(
    source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path, side: Side, when: str
) -> None:
    """A backlog of many seconds under a quota, also for one that starts: no transaction fails for ever."""
    mirror = CausewayMirror(tmp_path, source, destination)
    clusters = {"source": source, "destination": destination}
    with Scenario(tmp_path, source, destination, mirror, {"t": 2, "u": 1}, largest=400_000) as scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        data_faults.all_replicated()
        with (
            scenario.fault(f"a quota of the {side}, {when}", crash=when == "down"),
            quota(clusters[side], side),
        ):
            with data_faults.while_mirror_is(when):
                producer = Producer({"bootstrap.servers": scenario.servers["source"], "log_level": 0})
                for n in range(40):
                    data_faults.send("t", n % 2, 100_000, producer=producer)
                scenario.write(scenario.topics)
                eventually(lambda: scenario.unseen.count() > 40, "records pile up")
            before = scenario.unseen.seen
            scenario.until(lambda: scenario.unseen.seen > before + 300, "it continues, slowly", 120)
        scenario.recovered(120)
        assert not mirror.ledger().stopped
        scenario.end()
