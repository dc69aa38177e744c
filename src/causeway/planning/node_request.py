"""An operator's request for a node of a source pool: which pool and node are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from causeway.core.clock import now_ms
from causeway.core.control_records import NodeRequest
from causeway.errors import UsageError


def node_request(
    pools: Mapping[str, Sequence[str]], pool: str, node: str, by: str, *, force: bool, where: str
) -> NodeRequest:
    """The request. `pools` are the mirror's pools with their nodes; `pool` may be empty if there is one.

    Raises UsageError if there is no such pool or node.
    """
    if not pools:
        raise UsageError("no source of this mirror is a pool", where=where)
    if not pool and len(pools) > 1:
        raise UsageError(f"the mirror has several pools: {', '.join(pools)}", where=where, todo="name one")
    name = pool or next(iter(pools))
    if name not in pools:
        raise UsageError(f"the mirror has no pool {name}: {', '.join(pools)}", where=where)
    if node and node not in pools[name]:
        raise UsageError(f"{node} is not a node of {name}: {', '.join(pools[name])}", where=where)
    return NodeRequest(name, node, by, now_ms(), force)
