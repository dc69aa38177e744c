"""`causeway kafka start|stop|list`, each as a process of its own, as a user would run them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from causeway.errors import SetupError, UsageError
from causeway.local_kafka import named_clusters

CAUSEWAY = Path(sys.executable).with_name("causeway")


def kafka(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(CAUSEWAY), "kafka", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def succeed(*arguments: str) -> str:
    done = kafka(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed() -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(succeed("list", "-o", "json"))}


@pytest.fixture(autouse=True)
def nothing_left_running(state_directory: Path) -> Iterator[None]:
    yield
    for cluster in named_clusters.clusters():
        cluster.destroy()


@pytest.mark.integration
def test_the_life_of_named_clusters(state_directory: Path) -> None:
    # Started clusters go on after the command that started them.
    assert "first runs: 127.0.0.1:" in succeed("start", "--name", "first")
    succeed("start", "--name", "second", "--version", "4.3.1", "--brokers", "1")
    started = listed()
    first, second = started["first"], started["second"]
    assert (first["brokers_up"], second["brokers_up"]) == (1, 1)
    assert first["directory"] == str(state_directory / "kafka" / "first")
    named_clusters.clusters()[0].wait_ready(30)

    # Stopping one ends its brokers and no others.
    assert "first stopped" in succeed("stop", "first")
    assert {name: one["brokers_up"] for name, one in listed().items()} == {"first": 0, "second": 1}
    assert "first was not running" in succeed("stop", "first")

    # A running one is not started twice, a stopped one comes back where it was, as it was.
    again = kafka("start", "--name", "second")
    assert again.returncode == UsageError.exit_code
    assert "is already running" in again.stderr
    assert second["bootstrap_servers"] in again.stderr
    other = kafka("start", "--name", "first", "--brokers", "3")
    assert other.returncode == UsageError.exit_code
    assert "exists with --brokers 1" in other.stderr
    succeed("start", "--name", "first")
    row = next(line for line in succeed("list").splitlines() if line.startswith("first "))
    assert row.split() == [
        "first", "4.3.1", first["bootstrap_servers"], "1/1", "PLAINTEXT", "-", first["directory"]
    ]  # fmt: skip

    # A registry can join a running cluster; it stops, comes back and goes with the cluster.
    said = succeed("start", "--name", "first", "--registry")
    url = listed()["first"]["schema_registry"]
    assert f"schema registry: {url}" in said
    assert url in succeed("list")
    again = kafka("start", "--name", "first", "--registry")
    assert "is already running" in again.stderr
    succeed("stop", "first")
    assert listed()["first"] == first | {
        "brokers_up": 0, "schema_registry": url, "schema_registry_up": False
    }  # fmt: skip
    succeed("start", "--name", "first")
    assert listed()["first"]["schema_registry_up"]
    (joined,) = [cluster.registry for cluster in named_clusters.clusters() if cluster.registry is not None]

    assert "first deleted" in succeed("stop", "first", "--delete")
    assert listed() == {"second": second}
    assert not Path(first["directory"]).exists()
    assert not joined.is_up


def test_a_name_that_was_not_started() -> None:
    assert "no clusters" in succeed("list")
    done = kafka("stop", "nobody")
    assert done.returncode == UsageError.exit_code
    assert "there is no cluster 'nobody'" in done.stderr


@pytest.mark.parametrize("name", ["..", "a/b", "", "-x."])
def test_a_name_is_not_a_path(name: str, state_directory: Path) -> None:
    (state_directory / "kafka" / "a" / "b").mkdir(parents=True)
    with pytest.raises(UsageError):
        named_clusters.start(name)
    assert (state_directory / "kafka" / "a" / "b").exists()


@pytest.mark.integration
def test_a_version_that_does_not_exist_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAUSEWAY_CACHE", str(tmp_path / "cache"))
    done = kafka("start", "--name", "future", "--version", "9999.0")
    assert done.returncode == SetupError.exit_code
    assert "error: cannot download org.apache.kafka:kafka_2.13:9999.0" in done.stderr
    assert "Traceback" not in done.stderr
    assert [file.name for file in (tmp_path / "cache" / "jars").iterdir()] == [".lock"]
    assert listed() == {}
