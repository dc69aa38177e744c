"""Whether the destination rejects records because too few replicas are in sync. The driver checks it.

No client reports this: librdkafka retries NOT_ENOUGH_REPLICAS by itself. A shard only sees that its records
are not acknowledged, and if the ledger lacks replicas too, the shard's event may not reach the driver.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection

from causeway.config import MirrorSettings
from causeway.core.task_order import ledger_topic, offset_map_topic, quarantine_topic
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.replication.event_log import EventLog
from causeway.replication.rules.in_sync import Shortage, shortage, suspects, too_few

TRANSACTION_STATE = "__transaction_state"
MOST_TOPICS = 1_000
"""One check reads the settings of at most this many topics."""
LOOK_SECONDS = 3.0
HOLD_SECONDS = 30.0
"""A shard that retries still commits a heartbeat now and then. After a missed one, shards count as stuck for
this long."""


class InSync:
    """Whether too few replicas of the destination's partitions were in sync at the last check."""

    def __init__(self, mirror: MirrorSettings, view: ClusterView, events: EventLog) -> None:
        self._view = view
        self._events = events
        self._own = {ledger_topic(mirror.name), offset_map_topic(mirror.name)}
        if mirror.on_poison == "quarantine":
            self._own.add(quarantine_topic(mirror.name))
        if mirror.delivery == "exactly-once":
            self._own.add(TRANSACTION_STATE)
        self.short: Shortage | None = None
        self._stuck_at = -math.inf
        self._due = 0.0

    @property
    def hides_heartbeats(self) -> bool:
        """Whether shards may be unable to write heartbeats and events at all."""
        return self.short is not None and not self._own.isdisjoint(self.short.topics)

    def watch(self, stuck: bool, places: Collection[str]) -> bool:
        """Check replicas while shards are stuck; returns whether the finding changed.

        Partitions that nothing is written to may lack replicas for ever: while shards commit, that blocks
        nothing, and is not shown.
        """
        now, before = time.monotonic(), self.short
        if stuck:
            self._stuck_at = now
        if now - self._stuck_at > HOLD_SECONDS:
            self.short = None
        elif now >= self._due:
            self._look(places)
            self._due = time.monotonic() + LOOK_SECONDS
        return before != self.short

    def _look(self, places: Collection[str]) -> None:
        before = self.short
        try:
            self.short = self._found(places)
        except CausewayError:
            return  # the destination does not respond: its replicas are unknown
        if self.short is not None and (before is None or before.topics != self.short.topics):
            self._events.report("warning", self.short.what, todo=self.short.todo)
        elif before is not None and self.short is None:
            self._events.report(
                "info", f'"{self._view.cluster.alias}": no partition lacks in-sync replicas now'
            )

    def find(self, places: Collection[str]) -> Shortage | None:
        """What lacks replicas now; None also if the destination does not respond: another finding."""
        try:
            return self._found(places)
        except CausewayError:
            return None

    def _found(self, places: Collection[str]) -> Shortage | None:
        replicas = self._view.replicas({*places, *self._own})
        needed = self._needed(suspects(replicas, MOST_TOPICS))
        return shortage(too_few(replicas, needed), self._view.cluster.alias, places)

    def _needed(self, topics: list[str]) -> dict[str, int]:
        """`min.insync.replicas` of the topics this user may describe; often not of `__transaction_state`."""
        configs = self._view.configs(topics, denied=set())
        return {topic: int(config.get("min.insync.replicas", 0)) for topic, config in configs.items()}
