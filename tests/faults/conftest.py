"""What fault tests share: scenarios on the session's clusters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from causeway.local_kafka import EmbeddedCluster
from faults.events import Terms
from faults.mirrors import CausewayMirror
from faults.scenario import Scenario

NewScenario = Callable[..., tuple[Scenario, CausewayMirror]]


@pytest.fixture
def new_scenario(source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path) -> NewScenario:
    """Makes scenarios of Causeway between two clusters of one broker; keywords are the mirror's settings."""

    def make(
        topics: dict[str, int] | None = None, *, terms: Terms | None = None, **keys: Any
    ) -> tuple[Scenario, CausewayMirror]:
        mirror = CausewayMirror(tmp_path, source, destination, **keys)
        return Scenario(
            tmp_path, source, destination, mirror, topics or {"t": 2, "u": 1}, terms=terms
        ), mirror

    return make
