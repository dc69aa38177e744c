from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.embedded import EmbeddedCluster
from support.world import World


@pytest.fixture
def world(source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path) -> Iterator[World]:
    world = World(source, destination, tmp_path)
    yield world
    world.close()
