"""A mirror that alters records is detected: `verify` reads both sides itself and names the offsets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.process import Causeway
from support.world import World

SABOTEUR = Path(__file__).parents[1] / "support" / "sabotage"


@pytest.mark.parametrize(
    ("kind", "at", "difference"),
    [
        ("drop", 500, "missing"),
        pytest.param("repeat", 999, "duplicated", marks=pytest.mark.long),
        pytest.param("swap", 500, "out_of_order", marks=pytest.mark.long),
        pytest.param("change", 500, "changed", marks=pytest.mark.long),
    ],
)
def test_verify_finds_a_sabotaged_record(
    world: World, tmp_path: Path, kind: str, at: int, difference: str
) -> None:
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(2_000, 2))
    config = world.config(carrier="object")  # the saboteur works on objects; verify reads both sides itself
    world.carry_all(config, env={"SABOTAGE": f"{kind}:{at}", "PYTHONPATH": str(SABOTEUR)})

    verify = Causeway("verify", config, "-o", "json", log=tmp_path / "verify.log")

    assert verify.wait() == 9, verify.output
    report = json.loads(next(line for line in verify.output.splitlines() if line.startswith("{")))
    (mirror,) = report["mirrors"]
    counts = mirror["counts"]
    assert counts[difference] == 1, report
    assert sum(counts[other] for other in ("missing", "duplicated", "out_of_order", "changed")) == 1
    (partition,) = [row for row in mirror["partitions"] if row["partition"] == 0]
    (first,) = partition["first"][difference]
    if kind == "swap":
        at = _first_out_of_place(world, topic)
    assert first["source"] in (at, at + 1), first


def _first_out_of_place(world: World, topic: str) -> int:
    pairs = zip(world.read(topic, on="source")[0], world.read(topic)[0], strict=True)
    return next(offset for offset, (ours, theirs) in enumerate(pairs) if ours.value != theirs.value)


def test_verify_finds_nothing_in_a_correct_mirror(world: World, tmp_path: Path) -> None:
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(2_000, 2))
    config = world.config()
    world.carry_all(config)
    verify = Causeway("verify", config, log=tmp_path / "verify.log")
    assert verify.wait() == 0, verify.output
