"""`causeway failover`: read a source pool from another node.

A running mirror is asked over its API, and the command waits for its shards. For a mirror that does not run,
the request is written to its ledger, and its shards execute it when it is started.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from causeway.cli.api_address import ApiOptions
from causeway.cli.api_client import ApiClient, api_of
from causeway.cli.options import Authority, ClientCertificate, ConfigFile, OneMirror, Overrides, Url
from causeway.cli.running_mirror import of_process
from causeway.config import MirrorSettings, Settings, load
from causeway.core.plural import counted
from causeway.core.snapshot import ENDED
from causeway.errors import AccessDenied, PlanRefused, Unreachable
from causeway.kafka.ledger_access import who
from causeway.operations.failover import write_node_request
from causeway.planning.clusters import pool_of, the_one
from causeway.planning.node_request import node_request
from causeway.web.api_schema import ApiMirror, ApiNodeRequest

WAIT_SECONDS = 60.0
POLL_SECONDS = 0.2

PoolName = Annotated[str | None, typer.Option(help="The source pool, where the mirror has several.")]
ToNode = Annotated[str | None, typer.Option(help="The node to read from; otherwise the next fit one.")]
Force = Annotated[
    bool, typer.Option("--force", help="Also a node that lags, is dead or was not checked yet.")
]


def failover(
    config: ConfigFile,
    mirror: OneMirror = None,
    pool: PoolName = None,
    to: ToNode = None,
    force: Force = False,
    url: Url = None,
    ca: Authority = None,
    cert: ClientCertificate = None,
    override: Overrides = None,
) -> None:
    """Read a source pool from another node.

    A node that is not fit is refused without --force, and one at which records would be lost or repeated in
    any case. Exit 0 when every shard reads the node; 3 when a shard has refused it; 5 when a shard has not
    executed the request within a minute.
    """
    settings = load(config, override or [])
    print(
        _Failover(settings, the_one(settings, mirror), config, pool or "", to or "", force).made(
            ApiOptions(url, ca, cert)
        )
    )


class _Failover:
    def __init__(
        self, settings: Settings, mirror: MirrorSettings, config: Path, pool: str, node: str, force: bool
    ) -> None:
        self._settings = settings
        self._mirror = mirror
        self._name = mirror.name
        self._config = config
        pools = [found for alias in mirror.source if (found := pool_of(settings, alias)) is not None]
        nodes = {each.name: [node.name for node in each.nodes] for each in pools}
        self._request = node_request(nodes, pool, node, who(), force=force, where=f'mirror "{mirror.name}"')

    def made(self, options: ApiOptions) -> str:
        """Request it over the API or in the ledger; returns the message to print."""
        try:
            api = api_of(self._settings.web, options)
            mirror = of_process(api, self._name)
        except Unreachable as error:
            return self._in_ledger(str(error))
        if mirror.state in ENDED:
            return self._in_ledger(f"the process at {api.address} no longer runs it: it is {mirror.state}")
        if not self._settings.web.token:
            raise AccessDenied(
                "the mirror runs, and no token is configured: it cannot be asked to read from another node",
                where=f'mirror "{self._name}" at {api.address}',
                todo='set `token = "${env:CAUSEWAY_TOKEN}"` under [web], and restart the mirror',
            )
        request = self._request
        accepted = api.act(
            self._name, "failover", request.by, pool=request.pool, node=request.node, force=request.force
        )
        if mirror.state == "paused":
            return f"{self._name} is paused; its shards execute the request when it is resumed"
        return self._result(self._wait(api, accepted.request or 0))

    def _wait(self, api: ApiClient, at: int) -> ApiNodeRequest:
        """Poll until every shard has executed the request, or refused it."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            mirror = of_process(api, self._name)
            executed = next((pool.request for pool in mirror.pools if pool.name == self._request.pool), None)
            if executed is not None and executed.at > at:
                raise Unreachable(
                    f"a later request of {executed.by} has replaced this one",
                    where=f'pool "{self._request.pool}"',
                )
            if executed is not None and executed.at == at and not executed.waiting:
                return executed
            if mirror.state in ENDED or time.monotonic() > deadline:
                raise self._late(mirror, executed if executed is not None and executed.at == at else None)
            time.sleep(POLL_SECONDS)

    def _late(self, mirror: ApiMirror, executed: ApiNodeRequest | None) -> Unreachable:
        shards = executed.waiting if executed is not None else []
        missing = f"shard {', '.join(map(str, shards))}" if shards else "the mirror"
        return Unreachable(
            f"{missing} has not executed the request yet",
            where=f'mirror "{self._name}", pool "{self._request.pool}"',
            why=mirror.waiting_why or f"it is {mirror.state}",
            todo=f"the request remains: see `causeway status {self._config}`",
        )

    def _result(self, executed: ApiNodeRequest) -> str:
        refused = [result for result in executed.results if result.outcome == "refused"]
        lines = [f"shard {result.shard} reads {result.node}: {result.what}" for result in executed.results]
        if refused:
            raise PlanRefused(
                f"{counted(len(refused), 'shard')} of {self._name} did not move",
                problems=tuple(lines),
                where=f'pool "{self._request.pool}"',
                todo="--force reads a node that lags or was not checked yet; one at which records would be"
                " lost or repeated is never read",
            )
        nodes = ", ".join(sorted({result.node for result in executed.results}))
        return "\n".join([f"{self._name} reads {self._request.pool} from {nodes}", *lines])

    def _in_ledger(self, why: str) -> str:
        write_node_request(self._settings, self._mirror, self._request, why)
        node = self._request.node or "another node"
        return (
            f"{self._name} does not run; when it is started, it reads {self._request.pool} from {node}, if"
            " the checks allow it"
        )
