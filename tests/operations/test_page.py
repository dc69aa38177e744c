"""A gap from beginning to end: the commands of docs/offsets.md, typed as they are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from support.terminal import in_terminal
from support.world import World

PAGE = (Path(__file__).parents[2] / "docs" / "offsets.md").read_text()


def commands(world: World, config: Path, topic: str) -> list[list[str]]:
    (block,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    words = {"mirror.toml": str(config), "orders": topic}
    lines = [shlex.split(line.split("#")[0]) for line in block.splitlines()]
    return [[words.get(word, word) for word in line[1:]] for line in lines]


def typed(arguments: list[str], answer: bytes = b"", shards: dict[str, str] | None = None) -> tuple[int, str]:
    return in_terminal(*arguments, answer=answer, columns=250, env=shards)


def test_an_operator_inspects_a_gap_and_skips_it(world: World) -> None:
    """Also with another number of shards; the gap is kept."""
    topic = world.topic("orders", 2)
    world.produce(topic, world.numbers(100, 2))
    config = world.config()
    run, show, skip, again, verify, last = commands(world, config, topic)
    world.carry_all(config)
    world.produce(topic, world.numbers(100, 2, 100))
    world.delete_records(topic, 1, 70)

    code, output = typed(run)
    assert code == 6, output
    assert "20 offsets were deleted before they were replicated" in output
    code, output = typed(show)
    assert code == 0, output
    assert f"{topic}[1]: stopped (gap) since " in output
    assert re.search(rf"{re.escape(topic)}\[1\] +src +0 +50 +70 +100 +50 +50 +0 +0 +0 +0 +", output), output
    code, output = typed(skip, b"n\n")
    assert (code, "nothing was written" in output) == (2, True), output
    assert not world.ledger().gaps

    code, output = typed(skip, b"y\n")

    assert code == 0, output
    assert f"{topic}[1] moves from offset 50 to 70: skips offsets 50 to 69 (20)" in output
    assert "by " in output.partition("written to the ledger: ")[2]
    assert f"continue with: causeway run {config}" in output
    before = world.ledger().generation
    assert before is not None
    other = {f"CAUSEWAY__MIRRORS__{world.mirror.upper()}__SHARDS": str(3 - before.shards)}
    code, output = typed(again, shards=other)
    assert code == 0, output
    after = world.ledger().generation
    assert after is not None
    assert after.number > before.number
    records = world.read(topic)
    assert [len(records[0]), len(records[1])] == [100, 80]
    code, output = typed(verify)
    assert code == 0, output
    assert "skipped offsets 50 to 69 (20)" in output
    assert "retention was two days" in output
    code, output = typed(last)
    assert code == 0, output
    assert re.search(rf"{re.escape(topic)}\[1\]: gap \(gap\): skipped offsets 50 to 69 \(20\)", output), (
        output
    )
    assert "stopped" not in output
