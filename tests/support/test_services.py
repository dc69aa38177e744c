"""Marks follow from what a test uses, and a test without `integration` cannot start Java unnoticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from causeway.errors import SetupError
from causeway.local_kafka.java import find_java
from support.process import causeway_command

TESTS = Path(__file__).parents[1]

FORGOTTEN = """
import contextlib
from causeway.errors import SetupError
from causeway.local_kafka.java import find_java

def test_forgotten():
    with contextlib.suppress(SetupError):
        find_java()

def test_without():
    pass

def test_broker(source):
    pass
"""


def pytest_of(file: Path, *arguments: str) -> str:
    """The output of pytest for a file outside of the tests, with their conftest."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        *arguments,
        str(file),
    ]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        command, cwd=file.parent, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr


def test_there_is_no_java_without_the_mark() -> None:
    with pytest.raises(SetupError, match="no Java 17"):
        find_java()
    Path(os.environ["JAVA_STARTED"]).unlink()  # it was meant


@pytest.mark.integration
def test_there_is_java_with_the_mark() -> None:
    assert find_java()


def test_a_test_that_starts_java_without_the_mark_fails_even_if_it_hides_that(tmp_path: Path) -> None:
    file = tmp_path / "test_made.py"
    file.write_text(FORGOTTEN)

    told = pytest_of(file, "-m", "not integration")

    assert "this test starts Java (a broker or Spark): it needs the mark `integration`" in told
    assert "2 passed, 1 deselected" in told
    assert "1 error" in told


def test_a_command_of_a_test_without_the_mark_spark_has_the_tests_executor() -> None:
    assert causeway_command("run")[1].endswith("without_spark.py")


@pytest.mark.spark
def test_a_command_of_a_test_with_the_mark_spark_is_the_product() -> None:
    assert causeway_command("run")[1:] == ["-m", "causeway", "run"]
