"""Properties files, as Java and Go MirrorMaker read them, with the line of each key for messages.

Java (`java.util.Properties`): `k=v`, `k: v` or `k v`, backslashes escape. Go MirrorMaker: `k=v`, keys
are case-insensitive, backslashes are literal. Both have comments and continued lines. In both the last one
of duplicate keys counts; a note reports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from causeway.compat.translation import Translation
from causeway.config.input_limits import SMALL_BYTES, decoded, read_bytes
from causeway.errors import ConfigError

Dialect = Literal["go", "java"]

_JAVA_KEY = re.compile(r"((?:\\.|[^\\\s=:])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_GO_KEY = re.compile(r"([^\s=:]+)[ \t]*[=:][ \t]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_WHITE = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertyEntry(NamedTuple):
    value: str
    line: int


@dataclass(frozen=True)
class PropertiesFile:
    name: str
    entries: Mapping[str, PropertyEntry] = field(default_factory=dict)

    def where(self, key: str) -> str:
        """`consumer.config:3: group.id`, for messages; without a line if the key is absent."""
        entry = self.entries.get(key)
        return f"{self.name}:{entry.line}: {key}" if entry else f"{self.name}: {key}"


def read(path: Path, dialect: Dialect, translation: Translation) -> PropertiesFile:
    """The file's keys; errors become problems of the translation."""
    try:
        text = _text(read_bytes(path, SMALL_BYTES), path, dialect)
    except ConfigError as error:
        for problem in error.problems:
            translation.problem("", problem)
        return PropertiesFile(str(path))
    entries: dict[str, PropertyEntry] = {}
    for number, line in logical_lines(text, dialect):
        try:
            pair = _pair(line, dialect)
        except ValueError as error:
            translation.problem(f"{path}:{number}", str(error))
            continue
        key, value = pair
        place = f"{path}:{number}: {key}"
        if key in entries:
            translation.note(place, f"also on line {entries[key].line}; the last one is used")
        if re.search(r"\s#", value):
            translation.note(
                place, 'a comment needs its own line: here the "#" and what follows are part of the value'
            )
        entries[key] = PropertyEntry(value, number)
    return PropertiesFile(str(path), entries)


def _text(content: bytes, path: Path, dialect: Dialect) -> str:
    """Java reads Latin-1. A file that is UTF-8 was written as UTF-8, whatever Java makes of it."""
    try:
        return decoded(content, str(path))
    except ConfigError:
        if dialect == "go":
            raise
        return content.decode("latin-1")


def logical_lines(text: str, dialect: Dialect) -> Iterator[tuple[int, str]]:
    """Lines joined with their continuations, each with its number; without comments and empty lines."""
    comment = ("#", "!") if dialect == "java" else ("#",)
    started = 0
    gathered: list[str] = []
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = natural.lstrip(" \t\f")
        if not gathered:
            if not line.strip() or line.startswith(comment):
                continue
            started = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            gathered.append(line[:-1])
            continue
        yield started, "".join((*gathered, line))
        gathered = []
    if any(gathered):
        yield started, "".join(gathered)


def _pair(line: str, dialect: Dialect) -> tuple[str, str]:
    """Strips white space around values: no key of these tools needs it. Raises ValueError without a key."""
    match = (_JAVA_KEY if dialect == "java" else _GO_KEY).fullmatch(line)
    if match is None or not match[1]:
        raise ValueError("is neither key=value nor a comment")
    if dialect == "go":
        return match[1].lower(), match[2].strip()
    return _unescaped(match[1]), _unescaped(match[2]).strip()


def _unescaped(text: str) -> str:
    """Java's escapes; a character outside the basic plane is written as two of them."""

    def replace(match: re.Match[str]) -> str:
        escaped = match[1]
        if escaped == "u":
            raise ValueError("has an escape that is not \\uXXXX")
        return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _WHITE.get(escaped, escaped)

    unescaped = _ESCAPE.sub(replace, text)
    try:
        return unescaped.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ValueError("has half of a character that takes two escapes") from None
