"""Mirrors in a Spark session of the user's: it stays as it is, and too few slots are an error."""

from __future__ import annotations

import textwrap

from api.conftest import Program, ended
from support.world import World

CODE = """
import sys, threading
from pyspark.sql import SparkSession
import causeway

session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("OFF")
session.conf.set("spark.sql.shuffle.partitions", "3")
session.sparkContext.setJobGroup("users", "my own")
before = dict(session.conf.getAll)

def refused(call, kind):
    try:
        call()
    except kind as error:
        print("refused:", error.what)
    else:
        print("not refused")

# Too few slots: three shards do not fit, and neither does a comparison beside a mirror that has them all.
three = causeway.load(CONFIG, {f"mirrors.{MIRROR}.shards": 3})
refused(lambda: causeway.run(three, spark=session), causeway.SetupError)
refused(lambda: causeway.run(CONFIG), causeway.UsageError)
with causeway.Runner(CONFIG, spark=session) as runner:
    refused(lambda: causeway.verify(CONFIG, spark=session), causeway.SetupError)
    refused(lambda: causeway.run(CONFIG, spark=session), causeway.SetupError)

# One slot for the mirror, one for the comparison; in threads that are not the main thread.
one = causeway.load(CONFIG, {f"mirrors.{MIRROR}.shards": 1})
results = []
with causeway.Runner(one, spark=session):
    thread = threading.Thread(target=lambda: results.append(causeway.verify(one, spark=session, wait=True)))
    thread.start()
    thread.join()
print("equal:", results[0].equal)

# A program's own error ends the mirror, and not the session.
try:
    with causeway.Runner(one, spark=session):
        raise ZeroDivisionError
except ZeroDivisionError:
    print("raised")
result = causeway.run(one, spark=session, stop_at_end=True)
print("state:", result.mirrors[0].state)

assert SparkSession.getActiveSession() is session and SparkSession.active() is session
assert dict(session.conf.getAll) == before
assert session.sparkContext.getLocalProperty("spark.jobGroup.id") == "users"
assert session.range(10).count() == 10
session.stop()
refused(lambda: causeway.run(one, spark=session), causeway.UsageError)
print("end")
"""


def test_a_session_stays_as_it_is_and_has_as_many_slots_as_it_has(world: World, program: Program) -> None:
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(100, 2))
    config = world.config()
    settings = f"CONFIG, MIRROR = {str(config)!r}, {world.mirror!r}\n"
    process = program(settings + textwrap.dedent(CODE), spark=True)
    lines = [line for line in ended(process).splitlines() if line.startswith(WORDS)]
    assert lines == [
        "refused: 3 slots are needed at the same time, the Spark session has 2 free",
        "refused: this process has a Spark session already, and a process can have one Spark application",
        "refused: 1 slot is needed at the same time, the Spark session has 0 free",
        "refused: 1 slot is needed at the same time, the Spark session has 0 free",
        "equal: True",
        "raised",
        "state: done",
        "refused: the Spark session has been stopped",
        "end",
    ]
    world.assert_mirrored(topic)


WORDS = ("refused", "not refused", "equal", "raised", "state", "end", "Traceback")


def test_workers_that_have_no_causeway_are_an_error_at_the_start(world: World, program: Program) -> None:
    """Otherwise every slice would fail, again and again."""
    world.topic()
    process = program(
        f"CONFIG = {str(world.config())!r}\n"
        + textwrap.dedent(
            """
            import os
            from pathlib import Path
            from pyspark.sql import SparkSession
            import causeway

            # The workers' own search path has a package of this name that is another one.
            Path("other/causeway").mkdir(parents=True)
            Path("other/causeway/__init__.py").write_text("")
            search = os.path.abspath("other") + ":" + os.environ["PYTHONPATH"]
            session = (
                SparkSession.builder.master("local[1]")
                .config("spark.ui.enabled", "false")
                .config("spark.executorEnv.PYTHONPATH", search)
                .getOrCreate()
            )
            session.sparkContext.setLogLevel("OFF")
            try:
                causeway.run(CONFIG, spark=session)
            except causeway.SetupError as error:
                print("refused:", error.what, "|", error.why)
            session.stop()
            """
        ),
        spark=True,
    )
    output = ended(process)
    assert "refused: the Python workers of the Spark session cannot run Causeway | " in output
    assert "No module named 'causeway." in output
