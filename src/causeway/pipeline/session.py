"""The Spark session: quiet, local by default, and with a slot for every shard."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from causeway.config import SparkSettings
from causeway.errors import SetupError

Spark = SparkSession

TASK_FAILURES = 100
"""How often a task may die (a killed worker) before its slice fails; `local[N]` would never retry."""

_QUICK_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The JVM schedules and carries no records: compiling little nearly halves what its start costs."""

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
    settings: SparkSettings, slots: int, app: str, log_file: Path | None = None, jvm: str | None = None
) -> SparkSession:
    """A session whose every word goes to a file; `slots` tasks run at once on a local master."""
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise SetupError("Spark needs Java 17 or newer", todo="install it, or set JAVA_HOME")
    log = log_file or log_directory(settings) / f"spark-{os.getpid()}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log4j = log.with_suffix(".log4j2.properties")
    log4j.write_text(_LOG4J.format(log=log))
    # Workers would start with the system's python3 otherwise. The driver's interpreter does not exist
    # on a cluster's executors, so there it is the user's choice.
    if is_local(settings):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["CAUSEWAY_DRIVER_PID"] = str(os.getpid())
    builder = SparkSession.builder.appName(app)
    for name, value in {
        **_properties(settings, slots, log4j, shared_classes() if jvm is None else jvm),
        **settings.properties,
    }.items():
        builder = builder.config(name, value)
    with _output_into(log):
        try:
            return builder.getOrCreate()
        except Exception as error:  # noqa: BLE001 - whatever Spark says, the user needs one line and the log
            raise SetupError(
                "Spark did not start", where=settings.master, why=_first_line(error), todo=f"see {log}"
            ) from None


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
        properties |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return properties


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


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
