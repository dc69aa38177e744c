"""On bad scenarios, too, a mirror shows no secret (I14), and does nothing again that was done (I16)."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from causeway.core.task_order import ledger_topic
from faults.conftest import NewScenario
from faults.events import Applied, Scanned
from faults.processes import kill
from support.process import Causeway, eventually
from support.records import read_all

pytestmark = pytest.mark.deep

CANARY = "cAnArY-17"
PARTS = ("", "/partitions", "/layout", "/shards", "/events", "/gaps", "/configuration")
PATHS = (
    "/", "/metrics", "/api/v1/mirrors", "/api/v1/history?mirror={name}",
    *("/api/v1/mirrors/{name}" + part for part in PARTS),
)  # fmt: skip


def test_no_secret_is_shown_whatever_happens(
    new_scenario: NewScenario, tmp_path: Path, state_directory: Path
) -> None:
    """One in the configuration, one in a file that it names, and one of an environment variable.

    They are looked for in whatever was said, served, logged and written down by a mirror whose workers were
    killed, which was killed itself, and which missed the file.
    """
    file = tmp_path / "secret"
    file.write_text(f"{CANARY}-file\n")
    of_source = {"ssl.key.password": f"${{file:{file}}}", "sasl.password": f"{CANARY}-plain"}
    of_destination = {"ssl.key.password": "${env:CANARY}"}
    scenario, mirror = new_scenario(
        slice="2s", env={"CANARY": f"{CANARY}-variable"},
        clusters={"src": {"properties": of_source}, "dst": {"properties": of_destination}},
        spark={"properties": {"spark.hadoop.innocent": "${env:CANARY}"}},
    )  # fmt: skip
    shown: dict[str, str] = {}

    def look() -> None:
        for path in PATHS:
            address = mirror.run.page() + path.format(name=mirror.name)
            with urllib.request.urlopen(address, timeout=10) as found:
                shown[path] = shown.get(path, "") + found.read().decode()
        for pid in mirror.run.family():
            shown["arguments"] = shown.get("arguments", "") + Path(f"/proc/{pid}/cmdline").read_text()

    with scenario:
        scenario.start()
        look()
        with scenario.fault("workers die and do not find the file", crash=True):
            file.unlink()
            kill(mirror.run.workers())
            scenario.until(lambda: "No such file" in mirror.output, "it says what it waits for")
            file.write_text(f"{CANARY}-file\n")
        scenario.recovered()
        look()
        with scenario.fault("the whole tree is killed", crash=True):
            mirror.kill()
        mirror.start()
        scenario.recovered()
        look()
        scenario.quiet()
        shown["output"] = mirror.output
        shown["check"] = _said("check", mirror.write_config(), tmp_path, mirror.env)
        shown["verify"] = _said("verify", mirror.config, tmp_path, mirror.env)
        shown["ledger"] = repr(read_all(scenario.servers["destination"], ledger_topic(mirror.name)))
        shown["files"] = "".join(_texts(state_directory))
        assert all(shown.values()), "somewhere nothing was looked at"
        for where, text in shown.items():
            found = tuple(sorted(set(re.findall(f"{CANARY}-[a-z]+", text))))
            scenario.journal.add(Scanned(scenario.journal.now(), where, found))
        scenario.end("I13", "I14")


def test_a_start_that_was_killed_and_is_repeated_makes_each_thing_once(new_scenario: NewScenario) -> None:
    """Killed while it creates topics; the next start makes what is missing, the one after that nothing."""
    scenario, mirror = new_scenario({f"t{number}": number + 1 for number in range(6)})
    with scenario:
        admin = scenario.admins["destination"]
        with scenario.fault("kill -9 while topics are created", crash=True):
            mirror.start()
            eventually(lambda: _made(admin, mirror.name), "there is a topic")
            mirror.kill()
        before = _made(admin, mirror.name)
        for _ in range(2):
            run = mirror.start("--stop-at-end")
            assert run.wait() == 0, run.output
            after = _made(admin, mirror.name)
            changes = sum(after.get(name) != before.get(name) for name in after.keys() | before.keys())
            scenario.journal.add(Applied(scenario.journal.now(), "run", changes))
            before = after
        scenario.start()
        scenario.recovered()
        scenario.end("I13", "I16")


def _said(command: str, config: Path, directory: Path, env: dict[str, str]) -> str:
    run = Causeway(command, config, log=directory / f"{command}.log", env=env)
    run.wait()
    return run.output


def _texts(directory: Path) -> Iterable[str]:
    """Whatever was written below a directory."""
    return (path.read_text(errors="replace") for path in directory.rglob("*") if path.is_file())


def _made(admin: AdminClient, name: str) -> dict[str, Any]:
    """Topics of a mirror at its destination: partitions and settings."""
    known = admin.list_topics(timeout=10).topics
    names = [topic for topic in known if name in topic]
    if not names:
        return {}
    asked = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic) for topic in names])
    return {
        one.name: (
            len(known[one.name].partitions),
            sorted((key, entry.value) for key, entry in future.result().items()),
        )
        for one, future in asked.items()
    }
