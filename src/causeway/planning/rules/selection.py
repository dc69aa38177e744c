"""Which topics a mirror replicates.

An entry that has only legal topic characters is a name; anything else is a regular expression that must match
the whole name. Internal topics (`__…`, Causeway's own among them) match only by name. An excluded topic is
left out, however it was selected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_INTERNAL = "__"


def is_name(entry: str) -> bool:
    return _NAME.fullmatch(entry) is not None


def select(names: Iterable[str], entries: Sequence[str], exclude: Sequence[str] = ()) -> list[str]:
    """The topics among `names` that match the entries and do not match `exclude`, sorted."""
    left_out = [re.compile(re.escape(entry) if is_name(entry) else entry) for entry in exclude]
    exact = {entry for entry in entries if is_name(entry)}
    patterns = [re.compile(entry) for entry in entries if not is_name(entry)]
    return sorted(
        name
        for name in set(names)
        if (
            name in exact
            or (not name.startswith(_INTERNAL) and any(pattern.fullmatch(name) for pattern in patterns))
        )
        and not any(pattern.fullmatch(name) for pattern in left_out)
    )


def absent(names: Iterable[str], entries: Sequence[str]) -> list[str]:
    """Entries that are names of topics that do not exist."""
    known = set(names)
    return [entry for entry in entries if is_name(entry) and entry not in known]


@lru_cache(maxsize=256)
def nearest(entry: str, names: frozenset[str]) -> str:
    """The topic name most like this entry; empty if none is like it.

    The literal part of a pattern is compared, also with the beginnings of names: most patterns end in a
    wildcard. The result is cached: with tens of thousands of topics it takes a second, and plans are made
    repeatedly.
    """
    literal = entry if is_name(entry) else _literal(entry)
    if not literal:
        return ""
    length = len(literal)
    beginnings: dict[str, str] = {}
    for name in sorted(names):
        if not name.startswith(_INTERNAL):
            beginnings.setdefault(name, name)
            if not is_name(entry):
                beginnings.setdefault(name[:length], name)
    found = get_close_matches(literal, beginnings, n=1)
    return beginnings[found[0]] if found else ""


def _literal(pattern: str) -> str:
    """The literal characters of a regular expression."""
    plain = re.sub(r"\[[^\]]*\]|\{[^}]*\}|(?<!\\)\.[*+?]?|[*+?^$()|]", "", pattern)
    return plain.replace("\\", "")
