"""A Spark job over a small table, in its own thread, so that the caller can watch it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark import Accumulator, InheritableThread
from pyspark.sql import SparkSession

from causeway.spark.slice_job import ArrowTask

Counter = Accumulator[int]
"""The driver sees what a task adds once that task has ended."""


def counter(spark: SparkSession) -> Counter:
    return spark.sparkContext.accumulator(0)


class TableJob(InheritableThread):
    """table (a row for each task) ──► task (mapInArrow) ──► `rows`, or `failure`."""

    def __init__(
        self, spark: SparkSession, table: pa.Table, task: ArrowTask, ddl: str, group: str, description: str
    ) -> None:
        super().__init__(target=self._collect, daemon=True)
        self._spark, self._table, self._task, self._ddl = spark, table, task, ddl
        self._group, self._description = group, description
        self.rows: list[Any] = []
        self.failure: Exception | None = None

    def _collect(self) -> None:
        try:
            self._spark.sparkContext.setJobGroup(self._group, self._description)
            self.rows = self._spark.createDataFrame(self._table).mapInArrow(self._task, self._ddl).collect()
        except Exception as error:  # noqa: BLE001 - the caller waits, and raises it
            self.failure = error

    def cancel(self) -> None:
        self._spark.sparkContext.cancelJobGroup(self._group)
