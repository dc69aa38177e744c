"""`causeway demo` as users run it: a process of its own, with small numbers, and no process or file left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from causeway.cli.child import kill_tree, living
from causeway.local_kafka import named_clusters
from support.forked_command import PROGRAM
from support.process import eventually, interruptible
from support.records import read_all

pytestmark = pytest.mark.timeout(600)

MARK = "CAUSEWAY_TEST_MARK"


class Demo:
    """A running demo, and its descendants: the mark is in their environment."""

    def __init__(self, tmp_path: Path, *arguments: str, spark: bool = True, **env: str) -> None:
        self.mark = f"{MARK}={uuid.uuid4().hex}"
        self.temporary = tmp_path / "tmp"
        self.temporary.mkdir(parents=True)
        self._messages = tmp_path / "messages"
        self._printed = tmp_path / "printed"
        name, _, value = self.mark.partition("=")
        environment = {**os.environ, **env, name: value, "TMPDIR": str(self.temporary)}
        with self._messages.open("wb") as messages, self._printed.open("wb") as printed:
            self.process = subprocess.Popen(
                [sys.executable, *(["-m", "causeway"] if spark else [str(PROGRAM)]), "demo", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=messages,
                env=environment,
                start_new_session=True,
                preexec_fn=interruptible,
            )

    @property
    def messages(self) -> str:
        return self._messages.read_text()

    @property
    def printed(self) -> str:
        return self._printed.read_text()

    def wait(self) -> int:
        try:
            return self.process.wait(400)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the demo does not end:\n{self.messages}") from None

    def family(self) -> list[str]:
        """The live processes that have the mark, including the demo itself."""
        if sys.platform != "linux":
            listed = subprocess.run(["ps", "-A", "-E", "-ww"], capture_output=True, text=True, check=True)
            return [line for line in listed.stdout.splitlines() if self.mark in line]
        processes = []
        for pid in living():
            try:
                if self.mark.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    processes.append(f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes()[:200]!r}")
            except OSError:
                continue  # ended, or another user's
        return processes

    def assert_nothing_is_left(self) -> None:
        eventually(lambda: not self.family(), f"the end of {self.family()}", 30)
        assert list(self.temporary.iterdir()) == []

    def end(self) -> None:
        if self.process.poll() is None:
            kill_tree(self.process.pid)
            self.process.wait()


@pytest.fixture
def demos() -> Iterator[list[Demo]]:
    started: list[Demo] = []
    yield started
    for demo in started:
        demo.end()


def test_the_demo_loses_no_record_and_leaves_no_process_or_file(
    tmp_path: Path, state_directory: Path, demos: list[Demo]
) -> None:
    demo = Demo(tmp_path, "--records", "20000", "--warm-up", "6", "-o", "json")
    demos.append(demo)
    assert demo.wait() == 0, demo.messages
    numbers = json.loads(demo.printed.splitlines()[-1])
    assert set(numbers) == {
        "records", "lost", "duplicated", "out_of_order", "changed", "kills",
        "records_per_second", "latency_p50_ms", "latency_p99_ms",
    }  # fmt: skip
    assert numbers["records"] >= 20_000
    wrong = {name: numbers[name] for name in ("lost", "duplicated", "out_of_order", "changed")}
    assert wrong == {"lost": 0, "duplicated": 0, "out_of_order": 0, "changed": 0}, demo.messages
    assert numbers["kills"] == 1
    assert numbers["records_per_second"] > 0
    assert 0 < numbers["latency_p50_ms"] <= numbers["latency_p99_ms"]
    assert "SIGKILL" in demo.messages
    assert demo.messages.index("warming up") < demo.messages.index("measuring the latency")
    assert "python -m causeway demo --keep" in demo.messages
    demo.assert_nothing_is_left()
    assert not state_directory.exists() or not any(state_directory.rglob("*.log"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_demo_leaves_no_process_or_file(
    number: signal.Signals, tmp_path: Path, demos: list[Demo]
) -> None:
    demo = Demo(tmp_path, "--records", "20000")
    demos.append(demo)
    eventually(lambda: any(r"causeway\x00run" in line for line in demo.family()), "a mirror", 120)
    os.kill(demo.process.pid, number)
    assert demo.wait() == 128 + number, demo.messages
    assert "Traceback" not in demo.messages
    demo.assert_nothing_is_left()


def test_a_mirror_that_cannot_start_is_one_error_with_its_logs(
    tmp_path: Path, state_directory: Path, demos: list[Demo]
) -> None:
    demo = Demo(tmp_path, "--records", "1000", SPARK_HOME=str(tmp_path / "nowhere"))
    demos.append(demo)
    assert demo.wait() == 1, demo.messages
    assert "error: `causeway run` ended with exit code 10" in demo.messages
    assert "Traceback" not in demo.messages
    (logs,) = (state_directory / "logs").iterdir()
    assert f"where: logs: {logs}" in demo.messages
    assert "Spark did not start" in (logs / "run.log").read_text()
    assert (logs / "paris-broker-0.log").stat().st_size > 0
    demo.assert_nothing_is_left()


def test_a_kept_demo_continues(tmp_path: Path, state_directory: Path, demos: list[Demo]) -> None:
    demo = Demo(tmp_path, "--records", "1000", "--warm-up", "0", "--keep", spark=False)
    demos.append(demo)
    pid = state_directory / "demo" / "mirror.pid"
    try:
        assert demo.wait() == 0, demo.messages
        paris, tokyo = named_clusters.clusters()
        assert [paris.name, tokyo.name] == ["demo-paris", "demo-tokyo"]
        assert paris.bootstrap_servers in demo.printed
        assert f"causeway verify {state_directory / 'demo' / 'causeway.toml'}" in demo.printed
        assert f"kill {pid.read_text()} && python -m causeway kafka stop demo-paris --delete" in demo.printed

        # It still replicates.
        producer = Producer({"bootstrap.servers": paris.bootstrap_servers})
        producer.produce("customers", key=b"new", value=b"customer")
        assert producer.flush(30) == 0
        eventually(
            lambda: read_all(tokyo.bootstrap_servers, "customers")[0][-1].key == b"new", "the new customer"
        )

        # A second one would replace it: refused.
        again = Demo(tmp_path / "again", "--keep", spark=False)
        demos.append(again)
        assert again.wait() == 2
        assert f"kill {pid.read_text()}" in again.messages
    finally:
        if pid.exists():
            kill_tree(int(pid.read_text()))
        for cluster in named_clusters.clusters():
            cluster.destroy()
    shutil.rmtree(state_directory / "demo")
    demo.assert_nothing_is_left()
