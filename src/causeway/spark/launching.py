"""Starts Spark's JVM with its secrets in a file that only its owner can read, not on its command line."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from causeway.config import secrets

REDACTION = "spark.redaction.regex"
_REDACTED = "(?i)secret|password|token|access[.]?key"
"""Spark's own default: names of properties that its web UI and its event log do not show."""
_STRIPPED = ("spark.hadoop.", "spark.metrics.conf.")
"""Spark shows these properties twice, the second time without the prefix."""
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_UMASK = 0o077
"""Of the JVM and its Python workers: Spark would let others read the blocks that it writes to disk."""
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def confidential(properties: Mapping[str, str]) -> frozenset[str]:
    """Names of the properties that hold secrets, judged by a reference in the value, by the name, or by a
    value that is to be shown without a part of it."""
    return frozenset(
        name
        for name, value in properties.items()
        if secrets.has_reference(value) or secrets.redact(name, value) != value
    )


def redaction(names: Collection[str], users: str | None) -> dict[str, str]:
    """The property that hides these in Spark's web UI and event log, in addition to what it hides anyway."""
    if not names:
        return {}
    shown_as = {part for name in names for part in (name, *(name.removeprefix(one) for one in _STRIPPED))}
    exactly = (rf"^\Q{name}\E$" for name in sorted(shown_as))
    return {REDACTION: "|".join([users or _REDACTED, *exactly])}


def launch(properties: Mapping[str, str], hidden: Collection[str], log: Path) -> None:
    """Start the JVM with these properties, the hidden ones in a file; what it prints goes to the log.

    PySpark would put all of them on the command line, `--conf name=value`, which every user of the machine
    can read. Some must be known when the JVM starts (memory, repositories), so they cannot wait for the
    SparkContext, which passes all properties again, through its connection to the JVM.
    """
    if SparkContext._gateway is not None:
        return
    shown = SparkConf(loadDefaults=False)
    shown.setAll([(name, value) for name, value in properties.items() if name not in hidden])
    with _submitted_with({name: properties[name] for name in hidden}), log.open("ab") as output:
        # The JVM and its Python workers print warnings before log4j is set up. Only their output is
        # redirected: this process, and whatever else it starts meanwhile, keeps its own.
        options = {"stdout": output, "stderr": output, "umask": _UMASK}
        gateway = launch_gateway(shown, options)  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway, conf=shown)


def as_properties(values: Mapping[str, str]) -> str:
    """Java's properties format, in UTF-8."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in values.items())


def _escaped(value: str) -> str:
    text = re.sub(r"[\\\n\r\t\f]", lambda found: _ESCAPED[found[0]], value)
    return f"\\{text}" if text.startswith(" ") else text


@contextlib.contextmanager
def _submitted_with(values: Mapping[str, str]) -> Iterator[None]:
    """Pass these to spark-submit in a properties file, which is deleted once the JVM has read it."""
    if not values:
        yield
        return
    before = os.environ.get(_ARGUMENTS)
    handle, name = tempfile.mkstemp(prefix="causeway-", suffix=".properties")  # readable only by its owner
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(as_properties(values))
        # Without --load-spark-defaults, a properties file would replace spark-defaults.conf.
        options = f"--properties-file {shlex.quote(name)} --load-spark-defaults"
        os.environ[_ARGUMENTS] = f"{options} {before or 'pyspark-shell'}"
        yield
    finally:
        Path(name).unlink(missing_ok=True)
        if before is None:
            os.environ.pop(_ARGUMENTS, None)
        else:
            os.environ[_ARGUMENTS] = before
