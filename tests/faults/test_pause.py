"""Processes that are suspended for longer than the transaction timeout, and then continue."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from faults.conftest import NewScenario
from faults.mirrors import failing
from faults.processes import held, is_held
from support.process import eventually, send

deep = pytest.mark.deep
TRANSACTION_MS = 6_000
"""Longer than a transaction may take by the settings of these mirrors."""
STEPS = ["after-produce", "after-flush", "after-ledger"]
"""Steps at which a transaction is open, and hides its records until it ends."""
SLICE = {"before-fence": ("2s", 3, "not all shards ended")}
"""Each slice comes there once; the other shard's end tells first."""


@pytest.mark.parametrize(
    "point",
    [pytest.param(point, marks=() if point == "after-flush" else deep) for point in [*STEPS, "before-fence"]],
)
def test_a_worker_that_stands_still_is_noticed_and_replaced(
    new_scenario: NewScenario, tmp_path: Path, point: str
) -> None:
    """Only its missing heartbeat shows it. When it continues, it is fenced."""
    flag = tmp_path / "flag"
    slice, hit, said = SLICE.get(point, ("5m", 30, "no heartbeat from shard"))
    scenario, mirror = new_scenario(
        env=failing(point, hit, "stop", flag), max_transaction_records=200, slice=slice
    )
    with scenario:
        scenario.start()
        with scenario.fault(f"a worker is suspended {point}", crash=True):
            scenario.until(lambda: any(map(is_held, mirror.run.workers())), "a worker is suspended")
            zombies = [pid for pid in mirror.run.workers() if is_held(pid)]
            scenario.until(lambda: said in mirror.output, "it is missed, and that is said", 90)
            # Records sent meanwhile: those that the worker holds may be acknowledged only later.
            missed = scenario.journal.now()
            scenario.until(
                lambda: scenario.unseen.newest() > missed and not scenario.unseen.count(missed),
                "it is replaced",
            )
            send(signal.SIGCONT, zombies)
            eventually(lambda: not set(zombies) & set(mirror.run.workers()), "the zombie has ended", 30)
        scenario.recovered()
        assert len(mirror.runs) == 1
        scenario.end()


@deep
@pytest.mark.parametrize("point", STEPS)
def test_everything_stands_still_until_the_broker_has_given_up_the_transaction(
    new_scenario: NewScenario, tmp_path: Path, point: str
) -> None:
    """As a machine that slept: every shard is fenced by the broker, and starts again by itself."""
    flag = tmp_path / "flag"
    scenario, mirror = new_scenario(env=failing(point, 30, "stop", flag), max_transaction_records=200)
    with scenario:
        scenario.start()
        with scenario.fault(f"everything is suspended {point}", crash=True):
            scenario.until(flag.exists, "a worker is suspended")
            with held(mirror.run.family()):
                stood = scenario.journal.now()
                eventually(
                    lambda: scenario.journal.now() > stood + TRANSACTION_MS and not scenario.held_back(),
                    "the broker has ended what was open",
                )
        scenario.recovered()
        assert len(mirror.runs) == 1
        scenario.end()


@deep
@pytest.mark.parametrize("slice_seconds", [3, 300])
def test_a_driver_stands_still(new_scenario: NewScenario, slice_seconds: int) -> None:
    """Its workers continue to the end of their slice, and wait for it there."""
    scenario, mirror = new_scenario(slice=f"{slice_seconds}s")
    with scenario:
        scenario.start()
        with scenario.fault("the driver is suspended"), held([mirror.run.process.pid]):
            stood = scenario.journal.now()
            if slice_seconds > 60:
                scenario.advances()
            eventually(
                lambda: scenario.journal.now() > stood + TRANSACTION_MS, "a transaction would have ended"
            )
        scenario.recovered()
        assert len(mirror.runs) == 1
        scenario.end()
