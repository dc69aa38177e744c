"""A mirror as its running process reports it."""

from __future__ import annotations

from causeway.cli.api_client import ApiClient
from causeway.errors import Unreachable
from causeway.web.api_schema import ApiMirror


def of_process(api: ApiClient, name: str) -> ApiMirror:
    """Raises Unreachable if the process does not respond, or does not run this mirror."""
    mirrors = api.process().mirrors
    for mirror in mirrors:
        if mirror.name == name:
            return mirror
    running = ", ".join(mirror.name for mirror in mirrors) or "none yet"
    raise Unreachable(f"the process at {api.address} does not run it: it runs {running}", where=name)
