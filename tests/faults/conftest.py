"""What fault tests share: days on the session's clusters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from causeway.local_kafka import EmbeddedCluster
from faults.day import Day
from faults.events import Terms
from faults.mirrors import CausewayMirror

NewDay = Callable[..., tuple[Day, CausewayMirror]]


@pytest.fixture
def new_day(source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path) -> NewDay:
    """A day of Causeway between two clusters of one broker each; keywords are keys of the mirror."""

    def make(
        topics: dict[str, int] | None = None, *, terms: Terms | None = None, **keys: Any
    ) -> tuple[Day, CausewayMirror]:
        mirror = CausewayMirror(tmp_path, source, destination, **keys)
        return Day(tmp_path, source, destination, mirror, topics or {"t": 2, "u": 1}, terms=terms), mirror

    return make
