"""`causeway failover` of a mirror that does not run: its shards execute the request when it is started."""

from __future__ import annotations

from causeway.config import MirrorSettings, Settings
from causeway.core.control_records import NodeRequest
from causeway.operations.control_write import find_ledger_topic, write_control
from causeway.planning.clusters import cluster_of


def write_node_request(settings: Settings, mirror: MirrorSettings, request: NodeRequest, why: str) -> None:
    """`why`: the reason the mirror's API could not be used. Raises IntegrityError with it if it runs."""
    destination = cluster_of(settings, mirror.destination)
    write_control(destination, mirror, find_ledger_topic(destination, mirror.name), request, why)
