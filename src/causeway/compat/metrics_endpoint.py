"""Serves Causeway's metrics and page at the address where the tool served its metrics."""

from __future__ import annotations

import re

from causeway.compat.translation import Translation
from causeway.config.config_tree import shown
from causeway.config.observability import is_loopback
from causeway.core.choices import Compat

_ADDRESS = re.compile(r"(?P<host>[^\s:\[\]]*|\[[0-9a-fA-F:.%]+\]):(?P<port>\d{1,5})")


def listen(translation: Translation, key: str, address: str, compat: Compat) -> None:
    """`address` in Go's format: "host:port", or ":port" for all addresses of the machine."""
    if not address:
        return
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match["port"]) > 65_535:
        translation.problem(key, f'must be "host:port" or ":port", not {shown(address)}')
        return
    host = match["host"].strip("[]") or "0.0.0.0"
    translation.others["web"] = {"host": host, "port": int(match["port"])}
    translation.others["metrics"] = {"compat": [compat]}
    note = f"serves /metrics, with {translation.tool}'s metric names in addition to Causeway's own"
    if not is_loopback(host):
        # As the tool did: without a token, to every machine, by any name. Everything else needs the token.
        translation.others["web"] |= {"allowed_hosts": ["*"]}
        translation.others["metrics"] |= {"public": True}
        note += ", to every machine and without a token; the page and its API there need `token` under [web]"
    translation.note(key, note)
