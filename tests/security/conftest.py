"""Mirrors between two clusters that accept every mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.secure_cluster import SecureCluster
from support.world import World


@pytest.fixture
def secure_world(secure: SecureCluster, secure_destination: SecureCluster, tmp_path: Path) -> Iterator[World]:
    """A mirror of a test's own between them; the test itself reads and writes without authentication."""
    world = World(secure.cluster, secure_destination.cluster, tmp_path)
    yield world
    world.close()
