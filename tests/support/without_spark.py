"""`python without_spark.py …` is `python -m causeway …` with the tests' executor in Spark's place."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

PRELOADED = (
    "causeway.replication.worker.task",
    "causeway.verification.comparison_job",
    "causeway.kafka.native.producer",
    "causeway.kafka.native.source_consumer",
)


def main() -> None:
    sys.path[0] = ""  # as `-m` has it
    sys.path.append(str(Path(__file__).parents[1]))
    import causeway.cli.main  # noqa: F401 - before the fork: the workers have it too
    from causeway.spark import executor
    from support.process_executor import NoSpark
    from support.worker_server import WorkerServer

    os.environ["CAUSEWAY_DRIVER_PID"] = str(os.getpid())  # as Spark's start does
    executor.start = NoSpark(WorkerServer(PRELOADED))
    runpy.run_module("causeway", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
