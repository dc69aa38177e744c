"""Processes that die: nothing is lost, nothing comes twice, and the next one resumes."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from causeway.core.cluster import Cluster
from causeway.core.task_order import offset_map_topic
from causeway.kafka.admin import ClusterView
from causeway.kafka.offset_map import tail
from faults.conftest import NewScenario
from faults.events import Terms
from faults.mirrors import CausewayMirror, failing
from faults.processes import kill
from support.process import Causeway, eventually

POINTS = ("after-produce", "after-flush", "after-ledger", "after-commit")
deep = pytest.mark.deep


@pytest.mark.spark
def test_a_worker_the_whole_tree_and_a_busy_driver_end_one_after_the_other(
    new_scenario: NewScenario, tmp_path: Path
) -> None:
    """A worker in the middle of a commit, then everything at once, then SIGTERM while records flow."""
    flag = tmp_path / "flag"
    scenario, mirror = new_scenario(
        env=failing("after-ledger", 30, "kill", flag), max_transaction_records=200
    )
    with scenario:
        scenario.start()
        with scenario.fault("a worker is killed between ledger and commit", crash=True):
            scenario.until(flag.exists, "a worker is killed")
        scenario.recovered()
        assert len(mirror.runs) == 1, "no other run was needed"
        with scenario.fault("the whole tree is killed", crash=True):
            mirror.kill()
        mirror.start()
        scenario.recovered()
        scenario.advances()  # all may have been replicated before the kill: it is to be at work
        with scenario.fault("SIGTERM in a busy moment"):
            assert mirror.stop() == 0, mirror.output
            assert not scenario.held_back(), "a transaction is open after a clean stop"
            eventually(lambda: not mirror.run.family(), "no process is left behind", 10)
        mirror.start()
        scenario.recovered()
        scenario.end("I13")


@deep
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("who", ["kill", "driver"])
def test_the_plug_is_pulled_at_a_step_of_a_transaction(
    new_scenario: NewScenario, tmp_path: Path, point: str, who: str
) -> None:
    """Workers live on for a moment as zombies of a dead driver; the next instance fences them."""
    flag = tmp_path / "flag"
    scenario, mirror = new_scenario(env=failing(point, 30, who, flag), max_transaction_records=200)
    with scenario:
        scenario.start()
        with scenario.fault(f"{'a worker' if who == 'kill' else 'the driver'} dies {point}", crash=True):
            eventually(flag.exists, "a process is killed")
            if who == "driver":
                assert mirror.run.wait() == -9, mirror.output
        if who == "driver":
            mirror.start()
        scenario.recovered()
        scenario.end(*(["I13"] if who == "driver" else []))


@deep
@pytest.mark.parametrize("who", ["kill", "driver"])
def test_the_plug_is_pulled_between_two_slices(new_scenario: NewScenario, tmp_path: Path, who: str) -> None:
    """The next slice's tasks are handed over already: they wait for the slots, or for their turn."""
    flag = tmp_path / "flag"
    scenario, mirror = new_scenario(
        env=failing("before-fence", 3, who, flag), slice="2s", max_transaction_records=200
    )
    with scenario:
        scenario.start()
        with scenario.fault(f"{who} at a slice's beginning", crash=True):
            if who == "driver":
                assert mirror.run.wait() == -9, mirror.output
            scenario.until(flag.exists, "a process is killed") if who == "kill" else mirror.start()
        scenario.recovered()
        began = mirror.ledger().heartbeats[0].slice
        scenario.until(lambda: mirror.ledger().heartbeats[0].slice > began + 1, "slices continue")
        scenario.end(*(["I13"] if who == "driver" else []))


@deep
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("replicated", [{"carrier": "object"}, {"delivery": "at-least-once"}], ids=str)
def test_other_ways_of_replicating_die_at_a_step_of_a_transaction(
    new_scenario: NewScenario, tmp_path: Path, replicated: dict[str, str], point: str
) -> None:
    """Without transactions a crash may repeat what was under way, and nothing else."""
    most = 200
    delivery: Any = replicated.get("delivery", "exactly-once")
    flag = tmp_path / "flag"
    scenario, _ = new_scenario(
        terms=Terms(delivery, replay=0 if delivery == "exactly-once" else 2 * most),
        env=failing(point, 30, "kill", flag), slice="3s", max_transaction_records=most, **replicated,
    )  # fmt: skip
    with scenario:
        scenario.start()
        with scenario.fault(f"a worker dies {point}", crash=True):
            scenario.until(flag.exists, "a worker is killed")
        scenario.recovered()
        scenario.end()


