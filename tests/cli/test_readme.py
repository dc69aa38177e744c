"""The README's configuration and commands, typed as they stand there."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

from support.process import Causeway
from support.records import read_all
from support.world import World

README = (Path(__file__).parents[2] / "README.md").read_text()


def commands() -> list[list[str]]:
    """Every `causeway` line of the README's console blocks, without its comment."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("causeway ")]


def test_the_readme_is_true(world: World, tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    orders, payments = world.topic("orders"), world.topic("payments.eu")
    for name in (orders, payments):
        world.produce(name, world.numbers(100))
    text = text.replace("paris-1:9092,paris-2:9092", world.servers["source"])
    text = text.replace("tokyo-1:9092", world.servers["destination"])
    text = text.replace('"orders"', f'"{orders}"').replace('"payments', f'"{world.mirror}.payments')
    config = tmp_path / "mirror.toml"
    config.write_text(text)
    typed = commands()
    assert [arguments[0] for arguments in typed] == ["check", "run", "run", "verify"]

    for number, arguments in enumerate(typed):
        arguments = [str(config) if word == "mirror.toml" else word for word in arguments]
        process = Causeway(*arguments, log=tmp_path / f"{number}.log")
        if arguments[0] == "run" and "--stop-at-end" not in arguments:
            process.until(partial(_says, process, "records/s"), "it runs")
            assert process.stop() == 0, process.output
        else:
            assert process.wait() == 0, process.output

    assert len(read_all(world.servers["destination"], orders)[0]) == 100
    assert len(read_all(world.servers["destination"], payments)[0]) == 100


def _says(process: Causeway, text: str) -> bool:
    return text in process.output
