"""Which tests start a broker, a JVM or a browser, and with which executor Causeway runs in a test.

`integration` is set by the fixtures that a test uses, and by the marks `spark` and `deep`. A test that starts
a service in its own body has it as a mark; one that lacks it finds no Java, fails, and is told why.

`spark`: commands that the test starts run on real Spark. All others get the executor of processes. The option
`--spark` (`make faults`) sets the mark for every test.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

FIXTURES = frozenset({
    "behind", "brisk", "browser", "demos", "destination", "far", "frail", "guarded", "java", "line", "near",
    "nodes", "registry", "repository", "running", "schema_registry", "second", "secure", "secure_destination",
    "seen", "single", "source", "three", "triple", "with_three",
})  # fmt: skip
"""Fixtures that start a service; those that build on them are found through them."""

ON_SPARK = "spark"
"""The directory whose tests run on real Spark if they start Causeway."""

_NO_JAVA = Path(__file__).with_name("no_java")


def mark(item: pytest.Item, tests: Path) -> None:
    """Set the marks that follow from where a test is and what it uses."""
    deep = item.get_closest_marker("deep") is not None
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    used = FIXTURES.intersection(getattr(item, "fixturenames", ())) - parameters.keys()
    if used or deep or item.get_closest_marker("spark"):
        item.add_marker("integration")
    if deep or item.config.getoption("--spark") or item.path.is_relative_to(tests / ON_SPARK):
        item.add_marker("spark")


class WithoutJava:
    """Whatever starts Java meanwhile, in a child process too, fails, and can be found out."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self._started = Path(self._directory.name) / "started"
        self._patch = pytest.MonkeyPatch()
        self._patch.setenv("JAVA_STARTED", str(self._started))
        self._patch.setenv("JAVA_HOME", str(_NO_JAVA))
        self._patch.setenv("PATH", f"{_NO_JAVA / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def started(self) -> str:
        return self._started.read_text() if self._started.exists() else ""

    def end(self) -> None:
        self._patch.undo()
        self._directory.cleanup()