@pytest.mark.parametrize(
    ("before", "then"),
    [
        ("", "exactly-once"),
        pytest.param("", "at-least-once", marks=deep),
        pytest.param("exactly-once", "exactly-once", marks=deep),
    ],
)
def test_at_least_once_is_killed_between_offset_map_and_ledger(
    new_scenario: NewScenario, tmp_path: Path, before: str, then: str
) -> None:
    """The map knows more than the ledger. The next start resumes from the ledger, in either mode."""
    most, flag = 200, tmp_path / "flag"
    scenario, mirror = new_scenario(
        terms=Terms("at-least-once", replay=2 * most), env=failing("after-map", 30, "stop", flag),
        delivery=before or "at-least-once", max_transaction_records=most,
        heartbeat="5s",  # a worker that has stopped is not replaced before everything is killed
    )  # fmt: skip
    with scenario:
        scenario.start()
        if before:
            assert mirror.stop() == 0, mirror.output
            mirror.start(delivery="at-least-once")
        with scenario.fault("kill -9 between offset map and ledger", crash=True):
            scenario.until(flag.exists, "a worker has stopped between the two")
            mirror.kill()
            assert _map_knows_more(mirror), "this was no kill between the two"
        mirror.start(delivery=then)
        scenario.recovered()
        assert mirror.stop() == 0, mirror.output
        mirror.start()
        scenario.recovered()
        scenario.end("I13")


def _map_knows_more(mirror: CausewayMirror) -> bool:
    view = ClusterView(Cluster("dst", {"bootstrap.servers": mirror.servers["dst"]}))
    known = {source: one.offset for source, one in mirror.ledger().positions.items()}
    spots = [(offset_map_topic(mirror.name), shard) for shard in (1, 2)]
    return any(one.end > known[one.source] for one in tail(view, spots))


@deep
@pytest.mark.parametrize("slice_seconds", [2, 300])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
@pytest.mark.parametrize("seed", [1, 2])
def test_workers_die_at_any_moment(
    new_scenario: NewScenario, number: signal.Signals, seed: int, slice_seconds: int
) -> None:
    """One of them, and all of them; Spark starts their tasks again, in other workers."""
    random = Random(seed)
    scenario, mirror = new_scenario(shards=3, max_transaction_records=100, slice=f"{slice_seconds}s")
    with scenario:
        scenario.start()
        for most in (1, 1, 3, 3):
            scenario.advances(random.randint(1, 200))
            victims = random.sample(workers := mirror.run.workers(), min(most, len(workers)))
            with scenario.fault(f"{number.name} of {len(victims)} workers", crash=True):
                kill(victims, number)
            scenario.recovered()
        assert len(mirror.runs) == 1
        scenario.end()


@deep
@pytest.mark.parametrize(("seed", "slice_seconds"), [(1, 300), (2, 2), pytest.param(0, 300, id="idle")])
@pytest.mark.parametrize("who", ["driver", "tree"])
def test_everything_dies_at_any_moment(
    new_scenario: NewScenario, who: str, seed: int, slice_seconds: int
) -> None:
    """Also when there is nothing to replicate: the next run finds nothing to do, and no open transaction."""
    random = Random(seed)
    scenario, mirror = new_scenario(max_transaction_records=100, slice=f"{slice_seconds}s")
    with scenario:
        scenario.start()
        for _ in range(3):
            if seed:
                scenario.advances(random.randint(1, 200))
            else:
                scenario.quiet()
                scenario.until(lambda: scenario.unseen.count() == 0, "everything has arrived")
            with scenario.fault(f"kill -9 of the {who}", crash=True):
                if who == "tree":
                    mirror.run.kill()
                else:
                    kill([mirror.run.process.pid])
            mirror.start()
            if not seed:
                scenario.write(scenario.topics)
            scenario.recovered()
        scenario.end("I13")


