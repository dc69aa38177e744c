"""docs/python.md: its examples, in one program, in the order of the page.

The example with a session of its own runs on real Spark, the others on the tests' executor.
"""

from __future__ import annotations

import re
from pathlib import Path

from api.conftest import Program, ended
from support.records import Rec, read_all
from support.world import World, now_ms

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text()


def test_the_examples_run(world: World, program: Program, tmp_path: Path) -> None:
    topic, taken_over = world.topic("orders", 2), world.topic("payments")
    world.produce(topic, world.numbers(100, 2))
    records = [(0, Rec(f"{n}".encode(), b"value", (), now_ms())) for n in range(30)]
    world.topic("payments", on="destination")
    world.produce(taken_over, records)
    world.produce(taken_over, records[:20], on="destination")

    def adapted(text: str) -> str:
        """The page's addresses and names, as they are here."""
        for theirs, ours in (
            ("paris-1:9092", world.servers["source"]),
            ("tokyo-1:9092", world.servers["destination"]),
            ('topics = ["orders"]', f'topics = ["{topic}"]'),
            ('name = "orders"', f'name = "{world.mirror}"'),
            ('"orders"', f'"{world.mirror}"'),
            ("mirrors.orders.", f"mirrors.{world.mirror}."),
        ):
            text = text.replace(theirs, ours)
        return text

    (config,) = re.findall(r'text = """(.*?)"""', PAGE, re.DOTALL)
    (tmp_path / "mirror.toml").write_text(adapted(config))
    takeover = config.replace('["orders"]', f'["{taken_over}"]').replace('"orders"', f'"{world.mirror}-2"')
    (tmp_path / "takeover.toml").write_text(adapted(takeover))
    examples = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(examples) > 8

    output = ended(program(adapted("\n".join(examples))))

    assert "100 records" in output
    assert "caught up" in output
    assert f"{topic} 100 100 True" in output
    assert f"{taken_over} 0 20" in output
    assert "the configuration cannot be read" in output
    there = read_all(world.servers["destination"], topic)
    assert sum(map(len, there.values())) == 100
