"""The Spark session: quiet, local by default, and with a slot for every shard.

On a cluster executors come and go. What Spark needs to notice a dead or a stopped one within seconds, and to
replace it, is set here; `docs/spark.md` says what the cluster itself has to bring.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from causeway.config import SparkSettings, secrets
from causeway.errors import SetupError
from causeway.pipeline import launching

Spark = SparkSession

TASK_FAILURES = 100
"""How often a task may die (a killed worker) before its slice fails; `local[N]` would never retry."""

_QUICK_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The JVM schedules and carries no records: compiling little nearly halves what its start costs."""

GONE = (Py4JError, OSError, AttributeError)
"""What a call into Spark raises when its JVM has died, or its application has ended."""

BLOCK_DIRECTORIES = 64
"""Spark's spark.diskStore.subDirectories: it makes them when it first needs each, and never again."""

_blocks: set[Path] = set()

SLOTS_SECONDS = 60.0
"""How long executors may take to register."""

_LOG4J = """\
status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yy-MM-dd HH:mm:ss}} %p %c{{1}}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""


def is_local(settings: SparkSettings) -> bool:
    return settings.master == "local" or settings.master.startswith("local[")


def log_directory(settings: SparkSettings) -> Path:
    """Where Spark's own log goes."""
    if settings.log_dir:
        return Path(settings.log_dir)
    state = os.environ.get("CAUSEWAY_STATE")
    if state:
        return Path(state) / "logs"
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "causeway" / "logs"


def class_archive() -> Path:
    """Where Spark's classes are kept, parsed, for this environment (archive.py)."""
    return Path(sys.prefix) / "share" / "causeway" / "spark-classes.jsa"


def shared_classes() -> str:
    """The JVM's options for that archive, where there is one that they can name."""
    path = class_archive()
    usable = path.is_file() and " " not in str(path)  # Spark splits options there
    return f"-XX:SharedArchiveFile={path} -Xshare:auto" if usable else ""


def start(
    settings: SparkSettings,
    slots: int,
    app: str,
    log_file: Path | None = None,
    jvm: str | None = None,
    *,
    needed: int = 1,
    stopping: threading.Event | None = None,
) -> SparkSession:
    """A session whose every word goes to a file, with `slots` tasks at once where the master has them.

    Raises SetupError where fewer than `needed` come; whoever stops meanwhile gets the session as it is.
    """
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise SetupError("Spark needs Java 17 or newer", todo="install it, or set JAVA_HOME")
    hidden = launching.confidential(settings.properties)
    users = {name: secrets.resolve(value) for name, value in settings.properties.items()}
    settings = settings.model_copy(update={"properties": users})
    log = log_file or log_directory(settings) / f"spark-{os.getpid()}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log4j = log.with_suffix(".log4j2.properties")
    log4j.write_text(_LOG4J.format(log=log))
    # Workers would start with the system's python3 otherwise. The driver's interpreter does not exist
    # on a cluster's executors, so there it is the user's choice; from within Python Spark knows it by
    # this name alone.
    python = sys.executable if is_local(settings) else settings.properties.get("spark.pyspark.python")
    if python:
        os.environ["PYSPARK_PYTHON"] = python
    # py4j logs every call that a dead JVM does not answer, with its traceback; what it means is said by us.
    logging.getLogger().addHandler(logging.NullHandler())
    os.environ["CAUSEWAY_DRIVER_PID"] = str(os.getpid())
    properties = {
        "spark.app.name": app,
        **_properties(settings, slots, log4j, shared_classes() if jvm is None else jvm),
        **users,
        **launching.redaction(hidden, users.get(launching.REDACTION)),
    }
    builder = SparkSession.builder
    for name, value in properties.items():
        builder = builder.config(name, value)
    before = _block_directories(settings)
    with _output_into(log):
        try:
            launching.launch(properties, hidden)
            spark = builder.getOrCreate()
        except Exception as error:  # noqa: BLE001 - whatever Spark says, the user needs one line and the log
            raise SetupError(
                "Spark did not start", where=settings.master, why=first_line(error), todo=f"see {log}"
            ) from None
    _blocks.update(_block_directories(settings) - before)
    if is_local(settings):
        return spark
    there = _wait_for_slots(spark, needed, stopping or threading.Event())
    if there < needed:
        stop(spark)
        raise SetupError(
            f"{needed} slot(s) are needed at the same time, the Spark cluster has {there}",
            where=settings.master,
            why=f"no more executors came within {SLOTS_SECONDS:.0f} s; see {log}",
            todo="lower `shards` of the mirrors, give the application more cores, or end others",
        )
    return spark


