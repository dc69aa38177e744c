"""The header that says which cluster a record came from first, so that it does not go back there."""

from __future__ import annotations

from causeway.policy.header_names import Headers

HEADER = "causeway-origin"


def marked(headers: Headers | None, origin: bytes) -> Headers:
    """The headers with the mark; one that is there already stays the only one."""
    if headers and any(name == HEADER for name, _ in headers):
        return headers
    return [*(headers or ()), (HEADER, origin)]


def comes_from(headers: Headers | None, cluster_id: bytes) -> bool:
    """Whether the record began its way in that cluster."""
    return bool(headers) and any(name == HEADER and value == cluster_id for name, value in headers or ())
