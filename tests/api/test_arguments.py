"""What callers pass: configurations in any form, and wrong arguments as one clear line."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import causeway

TEXT = """
[clusters.paris]
bootstrap_servers = "paris-1:9092"
[clusters.tokyo]
bootstrap_servers = "tokyo-1:9092"
[[mirrors]]
name = "orders"
source = "paris"
destination = "tokyo"
topics = ["orders"]
"""


def test_a_file_and_its_text_are_the_same_configuration(tmp_path: Path) -> None:
    path = tmp_path / "mirror.toml"
    path.write_text(TEXT)
    assert causeway.load(TEXT) == causeway.load(path) == causeway.load(str(path))


@pytest.mark.parametrize(
    "overrides",
    [
        {"mirrors.orders.shards": 2, "clusters.paris.properties.sasl.password": "a=b", "web.enabled": False},
        ["mirrors.orders.shards=2", "clusters.paris.properties.sasl.password=a=b", "web.enabled=false"],
    ],
)
def test_overrides_are_a_mapping_or_texts(overrides: Any) -> None:
    settings = causeway.load(TEXT, overrides)
    assert settings.mirrors[0].shards == 2
    assert settings.clusters["paris"].properties == {"sasl.password": "a=b"}
    assert not settings.web.enabled


def test_problems_of_a_text_are_all_reported() -> None:
    with pytest.raises(causeway.ConfigError) as raised:
        causeway.load(TEXT.replace('"paris"', '"lyon"').replace("topics", "tpoics"))
    assert len(raised.value.problems) > 1
    assert all(problem.startswith("the text: ") for problem in raised.value.problems)
    with pytest.raises(causeway.ConfigError, match="cannot be read") as raised:
        causeway.load("[clusters\n")
    assert raised.value.problems[0].startswith("the text: line 1")


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: causeway.load(7), "a path or TOML text is needed, not int"),  # type: ignore[arg-type]
        (lambda: causeway.load(TEXT, "a=b"), "overrides must be a mapping"),
        (lambda: causeway.load(TEXT, [7]), 'texts like "key=value", not int'),  # type: ignore[list-item]
        (lambda: causeway.check(None), "a path or TOML text is needed, not NoneType"),  # type: ignore[arg-type]
        (lambda: causeway.check(TEXT, mirrors=[]), "mirrors is empty"),
        (lambda: causeway.check(TEXT, mirrors=[7]), "mirrors must be names"),  # type: ignore[list-item]
        (lambda: causeway.run(TEXT, on_status=7), "on_status must be callable"),  # type: ignore[arg-type]
        (lambda: causeway.run(TEXT, spark="local"), "spark must be a SparkSession, not str"),
        (lambda: causeway.verify(TEXT, spark=7), "spark must be a SparkSession, not int"),
        (lambda: causeway.verify(TEXT, timeout="5m"), "timeout must be a number"),  # type: ignore[arg-type]
        (
            lambda: causeway.adopt(TEXT, origin="timestamp", at="2026-01-31"),  # type: ignore[arg-type]
            "at must be a datetime",
        ),
    ],
)
def test_arguments_of_a_wrong_type_are_type_errors(call: Any, wanted: str) -> None:
    with pytest.raises(TypeError, match=wanted) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: causeway.check(TEXT, mirrors="lyon"), "no mirror is named lyon"),
        (lambda: causeway.Runner(TEXT, mirrors=["orders", "lyon"]), "no mirror is named lyon"),
        (lambda: causeway.verify(TEXT, mirrors="lyon"), "no mirror is named lyon"),
        (lambda: causeway.adopt(TEXT, origin="end"), "origin is 'end'"),  # type: ignore[arg-type]
        (lambda: causeway.adopt(TEXT, origin="timestamp"), "needs `at`"),
        (lambda: causeway.adopt(TEXT, origin="group", at=datetime(2026, 1, 1)), "needs `at`"),  # noqa: DTZ001
        (lambda: causeway.adopt(TEXT, origin="destination-end", group="g"), "`group` belongs to"),
        (lambda: causeway.adopt(TEXT, origin="group", window=3), "window is 3: must be from 10"),
        (lambda: causeway.Runner(TEXT).wait(), "was not started"),
        (lambda: causeway.Runner(TEXT).pause(), "the mirrors do not run"),
        (lambda: causeway.Runner(TEXT).pause("lyon"), "no mirror lyon"),
    ],
)
def test_arguments_that_make_no_sense_are_usage_errors(call: Any, wanted: str) -> None:
    with pytest.raises(causeway.UsageError, match=wanted):
        call()


def test_a_spark_connect_session_is_refused() -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(causeway.UsageError, match="Spark Connect session cannot run mirrors"):
        causeway.run(TEXT, spark=remote)
