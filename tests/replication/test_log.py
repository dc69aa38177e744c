"""The log of a mirror without a terminal: one JSON object per line, and no traceback for known errors."""

from __future__ import annotations

import json

from support.world import World


def test_every_line_is_an_object_and_a_gap_has_its_offsets(world: World) -> None:
    topic, config = world.with_a_gap()

    run = world.run(config, "--stop-at-end", env={"CAUSEWAY__LOG__FORMAT": "auto"})
    assert run.wait() == 6

    logged = [json.loads(line) for line in run.output.splitlines()]
    assert all({"at", "level", "what"} <= line.keys() for line in logged)
    [gap] = [line for line in logged if line.get("offset") is not None]
    assert (gap["level"], gap["mirror"], gap["topic"], gap["partition"], gap["offset"]) == (
        "error", world.mirror, topic, 1, 50,
    )  # fmt: skip
    assert (gap["expected"], gap["found"], gap["gone"]) == (50, 70, 20)
    assert "offsets skip" in gap["todo"]
    assert (logged[-1]["level"], logged[-1]["exit_code"]) == ("error", 6)
    assert [line["records"] for line in logged if line["what"] == "progress"][-1] == 150
