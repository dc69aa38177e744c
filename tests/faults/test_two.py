"""One instance makes progress: always the newest, whatever the older ones believe."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.conftest import NewScenario
from faults.mirrors import failing
from faults.processes import held

deep = pytest.mark.deep


def test_the_older_of_two_ends_and_one_that_stood_still_never_writes_again(new_scenario: NewScenario) -> None:
    scenario, mirror = new_scenario()
    with scenario:
        scenario.start()
        older = mirror.run
        with scenario.fault("a second instance starts", crash=True):
            newer = mirror.start()
            assert older.wait() == 8, older.output
        assert "a newer instance" in older.output
        assert "Traceback" not in older.output
        scenario.recovered()
        with scenario.fault("an instance is suspended and replaced", crash=True):
            with held(newer.family()):
                mirror.start()
                scenario.advances()
            assert newer.wait() == 8, newer.output
        assert "Traceback" not in newer.output
        scenario.recovered()
        scenario.end("I13")


@deep
@pytest.mark.parametrize("point", ["after-produce", "after-flush", "after-ledger", "after-commit"])
def test_an_instance_that_stood_still_inside_a_transaction_cannot_end_it(
    new_scenario: NewScenario, tmp_path: Path, point: str
) -> None:
    scenario, mirror = new_scenario(
        env=failing(point, 30, "stop", flag := tmp_path / "flag"), max_transaction_records=200
    )
    with scenario:
        scenario.start()
        older = mirror.run
        with scenario.fault(f"an instance is suspended {point} and replaced", crash=True):
            scenario.until(flag.exists, "a worker is suspended")
            with held(older.family()):
                mirror.start()
                scenario.advances()
            assert older.wait() == 8, older.output
        scenario.recovered()
        scenario.end("I13")


@deep
@pytest.mark.parametrize("shards", [1, 3])
def test_an_older_instance_that_keeps_trying_cannot_disturb_another_sharding(
    new_scenario: NewScenario, shards: int
) -> None:
    """Its tasks fence back, read the newer lease, and end without having written anything."""
    scenario, mirror = new_scenario({"t": 4})
    with scenario:
        scenario.start()
        older = mirror.run
        with scenario.fault("the sharding changes under an instance whose workers are suspended", crash=True):
            with held(older.workers()):
                newer = mirror.start(shards=shards)
                newer.until(
                    lambda: (found := mirror.ledger().generation) and found.shards == shards,
                    "the sharding changed",
                )
            assert older.wait() == 8, older.output
        scenario.recovered()
        scenario.end("I13")
