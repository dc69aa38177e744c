"""Properties files as Java and as Go MirrorMaker read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.compat.properties_file import Dialect, read
from causeway.compat.translation import Translation


def parsed(path: Path, text: str | bytes, dialect: Dialect) -> tuple[dict[str, tuple[str, int]], Translation]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    translation = Translation("a tool", "a file")
    file = read(path, dialect, translation)
    return {key: (entry.value, entry.line) for key, entry in file.entries.items()}, translation


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "f.properties"


@pytest.mark.parametrize("dialect", ["go", "java"])
def test_keys_values_comments_and_lines(path: Path, dialect: Dialect) -> None:
    text = "# comment\n\na=1\nb = two \n  c:3\r\nd=x=y:z\n#e=5\nempty=\n"
    entries, translation = parsed(path, text, dialect)
    assert entries == {"a": ("1", 3), "b": ("two", 4), "c": ("3", 5), "d": ("x=y:z", 6), "empty": ("", 8)}
    assert not translation.problems
    assert not translation.notes


@pytest.mark.parametrize("dialect", ["go", "java"])
def test_a_continued_line(path: Path, dialect: Dialect) -> None:
    entries, _ = parsed(path, "a=1,\\\n    2,\\\n  #3\nb=4\nc=5\\", dialect)
    assert entries == {"a": ("1,2,#3", 1), "b": ("4", 4), "c": ("5", 5)}


@pytest.mark.parametrize("dialect", ["go", "java"])
def test_the_last_of_two_counts_and_a_comment_after_a_value_has_a_note(path: Path, dialect: Dialect) -> None:
    entries, translation = parsed(path, "a=1\na=2\nb=3 # three\n", dialect)
    assert entries == {"a": ("2", 2), "b": ("3 # three", 3)}
    assert translation.notes == [
        f"{path}:2: a: also on line 1; the last one is used",
        f'{path}:3: b: a comment needs its own line: here the "#" and what follows are part of the value',
    ]


def test_java_escapes(path: Path) -> None:
    text = "! comment\na\\ b\\:c=\\u0041\\t\\\\d\\.\ntopics foo\\\\..*\nalone\n"
    assert parsed(path, text, "java")[0] == {
        "a b:c": ("A\t\\d.", 2), "topics": ("foo\\..*", 3), "alone": ("", 4)
    }  # fmt: skip


def test_go_knows_no_escapes_and_no_case(path: Path) -> None:
    assert parsed(path, "Group.ID=a\\.b\\\\\n", "go")[0] == {"group.id": ("a\\.b\\\\", 1)}


def test_go_refuses_a_line_without_a_value(path: Path) -> None:
    _, translation = parsed(path, "a=1\nnonsense\n", "go")
    assert translation.problems == [f"{path}:2: is neither key=value nor a comment"]


def test_java_reads_latin_1(path: Path) -> None:
    entries, translation = parsed(path, "# M\xfcnchen\na=1\n".encode("latin-1"), "java")
    assert entries == {"a": ("1", 2)}
    assert not translation.problems


def test_a_file_that_does_not_exist(path: Path) -> None:
    translation = Translation("a tool", "a file")
    assert read(path, "go", translation).entries == {}
    assert read(path.parent, "go", translation).entries == {}
    assert translation.problems == [f"{path}: No such file or directory", f"{path.parent}: Is a directory"]
