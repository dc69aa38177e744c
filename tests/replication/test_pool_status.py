"""The status of a source pool, a node that is away at the start, and `causeway failover`; on real brokers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from causeway.local_kafka import EmbeddedCluster
from causeway.local_kafka.ports import free_ports
from support.node_pool import NAMES, POOL, NodePool
from support.process import Causeway
from support.typed import causeway

TOKEN = "a-token-of-the-tests"


@pytest.fixture
def pool(
    nodes: dict[str, EmbeddedCluster], destination: EmbeddedCluster, tmp_path: Path
) -> Iterator[NodePool]:
    pool = NodePool(nodes, destination, tmp_path)
    yield pool
    pool.close()


class Served:
    """A mirror of the pool, with its page."""

    def __init__(self, pool: NodePool, config: Path) -> None:
        [port] = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self._config = config
        self._web = ["-X", f"web.token={TOKEN}"]
        self.run: Causeway = pool.world.run(config, "-X", f"web.port={port}", *self._web)

    def mirror(self) -> dict[str, Any]:
        ended = causeway("status", self._config, "--url", self.url, "-o", "json")
        mirrors = (
            json.loads(ended.stdout)["mirrors"] if ended.returncode in (0, 5, 6) and ended.stdout else []
        )
        return dict(mirrors[0]) if mirrors else {"state": "", "pools": []}

    def node(self, name: str) -> dict[str, Any]:
        nodes = [node for pool in self.mirror()["pools"] for node in pool["nodes"]]
        return next((node for node in nodes if node["name"] == name), {"state": ""})

    def states(self) -> dict[str, str]:
        return {name: self.node(name)["state"] for name in NAMES}

    def text(self) -> str:
        return causeway("status", self._config, "--url", self.url).stdout

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urlopen(f"{self.url}{path}", timeout=10) as response:
                return response.status, response.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def slices(self) -> str:
        (found,) = re.findall(r"^causeway_slices_total\S* (\S+)$", self.get("/metrics")[1], re.M)
        return str(found)

    def failover(self, *arguments: str) -> Any:
        return causeway("failover", self._config, "--url", self.url, *self._web, *arguments)

    def arrived(self, pool: NodePool, records: int, what: str) -> None:
        self.run.until(lambda: pool.delivered() >= records, what)


def test_a_node_that_was_away_at_the_start_is_learned_and_then_moved_to_by_hand(pool: NodePool) -> None:
    topic = pool.topic()
    pool.kill("n3")
    pool.write(topic, pool.world.numbers(1_000, 2), to=["n1", "n2"])
    served = Served(pool, pool.config([topic]))
    served.arrived(pool, 1_000, "what is there has arrived")
    served.run.until(
        lambda: served.states() == {"n1": "fit", "n2": "fit", "n3": "unknown"}, "the status has the nodes"
    )
    assert "it has not responded yet" in served.node("n3")["why"]
    served.run.until(lambda: served.node("n1")["shards"], "it shows who reads n1")

    refused = served.failover("--to", "n3", "--force")
    assert refused.returncode == 3, refused
    assert f'pool "{POOL}"' in refused.stderr
    unknown = served.failover("--to", "n9")
    assert (unknown.returncode, "n9 is not a node of exchange" in unknown.stderr) == (2, True), unknown

    pool.nodes["n3"].start_brokers()
    pool.catch_up("n3")
    pool.finish("n3")
    served.run.until(lambda: served.node("n3")["state"] == "fit", "n3 is learned")
    assert set(pool.world.ledger().pools[POOL].members) == set(NAMES)
    moved = served.failover("--to", "n3")
    assert moved.returncode == 0, moved
    assert f"reads {POOL} from n3" in moved.stdout
    served.run.until(lambda: pool.reading_from() == {"n3"}, "all shards read n3")
    pool.write(topic, pool.world.numbers(500, 2, 1_000))
    served.arrived(pool, 1_500, "records arrive from n3")

    moves = served.mirror()["pools"][0]["moves"]
    assert {(move["left"], move["to"], move["reason"]) for move in moves} == {("n1", "n3", "manual")}
    served.run.until(
        lambda: all(move["pause_seconds"] for move in served.mirror()["pools"][0]["moves"]),
        "the pauses are known",
    )
    assert re.search(r"exchange +n3 +fit", served.text()), served.text()
    _, metrics = served.get("/metrics")
    assert f'pool="{POOL}",reason="manual"}} {len(moves)}' in metrics
    assert served.run.stop() == 0, served.run.output
    pool.assert_delivered(topic)


def test_all_nodes_gone_is_shown_with_the_reason_of_each(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(500, 2))
    served = Served(pool, pool.config([topic]))
    served.arrived(pool, 500, "what is there has arrived")
    served.run.until(lambda: served.get("/readyz")[0] == 200, "it is ready")
    slices = served.slices()
    for node in NAMES:
        pool.kill(node)
    served.run.until(
        lambda: "no node of the pool exchange can be read from: n1 is dead" in served.get("/readyz")[1],
        "it is not ready, and says why",
    )
    assert served.get("/readyz")[0] == 503
    mirror = served.mirror()
    assert (mirror["state"], mirror["waiting_for"]) == ("waiting", POOL)
    assert all(f"{name} is dead" in mirror["waiting_why"] for name in NAMES)
    pool.nodes["n2"].start_brokers()
    pool.write(topic, pool.world.numbers(100, 2, 500), to=["n2"])
    served.arrived(pool, 600, "records arrive from the node that came back")
    served.run.until(lambda: served.get("/readyz")[0] == 200, "it is ready again")
    assert served.slices() == slices, "a switch is done inside the tasks, without a Spark job"
    assert served.run.stop() == 0, served.run.output
    pool.restore()
    pool.assert_delivered(topic)


@pytest.mark.long
def test_nodes_that_are_left_too_often_end_the_run_with_the_history(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(200, 2))
    run = pool.world.run(pool.config([topic], {"max_failovers": "1"}))
    run.until(lambda: pool.delivered() == 200, "what is there has arrived")
    pool.kill("n1")
    run.until(lambda: pool.reading_from() == {"n2"}, "n2 is read")
    pool.kill("n2")
    assert run.wait() == 5, run.output
    assert "error: the nodes of the pool exchange were left too often without a record" in run.output
    assert "n1 → n2: n1 is dead" in run.output
    assert "max_failovers = 1 is reached without a record" in run.output
    pool.assert_delivered(topic)


def test_a_request_is_executed_when_the_mirror_is_started(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(200, 2))
    config = pool.config([topic])
    pool.world.carry_all(config)
    [port] = free_ports(1)
    noted = causeway("failover", config, "--url", f"http://127.0.0.1:{port}", "--to", "n2")
    assert noted.returncode == 0, noted
    assert "does not run; when it is started, it reads exchange from n2" in noted.stdout
    served = Served(pool, config)
    served.run.until(lambda: pool.reading_from() == {"n2"}, "n2 is read")
    pool.write(topic, pool.world.numbers(100, 2, 200))
    served.arrived(pool, 300, "records arrive from n2")
    assert served.run.stop() == 0, served.run.output
    pool.assert_delivered(topic)
