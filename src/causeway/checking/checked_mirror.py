"""What all checks of a mirror read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from causeway.config import MirrorSettings
from causeway.kafka.admin import ClusterView
from causeway.planning.routing import ALONE, Neighbours
from causeway.planning.survey import Survey
from causeway.rules.ledger_state import LedgerState


@dataclass(frozen=True, slots=True)
class CheckedMirror:
    mirror: MirrorSettings
    sources: Mapping[str, ClusterView]
    destination: ClusterView
    ledger: LedgerState
    broker: Mapping[str, str] | None  # settings of the destination's brokers, if readable
    others: Neighbours = ALONE  # the other checked mirrors

    def source_configs(self, survey: Survey) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Alias, topic and settings of each source topic whose settings this user may read."""
        for alias, view in self.sources.items():
            names = (name for cluster, name in survey.routes if cluster == alias)
            for name, config in view.configs(names, denied=set()).items():
                yield alias, name, config
