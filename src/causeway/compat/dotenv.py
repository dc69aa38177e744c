"""Parses a `.env` file as a shell would, without running one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>.*?)(?P=quote)\s*(?:#.*)?""")
_COMMENT = re.compile(r"(?:^|(?<!\s)\s+)#.*")


@dataclass
class Dotenv:
    """The contents of a file; remarks and problems are keyed by line number."""

    values: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    """The line of each variable."""
    remarks: dict[int, str] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)


def parse(text: str) -> Dotenv:
    parsed = Dotenv()
    for number, line in enumerate(re.split(r"\r?\n", text), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if not match:
            parsed.problems[number] = "must be NAME=VALUE"
            continue
        name = match["name"]
        value = _value(match["value"])
        if value is None:
            parsed.problems[number] = f"{name}: a quote is not closed, or something follows it"
            continue
        if "$" in value and not match["value"].startswith("'"):
            parsed.problems[number] = f'{name}: "$" is not expanded here; write the value itself'
            continue
        if name in parsed.values:
            parsed.remarks[number] = f"{name} is given twice; this line is used"
        parsed.values[name], parsed.lines[name] = value, number
    return parsed


def _value(text: str) -> str | None:
    """Quoted text unchanged, other text without its trailing comment; None if the quotes do not match."""
    if text[:1] not in ("'", '"'):
        return _COMMENT.sub("", text, count=1).strip()
    quoted = _QUOTED.fullmatch(text)
    return quoted["text"] if quoted else None
