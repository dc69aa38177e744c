"""Programs that use the API, as processes of their own: what they leave behind shows when they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from causeway.spark import session
from support.process import descendants, interruptible, send

WITHOUT_SPARK = """\
from support.without_spark import replace_spark
replace_spark()
"""
QUICK_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For sessions that programs create themselves, as for those of Causeway: they live for seconds."""

Program = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Start a program in the test's directory; without `spark`, with the tests' executor in its place."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *, spark: bool = False) -> subprocess.Popen[str]:
        path = tmp_path / f"program-{len(started)}.py"
        path.write_text(("" if spark else WITHOUT_SPARK) + code)
        search = os.pathsep.join((*(part for part in sys.path if part), os.environ.get("PYTHONPATH", "")))
        started.append(
            subprocess.Popen(
                [sys.executable, "-W", "error", str(path)],
                cwd=tmp_path,
                env={
                    **os.environ,
                    "PYTHONPATH": search,
                    "PYSPARK_PYTHON": sys.executable,
                    "JDK_JAVA_OPTIONS": f"{QUICK_JVM} {session.shared_classes()}",
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                preexec_fn=interruptible,
            )
        )
        return started[-1]

    yield start
    for process in started:
        send(signal.SIGKILL, [*descendants(process.pid), process.pid])
        process.communicate()


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    """What a program printed; it must end by itself, with this exit code."""
    output, _ = process.communicate(timeout=240)
    assert process.returncode == code, output
    return output
