"""`python without_spark.py …` is `python -m causeway …` with the tests' executor in Spark's place."""

from __future__ import annotations

import os
import runpy
import sys
from importlib import import_module
from pathlib import Path

RUNS_TASKS = {"run", "verify", "kaf-relay", "ktm", "mirrormaker", "reo"}
PRELOADED = (
    "causeway.cli.run",
    "causeway.cli.verify",
    "causeway.replication.worker.task",
    "causeway.kafka.native.producer_handle",
    "causeway.kafka.native.consumer_handle",
)
"""Imported before the fork, so that the workers have them too."""


def main() -> None:
    sys.path[0] = ""  # as `-m` has it
    sys.path.append(str(Path(__file__).parents[1]))
    if RUNS_TASKS.intersection(sys.argv[1:2]):
        _replace_spark()
    runpy.run_module("causeway", run_name="__main__", alter_sys=True)


def _replace_spark() -> None:
    for name in PRELOADED:
        import_module(name)
    from causeway.spark import executor
    from support.process_executor import NoSpark
    from support.worker_server import WorkerServer

    os.environ["CAUSEWAY_DRIVER_PID"] = str(os.getpid())  # as Spark's start does
    executor.start = NoSpark(WorkerServer())


if __name__ == "__main__":
    main()
