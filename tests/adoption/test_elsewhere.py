"""Takeover if the old tool put records elsewhere, or committed offsets before it wrote them.

Exactly the reported records are duplicated or lost.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from support.old_tool import (
    OldTool,
    adopt,
    assert_taken_over,
    begins,
    by_murmur2,
    copied_topic,
    fill,
    twice_and_lost,
)
from support.records import Rec
from support.verifying import run_verify
from support.world import World, now_ms


def into_zero(_number: int, _rec: Rec) -> int:
    """As kaf-relay 1.4.0 places records."""
    return 0


def adopt_with_the_advised_window(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    refused = adopt(config, *arguments)
    if refused.returncode == 0:
        return refused
    (window,) = re.findall(r"search further: --window (\d+);", refused.stderr)
    return adopt(config, *arguments, "--window", window)


def test_records_are_found_wherever_the_old_tool_put_them(world: World) -> None:
    """All in partition 0, one source partition after the other and alternating; a map that the tool ignored;
    a torn copy, both ways; a source partition that was committed, and never written.
    """
    topics = [world.topic(name, n) for name, n in (("rows", 3), ("turns", 3), ("mapped", 2), ("reo", 2))]
    rows, turns, mapped, reo = topics
    for name, partitions in (("rows", 3), ("turns", 3), ("mapped", 3), ("reo-out", 3)):
        world.topic(name, partitions, on="destination")
    for topic, partitions in ((rows, 3), (turns, 3), (mapped, 2), (reo, 2)):
        fill(world, topic, partitions, nulls=topic != reo)
    for upto in ([0, 190, 0], [0, 0, 222], [251, 0, 0]):
        OldTool(world, rows, rows).copy(upto, into_zero)
    OldTool(world, turns, turns).copy([100, 0, 140], into_zero)
    OldTool(world, mapped, mapped).copy([120, 33], lambda number, _: number)
    old = OldTool(world, reo, f"{reo}-out")
    old.copy([150, 0], by_murmur2(3), transactions=True)
    old.commit(f"{reo}-group", [200, 300])
    torn = {}
    for name in ("repeated", "lost"):
        torn[name], old = copied_topic(world, name, [150])
        world.produce(
            torn[name],
            [(0, Rec(rec.key, rec.value, (), now_ms())) for rec in old.records[0][153:160]],
            on="destination",
        )
    config = world.mirrors(
        {"topics": [rows]},
        {"topics": [turns]},
        {"topics": [mapped], "partition_map": {mapped: [{"src": 0, "dest": 1}, {"src": 1, "dest": 2}]}},
        {"topics": [reo], "suffix": "-out", "partitions": "by-key", "source_group_name": f"{reo}-group"},
        {"topics": [torn["repeated"]]},
        {"topics": [torn["lost"]]},
    )
    names = [world.mirror, *(f"{world.mirror}-{n}" for n in range(1, 6))]
    ends = ("--from", "destination-end", "--yes", "--mirror")

    # Only records of the partition that was written last are within the window.
    refused = adopt(config, *ends, names[0])
    assert refused.returncode == 6, refused.stdout
    assert (
        f"{rows}[1]: the destination has 120 records of it, before the records that were compared"
        in refused.stderr
    )
    for arguments in (
        *((*ends, name) for name in names[:3]),
        ("--from", "group", "--yes", "--mirror", names[3]),
    ):
        done = adopt_with_the_advised_window(config, *arguments)
        assert done.returncode == 0, done.stderr
        assert "accepted: duplicates" not in done.stdout
        assert "accepted: loses" not in done.stdout
    assert [begins(world, name) for name in names[:4]] == [
        {(rows, 0): 251, (rows, 1): 190, (rows, 2): 222},
        {(turns, 0): 100, (turns, 1): 0, (turns, 2): 140},
        {(mapped, 0): 120, (mapped, 1): 33},
        {(reo, 0): 150, (reo, 1): 0},
    ]
    done = adopt(config, *ends, names[4], "--accept", "repeat")
    assert "accepted: duplicates 7 records of 1 partition" in done.stdout, done.stderr
    done = adopt(config, *ends, names[5], "--accept", "lose")
    assert "accepted: loses 3 records of 1 partition" in done.stdout, done.stderr

    world.carry_all(config)
    for topic in (rows, turns, mapped):
        assert_taken_over(world, topic, topic)
    assert_taken_over(world, reo, f"{reo}-out")
    assert twice_and_lost(world, torn["repeated"], torn["repeated"]) == (7, 0)
    assert twice_and_lost(world, torn["lost"], torn["lost"]) == (0, 3)
    verified = run_verify(config)
    assert verified.exit_code == 0, verified.stdout + verified.stderr
