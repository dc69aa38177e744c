"""Mirrors between clusters that accept every mechanism."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from support.process import without_spark
from support.restarting_access import RestartingAccess
from support.secure_cluster import SecureCluster, secure_cluster
from support.secured_mirror import LOGINS, SecuredMirror, secured_mirror
from support.world import World

MakeMirror = Callable[[str, str, str], SecuredMirror]


@pytest.fixture(autouse=True)
def executor_of_the_tests(request: pytest.FixtureRequest) -> Iterator[None]:
    """For deep tests too, unless Spark is asked for: logins are the same in all executors."""
    own_mark = request.node.get_closest_marker("spark") and not request.node.get_closest_marker("deep")
    on_spark = request.config.getoption("--spark") or own_mark
    with contextlib.nullcontext() if on_spark else without_spark():
        yield


@pytest.fixture
def secure_world(secure: SecureCluster, secure_destination: SecureCluster, tmp_path: Path) -> Iterator[World]:
    """A mirror of a test's own between them; the test itself reads and writes without authentication."""
    world = World(secure.cluster, secure_destination.cluster, tmp_path)
    yield world
    world.close()


@pytest.fixture(scope="session")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureCluster]:
    """Its broker is restarted by tests whose mechanism needs that."""
    with secure_cluster("restarted", tmp_path_factory.mktemp("restarted")) as cluster:
        yield cluster


@pytest.fixture
def make_mirror(
    request: pytest.FixtureRequest, source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path
) -> Iterator[MakeMirror]:
    """A mirror with this login on this side, and with this carrier."""
    with contextlib.ExitStack() as stack:

        def make(login: str, side: str, carrier: str) -> SecuredMirror:
            restarts = issubclass(LOGINS[login], RestartingAccess)
            secure = request.getfixturevalue("restarted" if restarts else "secure")
            other = destination if side == "source" else source
            return stack.enter_context(secured_mirror(login, side, secure, other, tmp_path, carrier))

        yield make
