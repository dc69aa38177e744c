"""What a configuration may be at most: its size, its depth, its number of values.

Whoever writes a file that Causeway reads must not be able to fill its memory or to keep it busy.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from causeway.errors import ConfigError

LARGEST_BYTES = 2 * 1024 * 1024
SMALL_BYTES = 64 * 1024
"""Of files with one line for each setting: the largest that tools come with have 10 KiB."""
DEEPEST = 32
MOST_VALUES = 100_000
MOST_REFERENCES = 1_000
LONGEST_RESOLVED = 16 * 1024
"""Of a setting whose references are replaced: a name, an address or a token, not a file's whole content."""

_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{DEEPEST}}}")
"""Parsers take quadratic time for keys such as a.a.a.a…"""


def is_file(path: Path) -> bool:
    """Whether there is such a file. A name that no file can have is no error."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path, most: int = LARGEST_BYTES) -> bytes:
    """A file's content; raises ConfigError if it cannot be read, or is larger than any configuration."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise unreadable(f"{path}: {error.strerror or 'cannot be read'}") from None
    except ValueError:  # a path that no file can have
        raise unreadable(f"{path}: cannot be read") from None
    if len(content) > most:
        raise unreadable(f"{path}: larger than {most // 1024} KiB")
    return content


def decoded(content: bytes, name: str) -> str:
    """The text of a file in UTF-8, with or without a byte order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise unreadable(f"{name}: byte {error.start}: not UTF-8") from None


def check_keys(text: str, name: str) -> None:
    if _LONG_KEY.search(text):
        raise unreadable(f"{name}: a key has more than {DEEPEST} parts")


def check_shape(tree: Any, name: str) -> None:
    """Raises ConfigError for a tree that is too deep or has too many values or references; never recurses."""
    level, count, references = [tree], 0, 0
    for _ in range(DEEPEST):
        count += len(level)
        references += sum(value.count("${") for value in level if isinstance(value, str))
        if references > MOST_REFERENCES:
            raise unreadable(f"{name}: has more than {MOST_REFERENCES:,} references")
        if count > MOST_VALUES:
            raise unreadable(f"{name}: has more than {MOST_VALUES:,} values")
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise unreadable(f"{name}: nested too deeply")


def unreadable(problem: str) -> ConfigError:
    return ConfigError("the configuration cannot be read", problems=(problem,))
