"""What all tests share: two real clusters, names for topics, and a state directory of their own."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import settings

from causeway.local_kafka import EmbeddedCluster
from support import process, services
from support.node_pool import NAMES, proxies_of, started_nodes
from support.process import LINES
from support.proxy import Proxy
from support.registry import shared_registry
from support.secure_cluster import SecureCluster, secure_cluster
from support.services import WithoutJava
from support.shared_brokers import SHARED_BROKER
from support.world import World

# How long an example takes says nothing about a decision, and machines that test are busy.
settings.register_profile("causeway", deadline=None)
settings.load_profile("causeway")

WITHOUT_JAVA = pytest.StashKey[WithoutJava]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spark", action="store_true", help="run Causeway on real Spark in every test")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        services.mark(item, Path(__file__).parent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Before every fixture, for those of a module may start Causeway or a broker."""
    process.use_spark(item.get_closest_marker("spark") is not None)
    if item.get_closest_marker("integration") is not None:
        return (yield)
    item.stash[WITHOUT_JAVA] = WithoutJava()
    try:
        return (yield)
    finally:
        item.stash[WITHOUT_JAVA].end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield
    if WITHOUT_JAVA in item.stash and (arguments := item.stash[WITHOUT_JAVA].started()):
        pytest.fail(
            "this test starts Java (a broker or Spark): it needs the mark `integration`,"
            f" or its fixture must be listed in support/services.py\njava {arguments}"
        )


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Measure no coverage in a test with the mark `no_cover`.

    pytest-cov alone does not do it: a worker has two measurements, and stopping one resumes the other.
    """
    stopped = []
    if item.get_closest_marker("no_cover") is not None:
        while (measurement := Coverage.current()) is not None:
            measurement.stop()
            stopped.append(measurement)
    try:
        return (yield)
    finally:
        for measurement in reversed(stopped):
            measurement.start()


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test may see, or leave behind, clusters that the user has started by name."""
    state = tmp_path / "state"
    monkeypatch.setenv("CAUSEWAY_STATE", str(state))
    for name, value in LINES.items():
        monkeypatch.setenv(name, value)
    return state


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """A cluster of one broker for the whole session: do not stop it, and use a topic of your own."""
    with EmbeddedCluster.start(
        "source", directory=tmp_path_factory.mktemp("source"), config=SHARED_BROKER
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def destination(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """The other side, under the same terms as `source`."""
    with EmbeddedCluster.start(
        "destination", directory=tmp_path_factory.mktemp("destination"), config=SHARED_BROKER
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def node_proxies() -> Iterator[dict[str, Proxy]]:
    """A proxy in front of each node, for `proxied_servers`. Heal those that you have used."""
    with proxies_of(NAMES) as proxies:
        yield proxies


@pytest.fixture(scope="session")
def nodes(
    tmp_path_factory: pytest.TempPathFactory, node_proxies: dict[str, Proxy]
) -> Iterator[dict[str, EmbeddedCluster]]:
    """Three clusters of one broker, the nodes of a source pool. `NodePool.close` starts them all again."""
    with started_nodes(tmp_path_factory.mktemp("nodes"), proxies=node_proxies) as started:
        yield started


@pytest.fixture(scope="session")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureCluster]:
    """A broker with a listener for each way to authenticate, under the same terms as `source`."""
    with secure_cluster("secure", tmp_path_factory.mktemp("secure")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def secure_destination(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureCluster]:
    """Another one, for the other side of a mirror."""
    with secure_cluster("secure-destination", tmp_path_factory.mktemp("secure-destination")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def schema_registry(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL of a registry that all workers share: do not stop it, and use subjects of your own."""
    own = tmp_path_factory.getbasetemp()
    with shared_registry(own.parent if hasattr(request.config, "workerinput") else own) as url:
        yield url


@pytest.fixture
def world(source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path) -> Iterator[World]:
    """A mirror of a test's own between the two clusters."""
    world = World(source, destination, tmp_path)
    yield world
    world.close()


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test uses, and that tells which one does."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', request.node.name)}-{uuid.uuid4().hex[:8]}"
