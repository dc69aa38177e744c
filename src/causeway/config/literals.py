"""Secrets that are written in the configuration itself: where, never what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from causeway.config import secrets
from causeway.config.config_tree import Document, KeyPath, dotted
from causeway.config.overrides import PREFIX

_ON_COMMAND_LINE = "-X "


@dataclass(frozen=True)
class LiteralSecret:
    origin: str  # the file, or the option
    key: str
    cluster: str = ""  # alias of the cluster that it belongs to, if any

    def __str__(self) -> str:
        if self.origin.startswith(_ON_COMMAND_LINE):
            return f"{self.key} is on the command line in plain text: every user of the machine can read it"
        return f"{self.origin}: {self.key} is in plain text"


def literal_secrets(document: Document) -> tuple[LiteralSecret, ...]:
    """Those of files and of options; in a variable of its own a secret is where it may be."""
    found = dict.fromkeys(
        LiteralSecret(document.origin(path), dotted(path), str(path[1]) if path[0] == "clusters" else "")
        for at, table, _ in document.tables()
        for path, name, value in _values(at, table)
        if secrets.redact(name, value) == "***" and not secrets.has_reference(value)
    )
    return tuple(secret for secret in found if not secret.origin.startswith(PREFIX))


def _values(path: KeyPath, value: Any, name: str = "") -> Iterator[tuple[KeyPath, str, str]]:
    """Every text in a table, however deep, with the name that says what it is."""
    waiting = [(path, name, value)]
    while waiting:
        at, name, inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += [((*at, key), key, each) for key, each in reversed(inner.items())]
        elif isinstance(inner, list | tuple):
            waiting += [((*at, index), name, each) for index, each in enumerate(inner)]
        elif isinstance(inner, str) and inner:
            yield at, name, inner
