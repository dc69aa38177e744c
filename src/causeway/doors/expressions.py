"""Regular expressions of Go and Java, as the mirror's `topics` and `exclude` take them.

Those are Python's and match whole names. Most of what people write for topics means the same in all
three; what Python cannot read, or reads in another way, is refused here and never guessed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]", re.DOTALL)
"""Escapes and sets: in them braces and parentheses mean nothing."""
_POSIX = re.compile(r"\[:\^?\w+:\]")
_GO_GROUP = re.compile(r"\(\?(?!:|P?<\w|[imsU-]+[:)])")
_NO_LOWER_BOUND = re.compile(r"\{,\d+\}")
_NO_QUANTIFIER = re.compile(r"\{(?!\d+(?:,\d*)?\})")
_FLAGS = re.compile(r"\(\?([ims]+)\)")


def go(text: str) -> str:
    """What matches whole names where Go's expression finds something in them; ValueError says why not."""
    for piece in _PIECE.findall(text):
        if posix := _POSIX.search(piece):
            raise ValueError(f"{posix[0]} is no set in Python; write its characters, such as [a-z0-9]")
    bare = _PIECE.sub("", text)
    if group := _GO_GROUP.search(bare):
        raise ValueError(f"Go has no group that begins with {bare[group.start() : group.end() + 1]}")
    if brace := _NO_LOWER_BOUND.search(bare):
        raise ValueError(f"{brace[0]} is a repetition in Python, but plain text in Go")
    _readable(text)
    if text == ".*":
        return text
    flags = _FLAGS.match(text)  # Python takes them at the very beginning alone
    return f".*(?{flags[1]}:{text[flags.end() :]}).*" if flags else f".*(?:{text}).*"


def java(entries: Sequence[str]) -> list[str]:
    """Entries of which one must match the whole name, as MirrorMaker 2 has them; ValueError says why not."""
    joined = "|".join(entries)
    unescaped = re.sub(r"\\.", "", joined)
    if re.search(r"\[[^\]]*\[", unescaped):
        raise ValueError("a set within a set is a union in Java, but not in Python")
    _readable(joined)
    bare = _PIECE.sub("", joined)
    if brace := _NO_QUANTIFIER.search(bare):
        after = bare[brace.start() :][:6]
        raise ValueError(f'"{after}" is no repetition; a comma separates entries, also between braces')
    # Flags of one entry also hold for those behind it, and parentheses may reach across commas.
    together = len(entries) > 1 and (_FLAGS.search(joined) or not all(map(_is_readable, entries)))
    return [_as_expression(entry) for entry in ([joined] if together else entries)]


def _as_expression(entry: str) -> str:
    """Without a dot it is a name in both; with one it is a name for Causeway alone, and Java's dot is any."""
    return f"(?:{entry})" if "." in entry and _NAME.fullmatch(entry) else entry


def _readable(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "possible nested set": Python itself is not sure what is meant
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError, FutureWarning) as error:
            raise ValueError(f"Python reads it otherwise or not at all: {error}") from None


def _is_readable(text: str) -> bool:
    try:
        _readable(text)
    except ValueError:
        return False
    return True


def outside_braces(text: str) -> str:
    """The expression without its repetitions, escapes and sets."""
    return re.sub(r"\{\d*,?\d*\}", "", _PIECE.sub("", text))
