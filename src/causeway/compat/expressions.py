"""Translates Go's and Java's regular expressions for a mirror's `topics` and `exclude`.

Those take Python expressions that match whole names. Most expressions for topics mean the same in all
three languages. This module rejects what Python cannot compile or reads differently; it never guesses.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]", re.DOTALL)
"""Escapes and sets: braces and parentheses inside them are literal."""
_POSIX = re.compile(r"\[:\^?\w+:\]")
_GO_GROUP = re.compile(r"\(\?(?!:|P?<\w|[imsU-]+[:)])")
_NO_LOWER_BOUND = re.compile(r"\{,\d+\}")
_NO_QUANTIFIER = re.compile(r"\{(?!\d+(?:,\d*)?\})")
_FLAGS = re.compile(r"\(\?([ims]+)\)")


def go(text: str) -> str:
    """An expression that matches the whole names in which Go's finds a match; ValueError gives the reason."""
    for piece in _PIECE.findall(text):
        if posix := _POSIX.search(piece):
            raise ValueError(f"{posix[0]} is not a set in Python; write its characters, such as [a-z0-9]")
    bare = _PIECE.sub("", text)
    if group := _GO_GROUP.search(bare):
        raise ValueError(f"Go has no group that begins with {bare[group.start() : group.end() + 1]}")
    if brace := _NO_LOWER_BOUND.search(bare):
        raise ValueError(f"{brace[0]} is a repetition in Python, but plain text in Go")
    _readable(text)
    if text == ".*":
        return text
    flags = _FLAGS.match(text)  # Python accepts them only at the very beginning
    return f".*(?{flags[1]}:{text[flags.end() :]}).*" if flags else f".*(?:{text}).*"


def java(entries: Sequence[str]) -> list[str]:
    """MirrorMaker 2's entries, one of which must match the whole name; ValueError gives the reason."""
    joined = "|".join(entries)
    unescaped = re.sub(r"\\.", "", joined)
    if re.search(r"\[[^\]]*\[", unescaped):
        raise ValueError("a set within a set is a union in Java, but not in Python")
    _readable(joined)
    bare = _PIECE.sub("", joined)
    if brace := _NO_QUANTIFIER.search(bare):
        after = bare[brace.start() :][:6]
        raise ValueError(f'"{after}" is not a repetition; a comma separates entries, also between braces')
    # Flags of one entry also apply to the entries after it, and parentheses may span commas.
    together = len(entries) > 1 and (_FLAGS.search(joined) or not all(map(_is_readable, entries)))
    return [_as_expression(entry) for entry in ([joined] if together else entries)]


def _as_expression(entry: str) -> str:
    """Without a dot it is a name in both. With one it is a name to Causeway; Java's dot matches anything."""
    return f"(?:{entry})" if "." in entry and _NAME.fullmatch(entry) else entry


def _readable(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "possible nested set": the meaning is ambiguous in Python
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError, FutureWarning) as error:
            raise ValueError(f"Python cannot compile it, or reads it differently: {error}") from None


def _is_readable(text: str) -> bool:
    try:
        _readable(text)
    except ValueError:
        return False
    return True


def outside_braces(text: str) -> str:
    """The expression without its repetitions, escapes and sets."""
    return re.sub(r"\{\d*,?\d*\}", "", _PIECE.sub("", text))
