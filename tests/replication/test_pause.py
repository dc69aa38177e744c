"""A pause holds across restarts until it is resumed, and loses no record; on real brokers."""

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
from support.process import Causeway, without_spark
from support.typed import causeway
from support.world import World

TOKEN = "a-token-of-the-tests"


def state(config: Path, url: str) -> tuple[Any, Any]:
    """The only mirror's state and lag in `causeway status`; None while it does not respond."""
    ended = causeway("status", config, "--url", url, "-o", "json")
    mirrors = json.loads(ended.stdout)["mirrors"] if ended.returncode in (0, 6) else []
    return (mirrors[0]["state"], mirrors[0]["lag_records"]) if mirrors else (None, None)


def serving(*more: str) -> tuple[str, list[str]]:
    """An address to serve at, and the arguments for it."""
    [port] = free_ports(1)
    return f"http://127.0.0.1:{port}", ["-X", f"web.port={port}", *more]


def replicates(world: World, run: Causeway, topic: str, count: int) -> None:
    run.until(lambda: world.carried() == count, f"{count} records are replicated")
    assert sum(map(len, world.read(topic).values())) == count


@pytest.mark.spark
def test_a_pause_in_the_ledger_holds_across_a_restart_until_it_is_resumed(world: World) -> None:
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(1_000, 2))
    config = world.config()
    with without_spark():
        run = world.run(config)
    replicates(world, run, topic, 1_000)
    assert run.stop() == 0, run.output
    url, served = serving()

    result = causeway("pause", config, "--url", url)
    assert result.returncode == 0, result.stderr
    assert "does not run; it is paused" in result.stdout
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

    result = causeway("resume", config, "--url", url)
    assert result.returncode == 0, result.stderr
    assert f"start it with `causeway run {config}`" in result.stdout
    again = causeway("resume", config, "--url", url)
    assert (again.returncode, "is not paused" in again.stdout) == (0, True), again
    run = world.run(config, *served)
    replicates(world, run, topic, 2_000)
    run.until(lambda: state(config, url)[0] == "running", "its shards have reported")
    assert run.stop() == 0, run.output
    world.assert_mirrored(topic)


def test_a_running_mirror_is_paused_and_resumed_through_its_api(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAUSEWAY__WEB__TOKEN", TOKEN)
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(1_000, 2))
    config = world.config()
    url, served = serving()
    run = world.run(config, *served)
    replicates(world, run, topic, 1_000)

    result = causeway("pause", config, "--url", url)
    assert (result.returncode, "resume it with" in result.stdout) == (0, True), result
    world.produce(topic, world.numbers(1_000, 2, 1_000))
    run.until(lambda: state(config, url) == ("paused", 1_000), "it sees what waits")
    assert world.carried() == 1_000
    result = causeway("resume", config, "--url", url)
    assert result.returncode == 0, result
    replicates(world, run, topic, 2_000)
    assert run.stop() == 0, run.output
    world.assert_mirrored(topic)


def test_no_request_is_written_to_the_ledger_of_a_running_mirror(world: World) -> None:
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(100))
    config = world.config()
    run = world.run(config)
    replicates(world, run, topic, 100)
    settings = load(config, [])

    with pytest.raises(IntegrityError) as error:
        write_pause(settings, settings.mirrors[0], who(), "no response")

    assert "the mirror is running on " + socket.gethostname() in error.value.what
    assert f"(process {run.process.pid})" in error.value.what
    assert (error.value.why, "--url" in error.value.todo) == ("no response", True)
    assert run.alive
    assert world.ledger().paused is None
    assert write_pause(settings, settings.mirrors[0], "", "").unchanged, (
        "a request without effect is not refused"
    )
    world.produce(topic, world.numbers(100, 1, 100))
    replicates(world, run, topic, 200)
    assert run.stop() == 0, run.output


def test_a_mirror_that_never_ran_cannot_be_paused(world: World) -> None:
    settings = load(world.config(), [])
    with pytest.raises(PlanRefused) as error:
        write_pause(settings, settings.mirrors[0], who(), "")
    assert "has no ledger to write this to" in error.value.what
    result = causeway("pause", world.config(), "--url", serving()[0])
    assert (result.returncode, "has no ledger to write this to" in result.stderr) == (3, True), result
    assert result.stdout == ""
