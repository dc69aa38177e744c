"""Secrets that can be recognized wherever they turn up, in each form that they may take there."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

MARK = "cAnArY"
"""In each of them. It has no meaning anywhere else."""


def canary(name: str) -> str:
    """A secret with characters that URLs, JSON, properties files and shells escape."""
    return f"{MARK}.{name}.%/+= \\\"'é"


def _base64(mark: bytes) -> Iterable[bytes]:
    """What the mark looks like inside of a longer text, at each of the three alignments."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + mark).rstrip(b"=")
        # Without what depends on the neighbours.
        yield encoded[{0: 0, 1: 2, 2: 3}[before] : len(encoded) - (1 if (before + len(mark)) % 3 else 0)]


FORMS = (
    MARK.encode(),
    MARK.encode("utf-16-le"),
    MARK.encode("utf-16-be"),
    MARK.encode().hex().encode(),
    MARK.encode().hex().upper().encode(),
    MARK[::-1].encode(),
    *_base64(MARK.encode()),
)
_ANY = re.compile(b"|".join(map(re.escape, FORMS)))


def found_in(content: bytes | str) -> list[str]:
    """What of a secret is there, with its surroundings."""
    raw = content.encode(errors="surrogateescape") if isinstance(content, str) else content
    return [repr(raw[max(0, match.start() - 60) : match.end() + 60]) for match in _ANY.finditer(raw)]


def everything_below(directory: Path, *, but: Iterable[Path] = ()) -> Mapping[str, bytes]:
    """Each file that can be read now."""
    left_out = set(but)
    contents = {}
    for path in directory.rglob("*"):
        if path in left_out:
            continue
        try:
            if path.is_file():
                contents[str(path)] = path.read_bytes()
        except OSError:
            continue  # it has gone
    return contents
