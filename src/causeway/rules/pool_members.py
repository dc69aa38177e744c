"""Which clusters a source pool consists of, and the cluster id in its positions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from causeway.core.control_records import PoolMembers
from causeway.core.source_pool import SourcePool


@dataclass(frozen=True, slots=True)
class SettledPool:
    pool: SourcePool  # with its id, and the cluster ids of the nodes that may be read
    record: PoolMembers | None  # to be written to the ledger; None if it has this one
    rejected: Mapping[str, str]  # nodes that may not be read, and why

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(self.rejected.values())


class NotThePool(ValueError):
    """The ledger's positions are not this pool's."""


def settle_pool(
    pool: SourcePool,
    known: PoolMembers | None,
    responded: Mapping[str, str],
    first: str,
    replicated: Collection[str],
    at: int,
) -> SettledPool:
    """Compare the pool's nodes with the ledger's record of them.

    `responded` are cluster ids by the nodes' names; `first` is the node that a new pool begins with;
    `replicated` are cluster ids in the ledger's positions that are of no other source. Raises NotThePool if
    they may be a node's, and there is no record of the pool: whether the other nodes have the same records is
    not known then.
    """
    if known is None and replicated:
        of_nodes = [name for name, its_id in responded.items() if its_id in replicated]
        silent = [node.name for node in pool.nodes if node.name not in responded]
        if of_nodes or silent:
            raise NotThePool(", ".join(of_nodes or silent))
    pool_id = known.id if known is not None else responded[first]
    before = known.members if known is not None else {}
    members: dict[str, str] = {}
    refused: dict[str, str] = {}
    for node in pool.nodes:
        its_id = responded.get(node.name, "")
        other = next((name for name, taken in members.items() if taken == its_id and its_id), "")
        if before.get(node.name, its_id) != its_id and its_id:
            members[node.name] = before[node.name]
            refused[node.name] = (
                f'"{node.name}" is another cluster than before (id {its_id} now, {before[node.name]} then):'
                " give a new cluster a new alias"
            )
        elif other:
            refused[node.name] = f'"{node.name}" is the same cluster as "{other}"'
        elif its_id or node.name in before:
            members[node.name] = its_id or before[node.name]
    readable = {name: its_id for name, its_id in members.items() if name not in refused}
    nodes = tuple(replace(node, cluster_id=readable.get(node.name, "")) for node in pool.nodes)
    record = PoolMembers(pool.name, pool_id, members, at)
    same = known is not None and known.members == members
    return SettledPool(replace(pool, id=pool_id, nodes=nodes), None if same else record, refused)
