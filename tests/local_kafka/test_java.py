"""Finding Java: what `java -version` says, and where it is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.errors import SetupError
from causeway.local_kafka.java import find_java, parse_major


@pytest.mark.parametrize(
    ("output", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=y\nopenjdk version "17.0.1" 2021-10-19', 17),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
    ],
)
def test_major_version(output: str, major: int | None) -> None:
    assert parse_major(output) == major


def fake_java(home: Path, version: str, exit_status: int = 0) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {exit_status}\n")
    java.chmod(0o755)
    return java


def test_java_home_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home = fake_java(tmp_path / "home", "21.0.1")
    on_path = fake_java(tmp_path / "path", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_java() == at_home


def test_an_old_java_home_gives_way_to_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "home", "11.0.2")
    on_path = fake_java(tmp_path / "path", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_java() == on_path


def test_no_java_says_what_was_looked_at_and_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path / "home", "11.0.2")
    broken = fake_java(tmp_path / "path", "17.0.1", exit_status=1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(broken.parent))
    with pytest.raises(SetupError) as caught:
        find_java()
    assert "is Java 11" in caught.value.why
    assert f"{broken}) is not a working Java" in caught.value.why
    assert "openjdk-17-jre-headless" in caught.value.todo
    assert len(caught.value.todo.splitlines()) == 2


def test_nothing_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="no java on PATH"):
        find_java()
