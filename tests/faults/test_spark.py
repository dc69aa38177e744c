"""A mirror on a real Spark cluster: executors, workers, the master and the driver die, stop and come back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace as Namespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JError

from causeway.config import SparkSettings
from causeway.local_kafka import EmbeddedCluster
from causeway.replication.slice_job import Slice
from causeway.spark import session
from causeway.spark.executor import SparkExecutor
from faults.mirrors import CausewayMirror
from faults.processes import held, is_held, kill
from faults.scenario import Scenario
from support.process import Causeway, eventually, send
from support.spark_cluster import Executor, SparkCluster

NewScenario = Callable[..., tuple[Scenario, CausewayMirror]]

pytestmark = pytest.mark.spark
deep = pytest.mark.deep


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


@pytest.fixture
def spark(running: SparkCluster) -> SparkCluster:
    """The module's cluster, whole again whatever the test before did to it."""
    running.until_whole()
    return running


@pytest.fixture
def new_scenario(source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path) -> NewScenario:
    """A scenario of a mirror with two shards on a Spark cluster; keywords are Spark's properties."""

    def make(spark: SparkCluster, lasting: str = "5m", **properties: str) -> tuple[Scenario, CausewayMirror]:
        mirror = CausewayMirror(
            tmp_path, source, destination, max_transaction_records=500, slice=lasting,
            spark={"master": spark.url, "properties": spark.properties(**properties)},
        )  # fmt: skip
        return Scenario(tmp_path, source, destination, mirror, {"t": 3, "u": 1}), mirror

    return make


def failing(point: str, hit: int, action: str, flag: Path) -> dict[str, str]:
    """A property that arms a failpoint in the executors."""
    return {"spark.executorEnv.CAUSEWAY_FAILPOINT": f"{point}:{hit}:{action}:{flag}"}


def server_of(mirror: CausewayMirror, shard: int) -> int:
    """The process that served the shard at its last heartbeat.

    The first records may come from the other shard, while this one's executor still starts.
    """
    eventually(lambda: shard in mirror.ledger().heartbeats, f"shard {shard} has a heartbeat")
    return mirror.ledger().heartbeats[shard].pid


def until_served_by_another(scenario: Scenario, mirror: CausewayMirror, shard: int, before: int) -> None:
    scenario.until(
        lambda: server_of(mirror, shard) != before, f"shard {shard} is served by another process", 120
    )


def until_ended(spark: SparkCluster, pids: list[int]) -> None:
    eventually(lambda: not set(pids) & set(spark.processes()), f"zombies {pids} have ended")


def standing(spark: SparkCluster) -> Executor | None:
    """The executor whose Python worker a failpoint has stopped."""
    return next((one for one in spark.executors() if any(map(is_held, one.python))), None)


@pytest.mark.parametrize(
    ("properties", "slots", "cores"),
    [
        ({}, 3, "3"),
        ({"spark.executor.cores": "2"}, 3, "4"),
        ({"spark.executor.cores": "many"}, 3, "3"),  # Spark will say so
        ({"spark.cores.max": "9"}, 3, "9"),
    ],
)
def test_an_application_takes_as_many_cores_as_it_has_shards_in_whole_executors(
    properties: dict[str, str], slots: int, cores: str
) -> None:
    settings = SparkSettings(master="spark://there:7077", properties=properties)
    asked = {**session._properties(settings, slots, Path("log4j"), ""), **settings.properties}
    assert asked["spark.cores.max"] == cores


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "An error occurred while calling o1.collect.\n: java.lang.Exception: no master\n\tat x",
            "no master",
        ),
        ("[JOB_CANCELLED] job 1\nmore", "[JOB_CANCELLED] job 1"),
        (
            "\n  An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            "  File \"x.py\", line 1, in f\nModuleNotFoundError: No module named 'x'\n",
            "ModuleNotFoundError: No module named 'x'",
        ),
        ("", "RuntimeError"),
    ],
)
def test_what_spark_says_is_told_without_the_call_that_it_was_said_to(text: str, line: str) -> None:
    assert session.first_line(RuntimeError(text)).endswith(line)


def _dead(*_: object) -> None:
    raise Py4JError("Answer from Java side is empty")


@pytest.mark.parametrize(
    "context",
    [
        Namespace(_jsc=None),  # stopped by us
        Namespace(_jsc=Namespace(sc=_dead)),  # the JVM was killed
        Namespace(_jsc=Namespace(sc=lambda: Namespace(isStopped=lambda: True))),  # the master removed it
    ],
)
def test_a_spark_that_has_ended_is_seen_at_once(context: Namespace) -> None:
    spark = cast(Any, Namespace(sparkContext=context))
    assert not session.alive(spark)
    assert session.slots_of(spark) == 0


