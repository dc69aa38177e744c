"""Finds a Java that can run Kafka 4 and Spark 4: JAVA_HOME first, then PATH."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from causeway.errors import SetupError

OLDEST = 17

_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')


def find_java() -> Path:
    """The first Java of version 17 or newer; raises SetupError that lists the candidates."""
    seen: list[str] = []
    for origin, java in _candidates():
        major = _major_version(java) if java.is_file() else None
        if major is not None and major >= OLDEST:
            return java
        seen.append(f"{origin} {'is not a working Java' if major is None else f'is Java {major}'}")
    raise SetupError(
        f"no Java {OLDEST} or newer",
        why="; ".join(seen) or "JAVA_HOME is not set and there is no java on PATH",
        todo=(
            f"install a Java {OLDEST} runtime: `apt-get install openjdk-{OLDEST}-jre-headless`"
            f" or `brew install openjdk@{OLDEST}`,\n"
            "    or set JAVA_HOME to the directory of an installed one"
        ),
    )


def parse_major(output: str) -> int | None:
    """The major version in the output of `java -version`: 8 for "1.8.0_392", 17 for "17.0.15"."""
    match = _VERSION.search(output)
    if match is None:
        return None
    first, second = int(match[1]), match[2]
    # Up to Java 8 the major version was the second number.
    return int(second) if first == 1 and second is not None else first


def _candidates() -> list[tuple[str, Path]]:
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home) / "bin" / "java"
        candidates.append((f"JAVA_HOME ({java})", java))
    if on_path := shutil.which("java"):
        candidates.append((f"PATH ({on_path})", Path(on_path)))
    return candidates


def _major_version(java: Path) -> int | None:
    """None if it does not run; macOS has a /usr/bin/java that only offers to install one."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_major(done.stderr + done.stdout) if done.returncode == 0 else None
