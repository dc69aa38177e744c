"""The Spark session: quiet, local by default, and with a slot for every shard.

On a cluster executors come and go. The settings here let Spark detect a dead or stopped executor within
seconds and replace it; `docs/spark.md` lists what the cluster itself must provide.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from causeway import owner_only
from causeway.config import SparkSettings, secrets
from causeway.errors import SetupError
from causeway.spark import launching

Spark = SparkSession

TASK_FAILURES = 100
"""How often a task may fail (a killed worker) before its slice fails; `local[N]` would never retry."""

_QUICK_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The JVM only schedules, it handles no records: compiling little nearly halves the cost of its start."""

GONE = (Py4JError, OSError, AttributeError)
"""What a call into Spark raises if its JVM has died or its application has ended."""

BLOCK_DIRECTORIES = 64
"""Spark's spark.diskStore.subDirectories: it creates each on first use, and never again."""

_blocks: set[Path] = set()

JVM_SECONDS = 10.0
"""How long the JVM may take to exit before it is killed."""

_PYTHON, _DRIVER, _ADDRESS = "PYSPARK_PYTHON", "CAUSEWAY_DRIVER_PID", "SPARK_LOCAL_IP"
_before: dict[str, str | None] = {}
"""Environment variables that `start` has set, as they were before."""

_QUIET = logging.NullHandler()
_PY4J = logging.getLogger("py4j")
_levels: list[int] = []
"""Levels of that logger before each `start`."""

_EXCEPTION = re.compile(r"[\w.]+(Error|Exception|Interrupt|Exit)\b")
"""The last line of a Python traceback."""

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
    """The directory of Spark's own log."""
    if settings.log_dir:
        return Path(settings.log_dir)
    state = os.environ.get("CAUSEWAY_STATE")
    if state:
        return Path(state) / "logs"
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "causeway" / "logs"


def _log_files(settings: SparkSettings, log: Path) -> Path:
    """Create the log, readable by its owner alone, and the file that makes the JVM write to it.

    A directory that the user has chosen keeps its rights: others may have files there.
    """
    log4j = log.with_suffix(".log4j2.properties")
    try:
        if settings.log_dir or log.parent != log_directory(settings):
            log.parent.mkdir(parents=True, exist_ok=True)
        else:
            owner_only.state_part(log.parent.parent, log.parent.name)
        os.close(owner_only.open_file(log, append=True))
        with os.fdopen(owner_only.open_file(log4j), "w", encoding="utf-8") as file:
            file.write(_LOG4J.format(log=log))
    except OSError as error:
        raise SetupError(
            "Spark's log cannot be written",
            where=str(error.filename or log),
            why=error.strerror or str(error),
            todo="set `log_dir` under [spark] to a directory of your own",
        ) from None
    return log4j


def class_archive() -> Path:
    """The archive of Spark's parsed classes for this environment (class_data_sharing.py)."""
    return Path(sys.prefix) / "share" / "causeway" / "spark-classes.jsa"


def shared_classes() -> str:
    """The JVM options for that archive, if it exists and its path can be passed."""
    path = class_archive()
    usable = path.is_file() and " " not in str(path)  # Spark splits options at spaces
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
    """Start a session that logs only to a file, with `slots` concurrent tasks if the master has them.

    Raises SetupError if fewer than `needed` slots register; if `stopping` is set meanwhile, returns the
    session as it is.
    """
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise SetupError("Spark needs Java 17 or newer", todo="install it, or set JAVA_HOME")
    hidden = launching.confidential(settings.properties)
    users = {name: secrets.resolve(value) for name, value in settings.properties.items()}
    settings = settings.model_copy(update={"properties": users})
    log = log_file or log_directory(settings) / f"spark-{os.getpid()}.log"
    log4j = _log_files(settings, log)
    # Workers would start with the system's python3 otherwise. The driver's interpreter does not exist on a
    # cluster's executors, so there the user chooses it; from within Python, Spark reads it only from this
    # variable.
    python = sys.executable if is_local(settings) else settings.properties.get("spark.pyspark.python")
    for name in (_PYTHON, _DRIVER, _ADDRESS):
        _before.setdefault(name, os.environ.get(name))
    if is_local(settings):
        # Spark's web UI, where a user asks for it, listens on every address unless this is set.
        os.environ.setdefault(_ADDRESS, "127.0.0.1")
    if python:
        os.environ[_PYTHON] = python
    # py4j logs every call to a dead JVM with a traceback; Causeway reports it itself.
    logging.getLogger().addHandler(_QUIET)
    # At debug level it logs each call with its arguments: Spark's properties, with the secrets in them.
    _levels.append(_PY4J.level)
    _PY4J.setLevel(max(_PY4J.getEffectiveLevel(), logging.INFO))
    os.environ[_DRIVER] = str(os.getpid())
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
    try:
        launching.launch(properties, hidden, log)
        spark = builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 - whatever Spark raises, the user needs one line and the log
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
    """Whether the JVM is alive, the application runs, and executors exist or register in time.

    A master that was restarted without its state kills the executors of an application that it does not know,
    and never gives it others.
    """
    if not _goes_on(spark):
        return False
    if (spark.sparkContext.master or "").startswith("local["):
        return True
    return _wait_for_slots(spark, 1, stopping or threading.Event()) > 0


