"""The README's quick start, configuration and commands, run as they are written there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from causeway.local_kafka import named_clusters
from causeway.local_kafka.ports import free_ports
from support.process import Causeway
from support.records import read_all
from support.world import World

README = (Path(__file__).parents[2] / "README.md").read_text()
QUICK_START_SECONDS = 240


def section(title: str) -> str:
    match = re.search(rf"^## {title}\n(.*?)(?=^## )", README, re.DOTALL | re.MULTILINE)
    assert match, f"the README has no section {title!r}"
    return match[1]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def pasted(script: str, directory: Path) -> str:
    """Run lines of a shell as a user pastes them, with this environment's `causeway` and `python`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e"],
        input=script,
        cwd=directory,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=QUICK_START_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.integration
def test_the_quick_start_can_be_pasted(tmp_path: Path) -> None:
    start, remove = blocks(section("Quick start"), "sh")
    for port, free in zip(("9092", "9192"), free_ports(2), strict=True):
        assert port in start
        start = start.replace(port, str(free))  # the usual ports may be taken on this machine
    try:
        output = pasted(start, tmp_path)
        servers = {cluster.name: cluster.bootstrap_servers for cluster in named_clusters.clusters()}
        copies = read_all(servers["tokyo"], "orders")
        assert copies == read_all(servers["paris"], "orders")
        assert sum(map(len, copies.values())) == 10_000
        assert "10,000" in output
        (program,) = blocks(section("From Python"), "python")
        pasted(f"python - <<'END'\n{program}END\n", tmp_path)
        pasted(remove, tmp_path)
        assert named_clusters.clusters() == []
        assert not (tmp_path / "causeway.toml").exists()
    finally:
        for cluster in named_clusters.clusters():
            cluster.destroy()


def commands() -> list[list[str]]:
    """Every `causeway` line of the README's console blocks, without its comment."""
    lines = [line.split("#")[0].strip() for block in blocks(README, "console") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("causeway ")]


def test_the_configuration_and_the_commands_work(world: World, tmp_path: Path) -> None:
    (text,) = blocks(README, "toml")
    orders, payments = world.topic("orders"), world.topic("payments.eu")
    for name in (orders, payments):
        world.produce(name, world.numbers(100))
    text = text.replace("paris-1:9092,paris-2:9092", world.servers["source"])
    text = text.replace("tokyo-1:9092", world.servers["destination"])
    text = text.replace('"orders"', f'"{orders}"').replace('"payments', f'"{world.mirror}.payments')
    config = tmp_path / "mirror.toml"
    config.write_text(text)
    typed = commands()
    assert [arguments[0] for arguments in typed] == ["check", "run", "verify"]

    for number, arguments in enumerate(typed):
        arguments = [str(config) if word == "mirror.toml" else word for word in arguments]
        process = Causeway(*arguments, log=tmp_path / f"{number}.log")
        if arguments[0] == "run":
            process.until(partial(_printed, process, " 200 records, "), "everything is replicated")
            assert process.stop() == 0, process.output
        else:
            assert process.wait() == 0, process.output

    assert len(read_all(world.servers["destination"], orders)[0]) == 100
    assert len(read_all(world.servers["destination"], payments)[0]) == 100


def _printed(process: Causeway, text: str) -> bool:
    return text in process.output
