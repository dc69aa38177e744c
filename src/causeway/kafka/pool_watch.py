"""Checks the nodes of a source pool while one of them is read: log starts and ends, a thread for each node.

A check runs every `healthcheck_interval`, and at once when a client loses a connection.
`rules/pool_health.py` judges the reports.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from causeway.core.cluster import Cluster
from causeway.core.pool_health import NodeReport
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.core.topic import Spot
from causeway.errors import CausewayError
from causeway.kafka import clients

POLL_SECONDS = 0.1
FAILING_SECONDS = 0.5
"""How soon a node is checked again after a failure: what hangs and what is slow must be told apart soon."""
DIAL_SECONDS = 0.2
METADATA_SECONDS = 0.5
LACKING = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
)
LOST = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE)


class PoolWatch:
    """The newest report of each node. Nodes whose cluster id is not known yet are not checked."""

    def __init__(self, pool: SourcePool, spots: Collection[Spot]) -> None:
        self._changed = threading.Condition()
        self._reports = {node.name: NodeReport() for node in pool.nodes}
        self._begun: dict[str, float] = {}  # when the newest check that has ended began
        self.version = 0  # counts changes, so that a caller decides again only after one
        self._threads = {
            node.name: _NodeThread(node, frozenset(spots), pool, self._update)
            for node in pool.nodes
            if node.cluster_id
        }
        for thread in self._threads.values():
            thread.start()

    @property
    def reports(self) -> dict[str, NodeReport]:
        with self._changed:
            return dict(self._reports)

    def wait_checked(self, seconds: float) -> None:
        """Wait until each node was checked once, with or without success."""
        with self._changed:
            self._changed.wait_for(lambda: all(map(_is_checked, self._known())), seconds)

    def wait_changed(self, version: int, seconds: float) -> None:
        """Wait until there is a newer report than this version knew."""
        with self._changed:
            self._changed.wait_for(lambda: self.version > version, seconds)

    def check_all(self, seconds: float, leaving: str = "") -> set[str]:
        """Check all nodes now. Waits for those that responded the last time except the one being left.

        Returns the nodes whose newest report is of a check that began since.
        """
        now = time.monotonic()
        for name in self._threads:
            self.check_now(name)
        with self._changed:
            awaited = [name for name in self._threads if name != leaving and not self._reports[name].failures]
            self._changed.wait_for(lambda: all(self._begun.get(name, 0) >= now for name in awaited), seconds)
            return {name for name in self._threads if self._begun.get(name, 0) >= now}

    def check_now(self, node: str) -> None:
        """A client of this node reported an error: do not wait for the next interval."""
        if node in self._threads:
            self._threads[node].wake.set()

    def reject(self, node: str, why: str) -> None:
        """The node's content is not the pool's."""
        self._update(node, lambda report: replace(report, rejected=why))

    def close(self, seconds: float = 0.0) -> None:
        """End the threads; wait up to `seconds` until they have ended.

        A process that ends must wait. Once the interpreter has ended, it ends each thread that comes back to
        it where that thread is, also in a callback in the middle of the client's code. The process may end
        with a signal then, although everything was replicated.
        """
        for thread in self._threads.values():
            thread.closing = True
            thread.wake.set()
        deadline = time.monotonic() + seconds
        for thread in self._threads.values():
            thread.join(max(0.0, deadline - time.monotonic()))

    def _known(self) -> Iterator[NodeReport]:
        return (self._reports[name] for name in self._threads)

    def _update(self, node: str, change: Callable[[NodeReport], NodeReport], begun: float = 0.0) -> None:
        with self._changed:
            self._reports[node] = change(self._reports[node])
            self._begun[node] = max(begun, self._begun.get(node, 0.0))
            self.version += 1
            self._changed.notify_all()


def _is_checked(report: NodeReport) -> bool:
    return report.checked_at is not None or report.failures > 0


class _NodeThread(threading.Thread):
    def __init__(
        self,
        node: PoolNode,
        spots: frozenset[Spot],
        pool: SourcePool,
        update: Callable[[str, Callable[[NodeReport], NodeReport], float], None],
    ) -> None:
        super().__init__(name=f"watch {node.name}", daemon=True)
        self._node = node
        self._spots = spots
        self._pool = pool
        self._update = update
        self._lost = False  # whether the client lost a connection since the last check
        self._dialled_at = 0.0
        self._failing = False  # whether the last check failed
        self.closing = False
        self.wake = threading.Event()

    def run(self) -> None:
        try:
            self._admin = clients.admin(self._node.cluster, on_error=self._on_error)
        except CausewayError as error:  # a secret that is missing, for example
            self._failed(time.monotonic(), str(error), disconnected=False)
            return
        while not self.closing:
            try:
                self._check()
            except Exception as error:  # noqa: BLE001 - a thread that died would leave its last report standing
                self._failed(time.monotonic(), repr(error), disconnected=False)
            self._rest()
        del self._admin  # otherwise its threads live until the garbage collector finds it

    def _on_error(self, error: KafkaError) -> None:
        self._lost |= error.code() in LOST

    def _rest(self) -> None:
        """Wait for the next check; the client's callbacks are called meanwhile.

        All nodes are checked at the same moments: their log ends are compared, and logs grow meanwhile.
        """
        interval, now = self._pool.healthcheck_interval, time.monotonic()
        until = (now // interval + 1) * interval
        if self._failing:
            until = min(until, now + FAILING_SECONDS)
        self._lost = False
        while time.monotonic() < until and not self.wake.wait(POLL_SECONDS):
            self._admin.poll(0)
            if (
                self._lost and not self._failing
            ):  # a client that connects again and again reports each failure
                break
        self.wake.clear()

    def _check(self) -> None:
        began = time.monotonic()
        self._dialled_at = began if not self._lost else 0.0
        try:
            starts, ends = self._log_bounds(began + self._pool.request_timeout)
        except (KafkaException, OSError) as exception:
            refused = isinstance(exception, ConnectionRefusedError) or _refuses(self._node.cluster)
            why = "every bootstrap server refuses the connection" if refused else _text(exception)
            self._failed(began, why, disconnected=refused)
            if not refused and not self.closing:
                self._fetch_metadata()
            return
        bounds = {spot: (starts[spot], end) for spot, end in ends.items() if spot in starts}
        if len(bounds) < len(self._spots):
            self._fetch_metadata()  # the client may not have heard of a new topic or partition
        now = time.monotonic()
        self._update(
            self._node.name,
            lambda report: NodeReport(bounds=bounds, checked_at=now, rejected=report.rejected),
            began,
        )
        self._failing = False

    def _log_bounds(self, deadline: float) -> tuple[dict[Spot, int], dict[Spot, int]]:
        """Log starts and ends, as far as they arrive in time. Raises an OSError if nothing does."""
        starts, ends = (self._ask(spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest()))
        while not all(future.done() for future in (*starts.values(), *ends.values())):
            self._admin.poll(POLL_SECONDS / 10)
            if self._refused():
                raise ConnectionRefusedError
            if self.closing or time.monotonic() > deadline:
                break
        failed = _failed_partitions(starts) | _failed_partitions(ends)
        if failed:
            topic, partition = spot = min(failed)
            why = failed[spot] or f"no response within {self._pool.request_timeout:g} s"
            raise TimeoutError(f"{topic}[{partition}]: {why}")
        return _offsets(starts), _offsets(ends)

    def _fetch_metadata(self) -> None:
        """The client keeps the partitions, leaders and epochs that it knows until it gets new metadata."""
        with contextlib.suppress(KafkaException):
            self._admin.list_topics(timeout=min(METADATA_SECONDS, self._pool.request_timeout))

    def _refused(self) -> bool:
        """Whether no broker process listens any more: the client itself would go on connecting.

        Looks at once if the client lost a connection, and a few times while there is no response.
        """
        now = time.monotonic()
        if now - self._dialled_at < DIAL_SECONDS:
            return False
        self._dialled_at = now
        return _refuses(self._node.cluster)

    def _ask(self, spec: OffsetSpec) -> dict[TopicPartition, Future[Any]]:
        requests: dict[TopicPartition, Future[Any]] = self._admin.list_offsets(
            {TopicPartition(*spot): spec for spot in self._spots},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=self._pool.request_timeout,
        )
        return requests

    def _failed(self, began: float, why: str, *, disconnected: bool) -> None:
        self._failing = True

        def after_failure(report: NodeReport) -> NodeReport:
            since = report.failing_since if report.failing_since is not None else began
            return replace(
                report,
                failures=report.failures + 1,
                failing_since=since,
                disconnected=disconnected,
                error=why,
            )

        self._update(self._node.name, after_failure, began)


def _offsets(requests: Mapping[TopicPartition, Future[Any]]) -> dict[Spot, int]:
    """The offsets; without partitions that the node does not have."""
    return {
        (partition.topic, partition.partition): int(future.result().offset)
        for partition, future in requests.items()
        if future.exception() is None
    }


def _failed_partitions(requests: Mapping[TopicPartition, Future[Any]]) -> dict[Spot, str]:
    """Partitions of which nothing is known, and why; empty text for those without a response."""
    failed: dict[Spot, str] = {}
    for partition, future in requests.items():
        spot = (partition.topic, partition.partition)
        if not future.done():
            failed[spot] = ""
        elif isinstance(error := future.exception(), KafkaException):
            if error.args[0].code() not in LACKING:
                failed[spot] = str(error.args[0].str())
        elif future.result().offset < 0:  # so the client shows a leader that did not respond
            failed[spot] = ""
    return failed


def _refuses(cluster: Cluster) -> bool:
    """Whether each bootstrap server refuses a connection: then no broker process listens there."""
    return all(map(_refuses_connection, cluster.bootstrap_servers.split(",")))


def _refuses_connection(server: str) -> bool:
    host, colon, port = server.strip().rpartition(":")
    address = (host.strip("[]"), int(port)) if colon else (server.strip(), 9092)
    try:
        socket.create_connection(address, DIAL_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def _text(exception: KafkaException | OSError) -> str:
    return str(exception.args[0].str()) if isinstance(exception, KafkaException) else str(exception)
