"""What Go's linker writes into every binary: the toolchain's version and the flags of the build.

`go version -m FILE` prints it. It is read here because the version must be named where there is no `go` too.
The format is that of Go 1.18 and later.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

_MAGIC = b"\xff Go buildinf:"
_ALIGNMENT = 16
_HEADER = 32
_INLINE = 0x02  # a flag: the strings follow the header; before Go 1.18 there were addresses
_SENTINEL = 16  # bytes before and after the settings


@dataclass(frozen=True)
class GoBuild:
    version: str  # as in "go1.26.8"; empty before Go 1.18
    experiments: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        flags = [f"{name}={self.settings[name]}" for name in ("GOOS", "GOARCH") if name in self.settings]
        return " ".join([self.version or "a Go before 1.18", *flags])


def read_build(content: bytes) -> GoBuild | None:
    """None for a file that Go has not linked."""
    older = None
    for at in _places(content):
        if not content[at + 15] & _INLINE:
            older = GoBuild("")
            continue
        with suppress(IndexError, UnicodeDecodeError):
            version, end = _text(content, at + _HEADER)
            if version.startswith(("go1", "devel")):
                settings, _ = _text(content, end, _SENTINEL)
                name, _, experiments = version.partition(" X:")
                return GoBuild(name, experiments, dict(_settings(settings)))
    return older


def _places(content: bytes) -> Iterator[int]:
    at = content.find(_MAGIC)
    while 0 <= at <= len(content) - _HEADER:
        if at % _ALIGNMENT == 0:  # else it is a constant of a program that reads such binaries
            yield at
        at = content.find(_MAGIC, at + 1)


def _text(content: bytes, at: int, around: int = 0) -> tuple[str, int]:
    """The text at an offset, after its length as a varint; and where it ends."""
    length = shift = 0
    while True:
        byte = content[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if at + length > len(content):
        raise IndexError(length)
    return content[at + around : at + length - around].decode(), at + length


def _settings(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        kind, _, setting = line.partition("\t")
        name, equals, value = setting.partition("=")
        if kind == "build" and equals:
            if value.startswith('"'):
                with suppress(ValueError):
                    value = str(json.loads(value))
            yield name, value