@deep
def test_sigterm_for_the_whole_tree_is_a_clean_stop(new_scenario: NewScenario) -> None:
    """As a service manager stops a group: JVM and workers get the signal too."""
    scenario, mirror = new_scenario()
    with scenario:
        scenario.start()
        with scenario.fault("SIGTERM of the tree"):
            kill(mirror.run.family(), signal.SIGTERM)
            assert mirror.run.wait() == 0, mirror.output
            assert not scenario.held_back(), "a transaction is open after a clean stop"
        assert "Traceback" not in mirror.output
        mirror.start()
        scenario.recovered()
        scenario.end("I13")


@deep
@pytest.mark.parametrize("point", ["before-generation", "after-generation"])
@pytest.mark.parametrize("then", [2, 4])
def test_the_shard_count_changes_during_a_crash(
    new_scenario: NewScenario, tmp_path: Path, point: str, then: int
) -> None:
    """One sharding is whole, the old one or the new one, whatever count comes next."""
    scenario, mirror = new_scenario({"t": 5})
    with scenario:
        scenario.start()
        with scenario.fault(f"kill -9, then 3 shards and kill -9 {point}", crash=True):
            mirror.kill()
            killed = mirror.start(shards=3, env=failing(point, 1, "kill", tmp_path / "flag"))
            assert killed.wait() == -9, killed.output
        mirror.start(shards=then)
        scenario.recovered()
        generation = mirror.ledger().generation
        assert generation is not None
        assert generation.shards == then
        scenario.end("I13")


@deep
def test_scratch_directories_vanish_while_it_runs(
    new_scenario: NewScenario, tmp_path: Path, state_directory: Path
) -> None:
    """Spark's own and the one for logs: slices continue, and a worker that dies is replaced."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    properties = {"spark.local.dir": str(scratch)}
    scenario, mirror = new_scenario(
        slice="3s", spark={"properties": properties}, env={"TMPDIR": str(scratch)}
    )
    with scenario:
        scenario.start()
        assert any(scratch.iterdir())
        with scenario.fault("scratch directories are gone", crash=True):
            for directory in (scratch, state_directory):
                shutil.rmtree(directory, ignore_errors=True)  # a process may be writing there
            kill(mirror.run.workers())
        scenario.recovered()
        scenario.advances(2_000)
        assert len(mirror.runs) == 1
        scenario.end()


@deep
def test_configuration_and_secrets_vanish_while_it_runs(new_scenario: NewScenario, tmp_path: Path) -> None:
    """A run that has read them continues; a new one waits, and reports what is missing."""
    secret = tmp_path / "secret"
    secret.write_text("causeway\n")
    of_cluster = {"properties": {"client.id": f"${{file:{secret}}}"}}
    scenario, mirror = new_scenario(slice="2s", clusters={"src": of_cluster, "dst": of_cluster})
    with scenario:
        scenario.start()
        with scenario.fault("configuration and secrets are gone", crash=True):
            mirror.config.unlink()
            secret.unlink()
            began = mirror.ledger().heartbeats[1].slice
            scenario.until(lambda: mirror.ledger().heartbeats[1].slice > began + 1, "slices continue")
            scenario.advances()
            kill(mirror.run.workers())  # new ones need them
            scenario.until(lambda: "No such file" in mirror.output, "it says what it waits for")
            secret.write_text("causeway\n")
        scenario.recovered()
        assert len(mirror.runs) == 1
        with scenario.fault("and a new run does not find them"):
            assert mirror.stop() == 0, mirror.output
            no_file = Causeway("run", mirror.config, log=tmp_path / "no-file.log")
            assert no_file.wait() == 3, no_file.output
            secret.unlink()
            no_secret = mirror.start()
            assert no_secret.wait() == 3, no_secret.output
            secret.write_text("causeway\n")
        for run, missing in ((no_file, mirror.config), (no_secret, secret)):
            assert str(missing) in run.output
            assert "Traceback" not in run.output
        mirror.start()
        scenario.recovered()
        scenario.end("I13")


@deep
def test_a_jvm_that_dies_ends_the_run_with_one_line(new_scenario: NewScenario) -> None:
    """No orders can be given without it; the supervisor starts it again."""
    scenario, mirror = new_scenario()
    with scenario:
        scenario.start()
        with scenario.fault("kill -9 of the JVM", crash=True):
            kill(mirror.run.jvm())
            assert mirror.run.wait(60) == 10, mirror.output
        assert "Traceback" not in mirror.output
        mirror.start()
        scenario.recovered()
        scenario.end("I13")