def test_a_cancelled_slice_has_failed_even_if_spark_never_responds(tmp_path: Path) -> None:
    """Without receipts and without a failure it would look like one that had nothing to do."""
    response = threading.Event()

    def never(*_: object) -> None:
        response.wait(20)

    context = Namespace(
        _temp_dir=tmp_path, _jsc=None, setJobGroup=never, cancelJobGroup=_dead, statusTracker=_dead
    )
    order = Namespace(slice=Namespace(mirror="m", lease=1, number=1), shard=1, to_json=lambda: "{}")
    spark = SparkExecutor(cast(Any, Namespace(sparkContext=context)))
    piece = Slice(spark, [cast(Any, order)], "")
    try:
        assert piece.ended_tasks() == 0
        piece.cancel()
        assert not piece.wait(0)
        assert piece.failure
    finally:
        response.set()


def test_an_executor_killed_in_a_transaction_and_another_one_stopped(
    new_scenario: NewScenario, spark: SparkCluster, tmp_path: Path
) -> None:
    """Their Python workers wake up when others have taken over, one of them with a transaction open.

    With one slot to spare and less patience than by default, so that it does not take a minute.
    """
    flag = tmp_path / "flag"
    quick = {"spark.cores.max": "3", "spark.storage.blockManagerHeartbeatTimeoutMs": "8s"}
    scenario, mirror = new_scenario(spark, **quick, **failing("after-flush", 20, "stop", flag))
    with scenario:
        scenario.start()
        scenario.until(lambda: flag.exists() and standing(spark), "a worker stands between flush and commit")
        executor = standing(spark)
        assert executor is not None
        zombies = executor.python
        with scenario.fault("kill -9 of an executor", crash=True):
            kill([executor.pid])
        scenario.recovered()
        with scenario.fault("its Python worker wakes up"):
            send(signal.SIGCONT, zombies)
            until_ended(spark, zombies)
        scenario.recovered()

        before = server_of(mirror, 1)
        tree = spark.executor_of(before).tree
        with scenario.fault("SIGSTOP of an executor", crash=True), held(tree):
            until_served_by_another(scenario, mirror, 1, before)
        until_ended(spark, tree)
        scenario.recovered()
        assert "SystemError" not in mirror.output  # no zombie started again
        scenario.end()


@deep
def test_a_stopped_executor_is_replaced_and_its_zombie_fenced(
    new_scenario: NewScenario, spark: SparkCluster
) -> None:
    """As it comes out of the box, with no slot to spare: Spark must give up the stopped one first."""
    scenario, mirror = new_scenario(spark)
    with scenario:
        scenario.start()
        before = server_of(mirror, 1)
        executor = spark.executor_of(before)
        tree = executor.tree
        with scenario.fault("SIGSTOP of an executor", crash=True), held(tree):
            until_served_by_another(scenario, mirror, 1, before)
            scenario.until(lambda: executor.pid not in spark.processes(), "Spark has given it up", 90)
            scenario.until(lambda: len(spark.executors()) == 2, "there is another one")
        until_ended(spark, tree)
        scenario.recovered()
        assert "no heartbeat from shard 1" in mirror.output
        assert "SystemError" not in mirror.output  # the zombie did not start again
        scenario.end()


@deep
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
@pytest.mark.parametrize("who", ["executor", "Python worker"])
def test_executors_and_their_workers_end_at_any_moment(
    new_scenario: NewScenario, spark: SparkCluster, who: str, number: signal.Signals
) -> None:
    """Of one shard and of the other; a JVM that is asked to end says goodbye to the driver first."""
    random = Random(number)
    scenario, mirror = new_scenario(spark)
    with scenario:
        scenario.start()
        for shard in (1, 2):
            scenario.advances(random.randint(1, 200))
            before = server_of(mirror, shard)
            victim = before if who == "Python worker" else spark.executor_of(before).pid
            with scenario.fault(f"{number.name} of the {who} of shard {shard}", crash=True):
                kill([victim], number)
                until_served_by_another(scenario, mirror, shard, before)
            scenario.recovered()
        assert len(mirror.runs) == 1
        scenario.end()


