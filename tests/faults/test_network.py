"""Bad lines to the source and to the destination: cut, half dead, reset, far away, thin, and treacherous."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from causeway.core.task_order import ledger_topic
from causeway.local_kafka import EmbeddedCluster
from faults.brokers import Brokers
from faults.events import Side, Terms
from faults.mirrors import CausewayMirror
from faults.network import MOMENT, OUTAGE, RESET, ProxiedCluster, Trouble, backlog, dead, lines, torn
from faults.scenario import Scenario
from support.process import eventually
from support.proxy import ADD_PARTITIONS_TO_TXN, END_TXN, FETCH, PRODUCE, Proxy

TIMEOUT_SECONDS = 5.0
RECOVERY_SECONDS = 90.0
BUT_REPEATS = ("I1", "I2", "I3", "I5", "I6", "I8", "I9", "I11", "I12")
"""What at-least-once promises (I4 is what it does not)."""

deep = pytest.mark.deep


class Behind(NamedTuple):
    """A scenario with one side behind proxies."""

    side: Side
    lines: ProxiedCluster
    mirror: CausewayMirror
    scenario: Scenario


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedCluster]:
    """A destination behind a proxy."""
    with lines("far", tmp_path_factory.mktemp("far")) as made:
        yield made


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedCluster]:
    """A source behind a proxy."""
    with lines("near", tmp_path_factory.mktemp("near")) as made:
        yield made


@pytest.fixture
def behind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Behind]]:
    """A scenario of a mirror that reaches one side through lines, and the other as it is."""
    used: list[ProxiedCluster] = []

    def make(side: Side, partitions: int = 3, **keys: Any) -> Behind:
        here = request.getfixturevalue("near" if side == "source" else "far")
        other = request.getfixturevalue("destination" if side == "source" else "source")
        used.append(here)
        return a_scenario(tmp_path, side, here, other, partitions, **keys)

    yield make
    for here in used:
        here.each(Proxy.heal)


def a_scenario(
    directory: Path, side: Side, here: ProxiedCluster, other: EmbeddedCluster, partitions: int = 3, *,
    terms: Terms | None = None, **keys: Any,
) -> Behind:  # fmt: skip
    source, destination = (here.cluster, other) if side == "source" else (other, here.cluster)
    timeout = f"{TIMEOUT_SECONDS:.0f}s"
    mirror = CausewayMirror(
        directory, source, destination, proxied=(side,), transaction_timeout=timeout, **keys
    )
    scenario = Scenario(directory, source, destination, mirror, {"t": partitions, "u": 1}, terms=terms)
    return Behind(side, here, mirror, scenario)


def go_through(behind: Behind, trouble: Trouble) -> None:
    """One trouble from its beginning until the mirror has recovered; and what it says meanwhile."""
    side, here, mirror, scenario = behind
    said = len(mirror.output)
    with scenario.fault(f"{side}: {trouble}"):
        began = time.monotonic()
        trouble.begin(here)
        scenario.until(lambda: trouble.felt(here), f"{trouble} has its effect")
        if trouble.noticed:
            waits = re.compile("waiting for a response: .*" + ("src" if side == "source" else "dst"))
            scenario.until(lambda: waits.search(mirror.output[said:]), "it says what it waits for")
        if trouble.outlasts:
            over = began + 2 * TIMEOUT_SECONDS
            scenario.until(lambda: time.monotonic() > over, "every transaction would have timed out")
        here.each(Proxy.heal)
    scenario.recovered(RECOVERY_SECONDS)
    if trouble.noticed:
        responds = f"the {side} responds again"
        scenario.until(lambda: responds in mirror.output[said:], "it says that it is over")
        other = "destination" if side == "source" else "source"
        assert f"the {other} responds again" not in mirror.output[said:], "it was never away"
    show_restarts(mirror, said)


def show_restarts(mirror: CausewayMirror, said: int) -> None:
    """What it cost, and why; nothing is asked of it."""
    for line in mirror.output[said:].splitlines():
        if "starting again" in line:
            print(line)


ROWS: dict[str, Sequence[Trouble]] = {
    "cut": [MOMENT, OUTAGE],
    "one-way": [dead("requests", late=True), dead("answers", late=False)],
    "other-way": [dead("requests", late=False), dead("answers", late=True)],
    "reset": [RESET],
}
"""What one mirror goes through, one after the other."""


@deep
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("side", ["destination", "source"])
def test_a_bad_line_is_waited_for_and_costs_no_record(
    behind: Callable[..., Behind], side: Side, row: str
) -> None:
    now = behind(side)
    with now.scenario as scenario:
        scenario.start()
        for trouble in ROWS[row]:
            go_through(now, trouble)
        if row == "reset":
            api = FETCH if side == "source" else PRODUCE
            go_through(now, torn("requests", api))
            go_through(now, torn("answers", api))
        scenario.end()


@deep
@pytest.mark.parametrize(
    ("side", "megabytes", "partitions"),
    [
        ("destination", 6, 3),
        ("destination", 30, 3),
        ("source", 30, 3),
        ("source", 80, 20),  # more than one response holds at this speed
    ],
)
def test_a_backlog_gets_through_a_thin_line(
    behind: Callable[..., Behind], side: Side, megabytes: int, partitions: int
) -> None:
    """1 MB/s for all connections: a transaction, or a fetch, as large as the backlog would fail for ever."""
    _, here, mirror, scenario = behind(side, partitions)
    with scenario:
        scenario.start()
        said = len(mirror.output)
        with scenario.fault(f"{side}: 1 MB/s and {megabytes} MB to replicate"):
            here.each(lambda proxy: proxy.limit(1_000_000))
            backlog(scenario, scenario.topic("t"), megabytes)
            mark, began = scenario.journal.now(), time.monotonic()
            scenario.until(
                lambda: scenario.unseen.count(mark) == 0, "the backlog has arrived", 60 + 2 * megabytes
            )
            print(f"{megabytes} MB in {time.monotonic() - began:.1f} s")
            here.each(Proxy.heal)
        show_restarts(mirror, said)
        scenario.recovered(RECOVERY_SECONDS)
        scenario.end()


@deep
@pytest.mark.parametrize("carrier", ["native", "object"])
def test_at_least_once_keeps_the_order_over_cuts_as_long_as_a_record_may_wait(
    far: ProxiedCluster, source: EmbeddedCluster, tmp_path: Path, carrier: str
) -> None:
    """Under load, with a full queue: where records expire, there is room for younger ones, which are sent."""
    now = a_scenario(
        tmp_path, "destination", far, source, terms=Terms("at-least-once"), delivery="at-least-once",
        carrier=carrier, queue_records=1_000,
    )  # fmt: skip
    _, here, _, scenario = now
    with scenario:
        scenario.start()
        try:
            for part in (1.1, 1.3):
                cut_amid_a_backlog(now, part * TIMEOUT_SECONDS)
            report = scenario.end(judge=False)
        finally:
            here.each(Proxy.heal)
    assert {one.invariant for one in report.anomalies} <= {"I4"}, report
    assert all(report.results[name].status == "holds" for name in BUT_REPEATS), report


def cut_amid_a_backlog(behind: Behind, seconds: float) -> None:
    _, here, _, scenario = behind
    with scenario.fault(f"destination: cut for {seconds} s"):
        here.each(lambda proxy: proxy.limit(2_000_000))
        count = backlog(scenario, scenario.topic("t"), 10, record_bytes=1_000)
        mark = scenario.journal.now()
        scenario.until(lambda: scenario.unseen.count(mark) < count * 3 // 4, "a part has arrived")
        here.each(Proxy.cut)
        over = time.monotonic() + seconds
        scenario.until(lambda: time.monotonic() > over, "the cut is over")
        here.each(Proxy.heal)
    scenario.recovered(RECOVERY_SECONDS)


@deep
@pytest.mark.parametrize("side", ["source", "destination"])
def test_a_line_of_300_ms_each_way_delays_and_nothing_else(behind: Callable[..., Behind], side: Side) -> None:
    _, here, mirror, scenario = behind(side)
    with scenario:
        scenario.start()
        said = len(mirror.output)
        with scenario.fault(f"{side}: 300 ms each way"):
            here.each(lambda proxy: proxy.delay(0.3))
            scenario.advances(200)
            here.each(Proxy.heal)
        show_restarts(mirror, said)
        scenario.recovered(RECOVERY_SECONDS)
        scenario.end()


@deep
def test_the_line_to_one_broker_of_three(source: EmbeddedCluster, tmp_path: Path) -> None:
    """It keeps its leaderships, since the other brokers reach it: no other can take over."""
    with lines("three", tmp_path / "three", brokers=3) as three:
        now = a_scenario(tmp_path, "destination", three, source, replication_factor=3)
        brokers = Brokers(three.cluster)
        with now.scenario as scenario:
            scenario.start()
            leader = brokers.leader(scenario.topic("t")).id
            coordinator = brokers.coordinator(f"causeway.{now.mirror.name}.1").id
            for broker, trouble in ((leader, OUTAGE), (coordinator, dead("answers", late=False))):
                # Its driver may have to do with the other brokers alone, and then has nothing to wait for.
                silent = replace(trouble, name=f"{trouble}, one of three", noticed=False, outlasts=True)
                go_through(now._replace(lines=three.to(broker)), silent)
            scenario.end()


def test_a_commit_whose_fate_is_unknown_commits_nothing_twice_and_nothing_alone(
    behind: Callable[..., Behind],
) -> None:
    """Its response is lost, with its connection, alone, and with all others; and it is delivered late.

    librdkafka repeats a lost EndTxn inside itself; the first copy arrives when the next transaction is
    open. It would make records visible without their ledger record, and a kill right then would bring
    them twice. So the connection that broke during a transaction costs the producer its epoch.
    """
    now = behind("destination", shards=1, max_transaction_records=200)
    _, far, mirror, scenario = now
    (proxy,) = far.proxies
    shard = f"causeway.{mirror.name}.1".encode()
    with scenario:
        scenario.start()
        for hang_up in (True, False):
            lose_commit_response(scenario, mirror, proxy, shard, hang_up=hang_up)
        go_through(now, dead("answers", late=False))
        late = LateCommit(proxy, shard, ledger_topic(mirror.name).encode(), mirror.kill)
        with scenario.fault("a commit is delivered late, and the mirror killed", crash=True):
            late.arm()
            eventually(late.over.is_set, "the late copy was delivered, and the mirror killed")
            assert not mirror.alive
        mirror.start()
        scenario.recovered()
        scenario.end("I13")


def lose_commit_response(
    scenario: Scenario, mirror: CausewayMirror, proxy: Proxy, shard: bytes, *, hang_up: bool
) -> None:
    said = len(mirror.output)
    proxy.lost.clear()
    with scenario.fault(
        f"the response to a commit is lost {'with' if hang_up else 'without'} its connection"
    ):
        proxy.lose_answer(END_TXN, shard, hang_up=hang_up)
        scenario.until(proxy.lost.is_set, "a response was lost")
    scenario.recovered()
    scenario.until(lambda: "starting again" in mirror.output[said:], "it says that it starts again")


class LateCommit:
    """Holds one EndTxn of a shard back and delivers it when its next transaction has flushed its records."""

    def __init__(self, proxy: Proxy, shard: bytes, ledger: bytes, then: Callable[[], None]) -> None:
        self._proxy, self._shard, self._ledger, self._then = proxy, shard, ledger, then
        self._carries = False  # the next transaction holds records, not only a heartbeat
        self.released = False
        self.over = threading.Event()  # what was to follow has been done, all of it

    def arm(self) -> None:
        self._proxy.on_request = self._look
        self._proxy.hold(END_TXN, self._shard)

    def _look(self, api: int, body: bytes) -> None:
        # A transaction adds its data partitions first, and those of ledger and map once all data is
        # flushed: at that moment the late copy would commit the records without their position.
        adds = api == ADD_PARTITIONS_TO_TXN and self._shard in body
        if not adds or not self._proxy.held.is_set() or self.released:
            return
        if self._ledger not in body:
            self._carries = True
        elif self._carries:
            self.released = True
            self._proxy.release()
            self._then()
            self.over.set()
