"""The ledger as the driver uses it: it reads every partition, and writes the control partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from causeway.core.ledger_record import CONTROL, LedgerRecord
from causeway.core.topic import TopicFacts
from causeway.errors import Superseded
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.ledger_topics import check_ledger
from causeway.rules.ledger_state import LedgerState


@dataclass(frozen=True, slots=True)
class OpenLedger:
    topic: TopicFacts
    reader: LedgerReader
    control: Control

    @property
    def state(self) -> LedgerState:
        return self.reader.state

    @property
    def paused_by(self) -> str:
        """Who paused the mirror, or an empty string."""
        return self.state.paused.by if self.state.paused else ""

    def record(self, records: Sequence[LedgerRecord]) -> None:
        """Commit records to the control partition."""
        if records:
            self.control.write((CONTROL, record) for record in records)
        for record in records:
            self.state.apply(CONTROL, record)

    def check_topic(self, destination: ClusterView) -> None:
        """Raise an error if the ledger's topic was deleted or replaced."""
        name = self.topic.name
        topic = destination.describe([name]).get(name)
        check_ledger(name, self.topic.topic_id, topic, destination.cluster.alias)

    def check_lease(self, mirror: str) -> None:
        """Raise Superseded if a newer instance holds the lease."""
        newest, own = self.state.newest_lease(), self.control.lease
        if newest > own:
            raise Superseded(
                f"a newer instance of this mirror holds lease {newest}, this one {own}",
                where=f'mirror "{mirror}"',
            )

    def close(self) -> None:
        """Close the clients; what was read stays available."""
        self.control.close()
        self.reader.close()
