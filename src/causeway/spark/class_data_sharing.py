"""Class data sharing: Spark's classes are parsed once and mapped at every start.

That saves nearly half of the cost of a start. `python -m causeway.spark.class_data_sharing` creates the
archive, once for each environment (`scripts/setup` does). It fits one JVM and one set of jars. A JVM that it
does not fit, or that finds it damaged, ignores it and starts without it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark import SparkContext

from causeway.config import SparkSettings
from causeway.spark import session


def make() -> None:
    """Run what every mirror runs, and let the JVM archive the classes that it loaded."""
    path = session.class_archive()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        settings = SparkSettings(log_dir=directory)
        spark = session.start(settings, 1, "causeway", jvm=f"-XX:ArchiveClassesAtExit={unfinished}")
        rows = spark.createDataFrame(pa.table({"row": [1]}))
        rows.mapInArrow(_same, "row long").collect()
        spark.stop()
        # The JVM writes the archive when it exits, and it exits when its stdin is closed.
        process = SparkContext._gateway.proc  # type: ignore[union-attr]
        process.stdin.close()
        process.wait()
    unfinished.rename(path)


def _same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    make()
    print(f"{session.class_archive()} made", file=sys.stderr)