def stop(spark: SparkSession) -> None:
    """Stop the session. A JVM that was told to end before us has already exited: ignore py4j's errors."""
    with contextlib.suppress(*GONE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark.stop()


def end() -> None:
    """Undo what `start` did to this process, after `stop`: the JVM, the environment, the root logger.

    A session that is created later would run in this JVM, with the options that were chosen for mirrors.
    """
    logging.getLogger().removeHandler(_QUIET)
    if _levels:
        _PY4J.setLevel(_levels[0])
        _levels.clear()
    for name, value in _before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _before.clear()
    _blocks.clear()
    gateway = SparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if gateway is None or process is None or SparkContext._active_spark_context is not None:
        return  # it is not ours to end: the JVM started this process, or has another session
    SparkContext._gateway = SparkContext._jvm = None
    with contextlib.suppress(*GONE):
        gateway.shutdown()
    if process.stdin is not None:
        process.stdin.close()  # the JVM exits when it reads the end of its input
    try:
        process.wait(JVM_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def keep_scratch(spark: SparkSession) -> None:
    """Recreate the driver's scratch directories: Spark creates each once, and /tmp may be cleaned.

    PySpark passes orders in a temporary file, and the JVM looks for every block on disk before it creates it.
    """
    Path(str(spark.sparkContext._temp_dir)).mkdir(parents=True, exist_ok=True)
    for directory in _blocks:
        for number in range(BLOCK_DIRECTORIES):
            (directory / f"{number:02x}").mkdir(parents=True, exist_ok=True)


def _block_directories(settings: SparkSettings) -> set[Path]:
    """The block directories of all JVMs on this machine; our own are those that appear with our start."""
    bases = os.environ.get("SPARK_LOCAL_DIRS") or settings.properties.get("spark.local.dir") or "/tmp"
    return {found for base in bases.split(",") for found in Path(base).glob("blockmgr-*")}


def slots_of(spark: SparkSession) -> int:
    """How many tasks can run at once now. (A cluster's `defaultParallelism` is never less than two.)"""
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
    """Wait for executors: they register one after the other, some time after the start or after a loss."""
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
        # Otherwise a standalone master gives one application all its cores, and `causeway verify` beside a
        # mirror would wait for ever.
        "spark.cores.max": str(_cores(settings, slots)),
        "spark.executor.extraJavaOptions": _QUICK_JVM,
        # A hanging executor keeps its slot until it is declared dead: by default after 2 minutes.
        "spark.executor.heartbeatInterval": "2s",
        "spark.storage.blockManagerHeartbeatTimeoutMs": "20s",
        "spark.network.timeoutInterval": "2s",
        "spark.executor.heartbeat.maxFailures": "300",  # ten minutes without a driver, as by default
    }


def _cores(settings: SparkSettings, slots: int) -> int:
    """The cores that the slots need, rounded up to whole executors: a partial one would never start."""
    asked = settings.properties.get("spark.executor.cores", "")
    of_executor = max(1, int(asked)) if asked.isdigit() else 1
    return -(-slots // of_executor) * of_executor


def first_line(error: BaseException) -> str:
    """The line of Spark's error that says what failed.

    That is its first line, without py4j's line that names the called method; if a Python worker raised, the
    exception at the end of its traceback.
    """
    lines = [line.strip().removeprefix(": ") for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith("An error occurred while calling")]
    if lines and lines[0].startswith("An exception was thrown from the Python worker"):
        lines = [line for line in lines if _EXCEPTION.match(line)][-1:] or lines
    return (lines or [type(error).__name__])[0]
