"""Serves Causeway's metrics and page at the address where the tool served its metrics."""

from __future__ import annotations

import re

from causeway.compat.translation import Translation
from causeway.config.config_tree import shown
from causeway.core.choices import Compat

_ADDRESS = re.compile(r"(?P<host>[^\s:\[\]]*|\[[0-9a-fA-F:.%]+\]):(?P<port>\d{1,5})")


def listen(translation: Translation, key: str, address: str, compat: Compat) -> None:
    """`address` in Go's format: "host:port", or ":port" for all addresses of the machine."""
    if not address:
        return
    found = _ADDRESS.fullmatch(address)
    if found is None or int(found["port"]) > 65_535:
        translation.problem(key, f'must be "host:port" or ":port", not {shown(address)}')
        return
    host = found["host"].strip("[]") or "0.0.0.0"
    translation.others["web"] = {"host": host, "port": int(found["port"])}
    translation.others["metrics"] = {"compat": [compat]}
    translation.note(key, f"/metrics is there, with {translation.tool}'s names beside Causeway's own")
