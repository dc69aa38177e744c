"""`python without_spark.py …` is `python -m causeway …` with the tests' executor in Spark's place.

`python without_spark.py --template FD` imports Causeway once and forks itself for each command that
`support.forked_command` sends to it, with or without Spark: a start takes milliseconds instead of a second.
"""

from __future__ import annotations

import atexit
import gc
import itertools
import os
import runpy
import signal
import sys
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

RUNS_TASKS = {"run", "verify", "kaf-relay", "ktm", "mirrormaker", "reo"}
STARTS_COMMANDS = {"demo", "run"}
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
    on_spark = sys.argv[1] == "--template" and _fork_commands(Connection(int(sys.argv[2])))
    if not on_spark and RUNS_TASKS.intersection(sys.argv[1:2]):
        replace_spark()
    if not on_spark and STARTS_COMMANDS.intersection(sys.argv[1:2]):
        import_module("causeway.cli.child").COMMAND[1:] = [str(Path(__file__).absolute())]
    runpy.run_module("causeway", run_name="__main__", alter_sys=True)


def replace_spark() -> None:
    """From now on this process starts the tests' executor in Spark's place. It must have one thread yet."""
    _preload()
    from causeway.spark import executor
    from support.process_executor import NoSpark
    from support.worker_server import WorkerServer

    os.environ["CAUSEWAY_DRIVER_PID"] = str(os.getpid())  # as Spark's start does
    server = WorkerServer()
    atexit.register(server.close)
    executor.start = NoSpark(server)


def _preload() -> None:
    for name in PRELOADED:
        import_module(name)


def _fork_commands(line: Connection) -> bool:
    """Returns in a forked process, as if it had been started as this command: whether on Spark."""
    _preload()
    gc.freeze()
    running: dict[int, int] = {}  # process → number of the request: processes' ids come back
    requests = itertools.count()
    while True:
        if line.poll(0.02 if running else None):
            try:
                arguments, environment, directory, files, on_spark = line.recv()
            except EOFError:
                os._exit(0)  # the tests have ended
            ready, prepared = os.pipe()
            pid = os.fork()
            if pid == 0:
                line.close()
                _become(environment, directory, files)
                sys.argv = [sys.argv[0], *arguments]
                os.close(ready)
                os.close(prepared)
                return bool(on_spark)
            os.close(prepared)
            os.read(ready, 1)  # until the command has its session, or is dead
            os.close(ready)
            running[pid] = next(requests)
            line.send(pid)
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                line.send((running.pop(pid), os.waitstatus_to_exitcode(status)))


def _become(environment: dict[str, str], directory: str, files: tuple[str, str, str]) -> None:
    os.setsid()
    for number, path in enumerate(files):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        file = os.open(path, flags, 0o644)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    main()
