"""Parses flags like Go's `flag` package: `-name`, `--name=value`, `--name value`, booleans without a value.

One rule is stricter: Go stops at the first argument that is not a flag and ignores all that follow, so
`--preserve.partitions true --prefix x` loses the prefix; here that is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from causeway.config.problems import nearest
from causeway.errors import UsageError

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_WHOLE = re.compile(r"([-+]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])*|[1-9](?:_?[0-9])*)")


@dataclass(frozen=True)
class CommandFlag:
    name: str
    kind: Literal["text", "texts", "number", "boolean"]
    default: str  # as the help shows it
    means: str  # what Causeway does with it, for the help


@dataclass
class GivenFlags:
    """The flags present on a command line, with the last value of each."""

    values: dict[str, Any] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)
    help: bool = False

    def text(self, name: str) -> str:
        return str(self.values.get(name, ""))

    def texts(self, name: str) -> list[str]:
        return list(self.values.get(name, ()))

    def number(self, name: str) -> int | None:
        return self.values.get(name)

    def boolean(self, name: str) -> bool:
        return bool(self.values.get(name))


def parse(flags: Iterable[CommandFlag], arguments: Sequence[str]) -> GivenFlags:
    """Raises UsageError for what Go rejects, and for arguments that Go ignores."""
    known = {flag.name: flag for flag in flags}
    given = GivenFlags()
    waiting = list(arguments)
    before: CommandFlag | None = None
    while waiting:
        argument = waiting.pop(0)
        dashes = len(argument) - len(argument.lstrip("-"))
        if argument == "-" or not dashes or argument == "--":
            _refuse_rest([argument, *waiting] if argument != "--" else waiting, before)
            break
        name, equals, value = argument[dashes:].partition("=")
        if dashes > 2 or not name:
            raise UsageError(f"{argument.partition('=')[0]}: a flag has one or two dashes and a name")
        flag = known.get(name)
        if flag is None:
            if name in ("h", "help"):
                given.help = True
                continue
            meant = nearest(name, known).replace('"', '"--', 1)
            raise UsageError(f"unknown flag --{name}{meant}", todo="`--help` lists every flag")
        if flag.kind != "boolean" and not equals:
            if not waiting:
                raise UsageError(f"--{name} needs a value")
            value = waiting.pop(0)
        _put(given, flag, value if equals or flag.kind != "boolean" else "true")
        before = flag
    return given


def _refuse_rest(rest: Sequence[str], before: CommandFlag | None) -> None:
    if not rest:
        return
    todo = "flags begin with a dash"
    if before is not None and before.kind == "boolean" and rest[0] in (*_TRUE, *_FALSE):
        todo = f"a boolean is written --{before.name}={rest[0]}"
    # The text after "=" may be a secret whose -X was forgotten.
    raise UsageError(f'unexpected argument "{rest[0].partition("=")[0]}"', todo=todo)


def _put(given: GivenFlags, flag: CommandFlag, value: str) -> None:
    if flag.kind == "texts":
        given.values.setdefault(flag.name, []).append(value)
        return
    if flag.name in given.values and flag.name not in given.repeated:
        given.repeated.append(flag.name)
    given.values[flag.name] = _typed(flag, value)


def _typed(flag: CommandFlag, value: str) -> str | int | bool:
    if flag.kind == "boolean":
        if value not in (*_TRUE, *_FALSE):
            raise UsageError(f'--{flag.name} must be true or false, not "{value}"')
        return value in _TRUE
    if flag.kind == "number":
        number = whole_number(value)
        if number is None:
            raise UsageError(f'--{flag.name} must be an integer, not "{value}"')
        return number
    return value


def whole_number(text: str) -> int | None:
    """Go's `strconv.ParseInt` with base 0: 10000, 0x2710, 0o23420, 10_000; a leading 0 is octal."""
    match = _WHOLE.fullmatch(text)
    if match is None:
        return None
    digits = match[2].replace("_", "").lower()
    base = {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2], 8 if digits.startswith("0") else 10)
    number = int(digits, base) if digits != "0" else 0
    return -number if match[1] == "-" else number
