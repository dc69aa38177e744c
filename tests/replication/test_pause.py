"""A pause holds over restarts, is taken back by word alone, and costs no record; on real brokers."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from causeway.config import load
from causeway.errors import IntegrityError, PlanRefused
from causeway.kafka.ledger_access import who
from causeway.local_kafka.ports import free_ports
from causeway.operations.pause import write_pause
from support.process import Causeway
from support.typed import causeway
from support.world import World

TOKEN = "a-token-of-the-tests"


def state(config: Path, url: str) -> tuple[Any, Any]:
    """What `causeway status` says of the only mirror: its state and its lag; nothing while nobody answers."""
    ended = causeway("status", config, "--url", url, "-o", "json")
    mirrors = json.loads(ended.stdout)["mirrors"] if ended.returncode in (0, 6) else []
    return (mirrors[0]["state"], mirrors[0]["lag_records"]) if mirrors else (None, None)


def serving(*more: str) -> tuple[str, list[str]]:
    """A place to serve at, and the arguments that say so."""
    [port] = free_ports(1)
    return f"http://127.0.0.1:{port}", ["-X", f"web.port={port}", *more]


def carries(world: World, run: Causeway, topic: str, count: int) -> None:
    run.until(lambda: world.carried() == count, f"{count} records are carried")
    assert sum(map(len, world.read(topic).values())) == count


@pytest.mark.spark
def test_a_pause_in_the_ledger_holds_over_a_restart_until_it_is_taken_back(world: World) -> None:
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(1_000, 2))
    config = world.config()
    run = world.run(config)
    carries(world, run, topic, 1_000)
    assert run.stop() == 0, run.output
    url, served = serving()

    said = causeway("pause", config, "--url", url)
    assert said.returncode == 0, said.stderr
    assert "does not run; it is paused" in said.stdout
    paused = world.ledger().paused
    assert paused is not None
    assert paused.by == who()
    again = causeway("pause", config, "--url", url)
    assert (again.returncode, f"is already paused by {who()} since " in again.stdout) == (0, True), again
    assert world.ledger().paused == paused, "the second one wrote nothing"

    world.produce(topic, world.numbers(1_000, 2, 1_000))
    ended = world.run(config, "--stop-at-end")
    assert (ended.wait(), f"is paused by {who()} since " in ended.output) == (2, True), ended.output
    run = world.run(config, *served)
    run.until(lambda: state(config, url) == ("paused", 1_000), "it is paused, and sees what waits")
    assert (run.alive, world.carried()) == (True, 1_000), run.output
    assert run.stop() == 0, run.output

    said = causeway("resume", config, "--url", url)
    assert said.returncode == 0, said.stderr
    assert f"start it with `causeway run {config}`" in said.stdout
    again = causeway("resume", config, "--url", url)
    assert (again.returncode, "is not paused" in again.stdout) == (0, True), again
    run = world.run(config, *served)
    carries(world, run, topic, 2_000)
    assert state(config, url)[0] == "running"
    assert run.stop() == 0, run.output
    world.assert_mirrored(topic)


def test_a_running_mirror_is_paused_and_goes_on_over_its_api(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAUSEWAY__WEB__TOKEN", TOKEN)
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(1_000, 2))
    config = world.config()
    url, served = serving()
    run = world.run(config, *served)
    carries(world, run, topic, 1_000)

    said = causeway("pause", config, "--url", url)
    assert (said.returncode, "resume it with" in said.stdout) == (0, True), said
    world.produce(topic, world.numbers(1_000, 2, 1_000))
    run.until(lambda: state(config, url) == ("paused", 1_000), "it sees what waits")
    assert world.carried() == 1_000
    said = causeway("resume", config, "--url", url)
    assert said.returncode == 0, said
    carries(world, run, topic, 2_000)
    assert run.stop() == 0, run.output
    world.assert_mirrored(topic)


def test_beside_a_running_mirror_nothing_is_written(world: World) -> None:
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(100))
    config = world.config()
    run = world.run(config)
    carries(world, run, topic, 100)
    settings = load(config, [])

    with pytest.raises(IntegrityError) as error:
        write_pause(settings, settings.mirrors[0], who(), "no response")

    assert "the mirror is running on " + socket.gethostname() in error.value.what
    assert f"(process {run.process.pid})" in error.value.what
    assert (error.value.why, "--url" in error.value.todo) == ("no response", True)
    assert run.alive
    assert world.ledger().paused is None
    assert write_pause(settings, settings.mirrors[0], "", "").unchanged, (
        "what is so already is no reason to refuse"
    )
    world.produce(topic, world.numbers(100, 1, 100))
    carries(world, run, topic, 200)
    assert run.stop() == 0, run.output


def test_what_never_ran_cannot_be_paused(world: World) -> None:
    settings = load(world.config(), [])
    with pytest.raises(PlanRefused) as error:
        write_pause(settings, settings.mirrors[0], who(), "")
    assert "has no ledger to write this to" in error.value.what
    said = causeway("pause", world.config(), "--url", serving()[0])
    assert (said.returncode, "has no ledger to write this to" in said.stderr) == (3, True), said
    assert said.stdout == ""
