"""Where a tool serves its metrics: there Causeway serves its own, and a page."""

from __future__ import annotations

import re

from causeway.config.document import shown
from causeway.config.watching import Compat
from causeway.doors.translation import Translation

_ADDRESS = re.compile(r"(?P<host>[^\s:\[\]]*|\[[0-9a-fA-F:.%]+\]):(?P<port>\d{1,5})")


def listen(translation: Translation, key: str, address: str, compat: Compat) -> None:
    """`address` as Go's servers take it: "host:port", and ":port" for all addresses of the machine."""
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
