"""A source pool: nodes die, hang, lag and disagree; every record arrives once and in order all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from faults.arrivals import Arrivals
from faults.checker import RECORDS
from faults.pool_history import judge
from support.node_pool import NAMES, TWO, NodePool, Traffic
from support.process import Causeway, eventually
from support.proxy import Proxy


@pytest.fixture
def pool(
    nodes: dict[str, EmbeddedCluster], destination: EmbeddedCluster, tmp_path: Path
) -> Iterator[NodePool]:
    pool = NodePool(nodes, destination, tmp_path)
    yield pool
    pool.close()


@contextmanager
def measured(
    pool: NodePool, topic: str, fault: str, act: Callable[[], object], number: Callable[[], int]
) -> Iterator[None]:
    """Act; print the time from there to the first record from a number on that a reader of the copy gets."""
    arrivals = Arrivals(pool.world.servers["destination"], topic)
    try:
        arrivals.after(act, number)
        yield
        eventually(lambda: arrivals.timing.next_ms is not None, "a reader gets a record")
    finally:
        arrivals.close()
    print(f"fault={fault} next_record={arrivals.timing.next_ms}ms", flush=True)


N1_FIRST = {"request_timeout": '"20s"'}
"""On a busy machine a node that responds late is not the first fit one."""


def _assert_delivered(pool: NodePool, topic: str) -> None:
    """By comparison with what was written, and by the checker of all fault tests."""
    pool.assert_delivered(topic)
    servers = pool.world.servers["destination"]
    judge(pool.world.directory, servers, topic, pool.written[topic]).require(*RECORDS)


def _arrived(run: Causeway, pool: NodePool, records: int, what: str) -> None:
    run.until(lambda: pool.delivered() >= records, what)


@pytest.mark.deep
def test_the_first_node_is_read_and_everything_arrives(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(2_000, 2))
    pool.world.carry_all(pool.config([topic], N1_FIRST))
    assert pool.reading_from() == {"n1"}
    _assert_delivered(pool, topic)
    pool.write(topic, pool.world.numbers(500, 2, 2_000))
    pool.world.carry_all(pool.config([topic]))
    _assert_delivered(pool, topic)


@pytest.mark.parametrize("fault", ["kill", pytest.param("pause", marks=pytest.mark.deep)])
def test_a_node_that_dies_or_hangs_is_left(pool: NodePool, fault: str) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    run = pool.world.run(pool.config([topic], shards=1))
    _arrived(run, pool, 1_000, "what is there has arrived")
    traffic = Traffic(pool, topic, 1_000)
    _arrived(run, pool, 1_500, "new records arrive")

    (active,) = pool.reading_from()
    with measured(pool, topic, fault, lambda: getattr(pool, fault)(active), lambda: traffic.next):
        _arrived(run, pool, pool.delivered() + 1_000, "records arrive from another node")
    run.until(lambda: active not in pool.reading_from(), f"{active} is not read any more")
    written = traffic.end()
    _arrived(run, pool, written, "all of them have arrived")
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_a_node_that_is_cut_off_is_left(pool: NodePool, node_proxies: dict[str, Proxy]) -> None:
    topic = pool.topic()
    pool.world.servers |= {name: node.proxied_servers for name, node in pool.nodes.items()}
    pool.write(topic, pool.world.numbers(1_000, 2))
    run = pool.world.run(pool.config([topic], shards=1))
    _arrived(run, pool, 1_000, "what is there has arrived")
    traffic = Traffic(pool, topic, 1_000)
    _arrived(run, pool, 1_500, "new records arrive")
    (active,) = pool.reading_from()
    try:
        with measured(pool, topic, "cut", node_proxies[active].cut, lambda: traffic.next):
            _arrived(run, pool, pool.delivered() + 1_000, "records arrive from another node")
        run.until(lambda: active not in pool.reading_from(), f"{active} is not read any more")
    finally:
        node_proxies[active].heal()
    _arrived(run, pool, traffic.end(), "all of them have arrived")
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_the_next_node_dies_while_the_mirror_moves_to_it(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    run = pool.world.run(pool.config([topic]))
    _arrived(run, pool, 1_000, "what is there has arrived")
    traffic = Traffic(pool, topic, 1_000)
    with measured(pool, topic, "kill both", lambda: [*map(pool.kill, TWO)], lambda: traffic.next):
        _arrived(run, pool, pool.delivered() + 1_000, "records arrive from the third node")
    run.until(lambda: pool.reading_from() == {"n3"}, "all shards read n3")
    _arrived(run, pool, traffic.end(), "all of them have arrived")
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_all_nodes_are_gone_and_one_comes_back(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    run = pool.world.run(pool.config([topic]))
    _arrived(run, pool, 1_000, "what is there has arrived")
    pool.write(topic, pool.world.numbers(200, 2, 1_000))
    for node in NAMES:
        pool.kill(node)
    run.until(lambda: "no node of the pool" in run.output, "it says that no node can be read from")
    pool.nodes["n3"].start_brokers()
    late = pool.world.numbers(300, 2, 1_200)
    with measured(
        pool, topic, "all gone, one is back", lambda: pool.write(topic, late, ["n3"]), lambda: 1_200
    ):
        _arrived(run, pool, 1_500, "records arrive from the node that came back")
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


def test_a_node_that_lags_is_left_and_one_before_the_position_is_not_chosen(pool: NodePool) -> None:
    """n2 has less than what was replicated: the mirror goes past it, to n3."""
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    config = pool.config([topic], {"lag_threshold": "100", **N1_FIRST})
    run = pool.world.run(config)
    _arrived(run, pool, 1_000, "what is there has arrived")
    pool.write(topic, pool.world.numbers(200, 2, 1_000), to=["n1", "n3"])
    _arrived(run, pool, 1_200, "n1 has more than n2")
    late = pool.world.numbers(800, 2, 1_200)
    with measured(pool, topic, "lag", lambda: pool.write(topic, late, ["n3"]), lambda: 1_200):
        _arrived(run, pool, 2_000, "n3 is read, which has more than n1")
    run.until(lambda: pool.reading_from() == {"n3"}, "all shards read n3")
    run.until(lambda: "n1 is lagging" in run.output, "the reason is shown")
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_a_node_that_is_ahead_in_sum_and_short_on_one_partition_is_not_chosen(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    run = pool.world.run(pool.config([topic], shards=1))  # two shards would read two nodes
    _arrived(run, pool, 1_000, "what is there has arrived")
    records = pool.world.numbers(400, 2, 1_000)
    pool.write(topic, records, to=["n1"])
    _arrived(run, pool, 1_400, "n1 has more than the others")
    more = [(0, rec) for _, rec in pool.world.numbers(3_000, 1, 10_000)]
    ahead = [(partition, rec) for partition, rec in records if partition == 0] + more
    pool.only(topic, ahead, to="n2")  # 3,200 records more on partition 0, 200 less on partition 1
    pool.kill("n1")
    run.until(lambda: "n2 is short" in run.output, "n2 is called short")
    assert pool.delivered() == 1_400
    pool.only(topic, records + more, to="n3")
    _arrived(run, pool, 4_400, "n3 has everything")
    run.until(lambda: pool.reading_from() == {"n3"}, "all shards read n3")
    assert run.stop() == 0, run.output
    pool.written[topic] += more
    _assert_delivered(pool, topic)


def test_a_node_with_other_data_at_the_same_offsets_is_refused(pool: NodePool) -> None:
    topic = pool.topic()
    records = pool.world.numbers(1_000, 2)
    other = [(partition, rec._replace(value=b"x" + (rec.value or b""))) for partition, rec in records]
    pool.write(topic, records, to=["n1"])
    pool.only(topic, other, to="n2")
    pool.catch_up("n3")
    pool.finish("n3")
    run = pool.world.run(pool.config([topic], N1_FIRST))
    _arrived(run, pool, 1_000, "what is there has arrived")
    with measured(
        pool, topic, "kill, and the next one has other data", lambda: pool.kill("n1"), lambda: 1_000
    ):
        pool.write(topic, pool.world.numbers(200, 2, 1_000), to=["n3"])
        run.until(lambda: "has another record at offset" in run.output, "n2 is refused, with coordinates")
        _arrived(run, pool, 1_200, "n3 is read")
    run.until(lambda: pool.reading_from() == {"n3"}, "all shards read n3")
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_a_node_whose_log_begins_after_the_position_is_not_chosen(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    pool.world.carry_all(pool.config([topic]))
    pool.write(topic, pool.world.numbers(1_000, 2, 1_000))
    pool.delete_records(topic, "n2", {0: 900, 1: 900})
    pool.kill("n1")
    pool.world.carry_all(pool.config([topic]))
    assert pool.reading_from() == {"n3"}
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_slow_responses_are_no_reason_to_move(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    config = pool.config(
        [topic], {"request_timeout": '"300ms"', "healthcheck_interval": '"5s"', "lag_threshold": "100000"}
    )
    run = pool.world.run(config)
    _arrived(run, pool, 1_000, "what is there has arrived")
    before = pool.reading_from()
    traffic = Traffic(pool, topic, 1_000)
    for start in (2_000, 3_000, 4_000):
        with pool.suspended(min(before)):  # for less than a check interval
            pass
        _arrived(run, pool, start, "records arrive")
    _arrived(run, pool, traffic.end(), "all of them have arrived")
    assert pool.reading_from() == before
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


@pytest.mark.parametrize(
    "step",
    [
        "before-fence:2",
        pytest.param("after-flush:4", marks=pytest.mark.deep),
        pytest.param("after-ledger:4", marks=pytest.mark.deep),
    ],
)
def test_the_mirror_is_killed_while_it_moves(pool: NodePool, step: str, tmp_path: Path) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(3_000, 2))
    config = pool.config([topic], max_transaction_records=300)
    first = pool.world.run(config, env={"CAUSEWAY_FAILPOINT": f"{step}:driver:{tmp_path / 'flag'}"})
    first.until(lambda: pool.delivered() >= 300, "it replicates")
    pool.kill("n1")
    pool.write(topic, pool.world.numbers(3_000, 2, 3_000), to=["n2", "n3"])
    first.process.wait(60)
    pool.world.carry_all(config)
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_a_topic_that_grows_on_one_node_first(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    run = pool.world.run(pool.config([topic], N1_FIRST))
    _arrived(run, pool, 1_000, "what is there has arrived")
    pool.grow(topic, 3, "n1")
    late = [(2, rec) for _, rec in pool.world.numbers(100, 1, 1_000)]
    pool.write(topic, late, to=["n1"])
    _arrived(run, pool, 1_100, "the new partition is replicated")
    pool.kill("n1")
    run.until(lambda: "n2 is short" in run.output, "a node without the partition is not read")
    for node in ("n2", "n3"):
        pool.grow(topic, 3, node)
        pool.catch_up(node)
        pool.finish(node)
    pool.write(topic, pool.world.numbers(100, 2, 1_100), to=["n2", "n3"])
    _arrived(run, pool, 1_200, "a node that has it now is read")
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


def test_positions_of_one_cluster_do_not_become_a_pools_silently(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    single = pool.world.config([topic], source="n1")
    pool.world.carry_all(single)
    run = pool.world.run(pool.config([topic]), "--stop-at-end")
    assert run.wait() == 6, run.output
    assert "causeway adopt CONFIG --from pool" in run.output
    pool.world.carry_all(single)
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_another_cluster_under_a_nodes_name_is_not_read(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    pool.world.carry_all(pool.config([topic]))
    servers = pool.world.servers
    servers["n1"], servers["n2"] = servers["n2"], servers["n1"]
    pool.world.servers = servers
    pool.write(topic, pool.world.numbers(100, 2, 100))
    run = pool.world.carry_all(pool.config([topic]))
    assert '"n1" is another cluster than before' in run.output
    assert pool.reading_from() == {"n3"}
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_a_rejected_node_is_not_read_while_no_other_one_can_be(pool: NodePool) -> None:
    """It is kept until another one comes back, but nothing is read from it, and the mirror says so."""
    topic = pool.topic()
    records = pool.world.numbers(1_000, 2)
    other = [(partition, rec._replace(value=b"x" + (rec.value or b""))) for partition, rec in records]
    pool.write(topic, records, to=["n1"])
    pool.only(topic, other, to="n2")
    run = pool.world.run(pool.config([topic], {"nodes": '["n1", "n2"]'}))
    _arrived(run, pool, 1_000, "what is there has arrived")
    pool.kill("n1")
    run.until(lambda: "has another record at offset" in run.output, "n2 is refused, with coordinates")
    run.until(lambda: "no node of the pool" in run.output, "it says that no node can be read from")
    pool.nodes["n1"].start_brokers()
    pool.write(topic, pool.world.numbers(200, 2, 1_000), to=["n1"])
    _arrived(run, pool, 1_200, "n1 is read again")
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_a_node_that_lacks_records_gets_them_later(pool: NodePool) -> None:
    """The node that was read is removed: the other one is no truncated log, it has to catch up."""
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    pool.write(topic, pool.world.numbers(100, 2, 1_000), to=["n1"])
    pool.world.carry_all(pool.config([topic], {"nodes": '["n1", "n2"]'}))
    run = pool.world.run(pool.config([topic], {"nodes": '["n2"]'}))
    run.until(lambda: "n2 is short" in run.output, "n2 is called short")
    pool.catch_up("n2")
    pool.write(topic, pool.world.numbers(100, 2, 1_100), to=["n2"])
    _arrived(run, pool, 1_200, "n2 is read as soon as it has everything")
    assert run.stop() == 0, run.output
    _assert_delivered(pool, topic)


def test_a_run_with_an_end_replicates_what_any_fit_node_has(pool: NodePool) -> None:
    """n1 gets no more records, and lags by less than the threshold: the run ends on n2."""
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    pool.write(topic, pool.world.numbers(100, 2, 1_000), to=["n2"])
    run = pool.world.carry_all(pool.config([topic], shards=1))
    assert pool.delivered() == 1_100, run.output
    assert pool.reading_from() == {"n2"}
    _assert_delivered(pool, topic)


@pytest.mark.deep
def test_a_run_with_an_end_does_not_wait_for_what_only_a_short_node_has(pool: NodePool) -> None:
    """n2 has more of partition 0, and lacks records of partition 1 that were replicated."""
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(1_000, 2))
    records = pool.world.numbers(200, 2, 1_000)
    pool.write(topic, records, to=["n1", "n3"])
    config = pool.config([topic])
    pool.world.carry_all(config)
    more = [(0, rec) for _, rec in pool.world.numbers(300, 1, 10_000)]
    pool.only(topic, [record for record in records if record[0] == 0] + more, to="n2")
    pool.world.carry_all(config)
    pool.write(topic, pool.world.numbers(10, 2, 1_200), to=["n1"])
    pool.world.carry_all(config)
    _assert_delivered(pool, topic)