@deep
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_an_executor_ends_while_nothing_happens(
    new_scenario: NewScenario, spark: SparkCluster, tmp_path: Path, number: signal.Signals
) -> None:
    """And `verify` finds a slot beside the mirror."""
    scenario, mirror = new_scenario(spark)
    with scenario:
        scenario.start()
        scenario.quiet()
        scenario.until(lambda: scenario.unseen.count() == 0, "everything has arrived")
        verify = Causeway("verify", mirror.config, "--wait", log=tmp_path / "verify.log")
        assert verify.wait() == 0, verify.output
        before = server_of(mirror, 1)
        with scenario.fault(f"{number.name} of an idle executor", crash=True):
            kill([spark.executor_of(before).pid], number)
        until_served_by_another(scenario, mirror, 1, before)
        scenario.write(scenario.topics)
        scenario.advances(100)
        scenario.recovered()
        scenario.end()


@deep
@pytest.mark.parametrize("point", ["after-produce", "after-ledger", "after-commit"])
def test_a_python_worker_killed_on_an_executor(
    new_scenario: NewScenario, spark: SparkCluster, tmp_path: Path, point: str
) -> None:
    flag = tmp_path / "flag"
    scenario, _ = new_scenario(spark, **failing(point, 20, "kill", flag))
    with scenario:
        scenario.start()
        with scenario.fault(f"kill -9 of a Python worker {point}", crash=True):
            scenario.until(flag.exists, "a worker was killed")
        scenario.recovered()
        scenario.end()


@deep
def test_a_spark_worker_killed_and_then_the_master(new_scenario: NewScenario, spark: SparkCluster) -> None:
    """A mirror needs the master for new executors alone; one lost meanwhile is replaced when it is back."""
    scenario, mirror = new_scenario(spark)
    with scenario:
        scenario.start()
        before = server_of(mirror, 1)
        worker = spark.worker_of(spark.executor_of(before))
        with scenario.fault("kill -9 of a Spark worker", crash=True):
            worker.kill()
            until_served_by_another(scenario, mirror, 1, before)
        scenario.recovered()
        spark.until_whole()

        with scenario.fault("kill -9 of the master", crash=True):
            spark.master.kill()
            scenario.advances()
            before = server_of(mirror, 2)
            kill([spark.executor_of(before).pid])
            spark.until_whole()
            until_served_by_another(scenario, mirror, 2, before)
        scenario.recovered()
        scenario.end()


@deep
def test_executors_that_outlive_their_driver_are_fenced(
    new_scenario: NewScenario, spark: SparkCluster
) -> None:
    scenario, mirror = new_scenario(spark)
    with scenario:
        scenario.start()
        trees = [pid for one in spark.executors() for pid in one.tree]
        with scenario.fault("kill -9 of the driver", crash=True):
            with held(trees):
                mirror.kill()
                mirror.start()
                scenario.advances(seconds=90)
            until_ended(spark, trees)
        scenario.recovered()
        scenario.end("I13")


@deep
def test_the_drivers_jvm_killed(new_scenario: NewScenario, spark: SparkCluster) -> None:
    """Nothing continues without it, so the run ends with a reason; its supervisor starts it again."""
    scenario, mirror = new_scenario(spark)
    with scenario:
        scenario.start()
        with scenario.fault("kill -9 of the driver's JVM", crash=True):
            kill(mirror.run.jvm())
            assert mirror.run.wait() == 10, mirror.output
            assert "Spark has ended under the mirror" in mirror.output
            assert "Traceback" not in mirror.output
            mirror.start()
        scenario.recovered()
        scenario.end("I13")


@deep
@pytest.mark.timeout(600)
def test_a_cluster_that_shrinks_and_forgets(new_scenario: NewScenario, tmp_path: Path) -> None:
    """A slot is lost for good: shards take turns. A master without memory: the mirror ends, and says so."""
    with SparkCluster(tmp_path / "small", cores=1, recovers=False) as spark:
        # Python workers outlive their executors until their slice is over, or they are fenced.
        scenario, mirror = new_scenario(spark, "30s")
        with scenario:
            scenario.start()
            executor = spark.executor_of(server_of(mirror, 1))
            with scenario.fault("a machine is gone for good", crash=True):
                tree = executor.tree
                spark.worker_of(executor).kill()
                kill(tree)
            scenario.recovered(120)
            assert "1 slots for 2 shards" in mirror.output
            spark.until_whole()
            with scenario.fault("a master that forgot everything", crash=True):
                spark.master.kill()
                spark.until_whole()
                assert mirror.run.wait(240) == 10, mirror.output
                mirror.start()
            scenario.recovered()
            scenario.end("I13")


@deep
def test_more_shards_than_slots_are_refused(new_scenario: NewScenario, spark: SparkCluster) -> None:
    scenario, mirror = new_scenario(spark, **{"spark.cores.max": "1"})
    with scenario:
        run = mirror.start()
        assert run.wait(120) == 10, run.output
        assert "error: 2 slot(s) are needed at the same time, the Spark cluster has 1" in run.output
