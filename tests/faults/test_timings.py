"""Timings after crashes: what they count is what the ledger counts, and no transaction is in them twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from causeway.core.choices import CarrierChoice
from causeway.core.position import SourcePartition
from faults.conftest import NewScenario
from faults.mirrors import failing
from support.process import eventually
from support.records import read_all


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("carrier", ["native", "object"])
@pytest.mark.parametrize("point", ["after-ledger", "after-commit"])
def test_timings_count_what_the_ledger_counts_whatever_dies(
    new_scenario: NewScenario, tmp_path: Path, point: str, carrier: CarrierChoice
) -> None:
    flag = tmp_path / "flag"
    scenario, mirror = new_scenario(
        env=failing(point, 30, "kill", flag), max_transaction_records=200, carrier=carrier, timings="topic"
    )
    with scenario:
        scenario.start()
        with scenario.fault(f"a worker dies {point}", crash=True):
            eventually(flag.exists, "a worker is killed")
        scenario.recovered()
        with scenario.fault("the whole tree is killed", crash=True):
            mirror.kill()
        mirror.start()
        scenario.recovered()
        scenario.end()
        positions = mirror.ledger().positions
        reached = dict.fromkeys(positions, -1)
        counted = dict.fromkeys(positions, 0)
        for topic in {position.place.topic for position in positions.values()}:
            (records,) = read_all(mirror.servers["dst"], f"timings_{topic}").values()
            for value in (json.loads(rec.value or b"") for rec in records):
                source = SourcePartition(value["cluster"], value["topic"], value["partition"])
                first, last = value["offsets"]
                assert reached[source] < first <= last, f"{source}: timings of an aborted transaction"
                assert value["count"] <= last - first + 1
                assert value["fetched"] <= value["committed"]
                reached[source] = last
                counted[source] += value["count"]
        delivered = {source: position.tally.delivered for source, position in positions.items()}
        assert counted == delivered
        assert sum(delivered.values()) > 0
