"""The header that names a record's first cluster, so that the record is not replicated back to it."""

from __future__ import annotations

from causeway.rules.header_names import Headers

HEADER = "causeway-origin"


def marked(headers: Headers | None, origin: bytes) -> Headers:
    """The headers with the mark; an existing mark stays the only one."""
    if headers and any(name == HEADER for name, _ in headers):
        return headers
    return [*(headers or ()), (HEADER, origin)]


def comes_from(headers: Headers | None, cluster_id: bytes) -> bool:
    """Whether the record came first from that cluster."""
    return bool(headers) and any(name == HEADER and value == cluster_id for name, value in headers or ())
