"""Writes an operator's request to the ledger of a mirror that does not run; a start obeys it."""

from __future__ import annotations

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import CONTROL, LedgerRecord
from causeway.core.task_order import ledger_topic
from causeway.core.topic import TopicFacts
from causeway.errors import PlanRefused, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.ledger_access import LEDGER_SECONDS, refuse_running
from causeway.kafka.task_errors import Again, Fenced
from causeway.planning.clusters import limits_of
from causeway.rules.ledger_state import LedgerState

RUNNING = (
    "a running mirror is changed over its API: set `token` under [web] and restart it, or give its address"
    " with --url"
)


def find_ledger_topic(destination: Cluster, mirror: str) -> TopicFacts:
    """The ledger's topic. Raises PlanRefused if the mirror has none."""
    view = ClusterView(destination)
    view.connect()
    topic = ledger_topic(mirror)
    ledger = view.describe([topic]).get(topic)
    if ledger is None:
        raise PlanRefused(
            "the mirror has no ledger to write this to: it has never run",
            where=f'mirror "{mirror}", topic {topic} on "{destination.alias}"',
            todo="it replicates nothing before `causeway run CONFIG`",
        )
    return ledger


def read_control(destination: Cluster, mirror: str) -> LedgerState:
    """What the control partition says now."""
    reader = LedgerReader(destination, mirror, [CONTROL])
    try:
        return reader.read_to_end(LEDGER_SECONDS)
    finally:
        reader.close()


def write_control(
    destination: Cluster, mirror: MirrorSettings, ledger: TopicFacts, record: LedgerRecord, why: str
) -> None:
    """Write it under a lease. `why`: the reason the mirror's API could not be used.

    Raises IntegrityError with it if the mirror runs.
    """
    refuse_running(destination, mirror, why=why, todo=RUNNING)
    control = Control(destination, mirror.name, mirror.delivery, limits_of(mirror))
    try:
        control.acquire(ledger.topic_id)
        control.write([(CONTROL, record)])
    except (Again, Fenced) as error:
        raise Unreachable(
            "the change was perhaps not written to the ledger",
            where=f'mirror "{mirror.name}"',
            why=str(error),
            todo="run the same command again: it reports whether it was written",
        ) from None
    finally:
        control.close()