def alive(spark: SparkSession, stopping: threading.Event | None = None) -> bool:
    """Whether its JVM lives, its application goes on, and there are executors or will be.

    A master that was started again without its memory kills the executors of an application that it does
    not know, and never gives it others.
    """
    if not _goes_on(spark):
        return False
    if (spark.sparkContext.master or "").startswith("local["):
        return True
    return _wait_for_slots(spark, 1, stopping or threading.Event()) > 0


def stop(spark: SparkSession) -> None:
    """End it; a JVM that was told to end before us has done so by itself, and py4j's regrets help nobody."""
    with contextlib.suppress(*GONE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark.stop()


def keep_scratch(spark: SparkSession) -> None:
    """See to it that the driver's scratch directories exist: Spark makes each once, and people clean /tmp.

    Orders pass through a file of Python's, and the JVM looks for every block on disk before it makes it.
    """
    Path(str(spark.sparkContext._temp_dir)).mkdir(parents=True, exist_ok=True)
    for directory in _blocks:
        for number in range(BLOCK_DIRECTORIES):
            (directory / f"{number:02x}").mkdir(parents=True, exist_ok=True)


def _block_directories(settings: SparkSettings) -> set[Path]:
    """Where JVMs of this machine keep blocks; our own are those that come with our start."""
    bases = os.environ.get("SPARK_LOCAL_DIRS") or settings.properties.get("spark.local.dir") or "/tmp"
    return {found for base in bases.split(",") for found in Path(base).glob("blockmgr-*")}


def slots_of(spark: SparkSession) -> int:
    """How many tasks can run at once, now. (A cluster's `defaultParallelism` is never less than two.)"""
    try:
        context = spark.sparkContext._jsc.sc()
        return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))
    except GONE:
        return 0


def _goes_on(spark: SparkSession) -> bool:
    try:
        return not spark.sparkContext._jsc.sc().isStopped()
    except GONE:
        return False


def _wait_for_slots(spark: SparkSession, needed: int, stopping: threading.Event) -> int:
    """Executors register one after the other, a moment after the start or after the loss of another."""
    deadline = time.monotonic() + SLOTS_SECONDS
    while (there := slots_of(spark)) < needed and time.monotonic() < deadline and _goes_on(spark):
        if stopping.wait(0.1):
            return needed
    return there


def _properties(settings: SparkSettings, slots: int, log4j: Path, jvm: str) -> dict[str, str]:
    local = is_local(settings)
    properties = {
        "spark.master": f"local[{slots},{TASK_FAILURES}]" if local else settings.master,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log4j} {_QUICK_JVM} {jvm}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.leafNodeDefaultParallelism": "100000",  # one task for each row of orders
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.task.maxFailures": str(TASK_FAILURES),
        "spark.speculation": "false",
        "spark.scheduler.mode": "FAIR",
    }
    if local:
        return properties | {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return properties | {
        # A standalone master would give us all its cores, and `verify` beside a mirror would wait for ever.
        "spark.cores.max": str(_cores(settings, slots)),
        "spark.executor.extraJavaOptions": _QUICK_JVM,
        # An executor that hangs keeps its slot until it is declared dead: after 2 minutes by default.
        "spark.executor.heartbeatInterval": "2s",
        "spark.storage.blockManagerHeartbeatTimeoutMs": "20s",
        "spark.network.timeoutInterval": "2s",
        "spark.executor.heartbeat.maxFailures": "300",  # ten minutes without a driver, as by default
    }


def _cores(settings: SparkSettings, slots: int) -> int:
    """As many cores as the slots need, in whole executors: a part of one would never be started."""
    asked = settings.properties.get("spark.executor.cores", "")
    of_executor = max(1, int(asked)) if asked.isdigit() else 1
    return -(-slots // of_executor) * of_executor


@contextlib.contextmanager
def _output_into(log: Path) -> Iterator[None]:
    """What is started inside inherits the file as its output: the JVM writes warnings before log4j."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(file, 1)
        os.dup2(file, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for old, number in zip(saved, (1, 2), strict=True):
            os.dup2(old, number)
            os.close(old)
        os.close(file)


def first_line(error: BaseException) -> str:
    """What Spark says, without the name of the method that py4j was calling."""
    lines = [line.strip().removeprefix(": ") for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith("An error occurred while calling")]
    return (told or [type(error).__name__])[0]
