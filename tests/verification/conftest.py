from __future__ import annotations

from collections.abc import Iterator

import pytest

from causeway.local_kafka import EmbeddedCluster
from support.world import World


@pytest.fixture(scope="module")
def world(
    source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """One mirror for all tests of a file: comparing many topics at once starts Spark once."""
    world = World(source, destination, tmp_path_factory.mktemp("verify"))
    yield world
    world.close()
