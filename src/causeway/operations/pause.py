"""`causeway pause` and `resume` of a mirror that does not run: writes to the ledger; a start obeys it."""

from __future__ import annotations

from typing import NamedTuple

from causeway.config import MirrorSettings, Settings
from causeway.core.clock import now_ms
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import CONTROL, Paused
from causeway.core.task_order import ledger_topic
from causeway.errors import PlanRefused, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.ledger_access import LEDGER_SECONDS, refuse_running
from causeway.kafka.task_errors import Again, Fenced
from causeway.planning.clusters import cluster_of, limits_of

RUNNING = (
    "a running mirror is changed over its API: set `token` under [web] and restart it, or give its address"
    " with --url"
)


class PauseChange(NamedTuple):
    """The ledger's pause record now, and whether it already was as requested."""

    record: Paused | None  # None: it was never paused
    unchanged: bool


def write_pause(settings: Settings, mirror: MirrorSettings, by: str, why: str) -> PauseChange:
    """Pause from the next start on, with `by` as the operator's name; an empty `by` resumes.

    `why`: the reason the mirror's API could not be used. Raises IntegrityError with it if the mirror runs.
    """
    destination = cluster_of(settings, mirror.destination)
    view = ClusterView(destination)
    view.connect()
    topic = ledger_topic(mirror.name)
    ledger = view.describe([topic]).get(topic)
    if ledger is None:
        raise PlanRefused(
            "the mirror has no ledger to write this to: it has never run",
            where=f'mirror "{mirror.name}", topic {topic} on "{mirror.destination}"',
            todo="it replicates nothing before `causeway run CONFIG`",
        )
    current = _current(destination, mirror.name)
    if bool(current and current.by) == bool(by):
        return PauseChange(current, unchanged=True)
    refuse_running(destination, mirror, why=why, todo=RUNNING)
    record = Paused(by, now_ms())
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
    return PauseChange(record, unchanged=False)


def _current(destination: Cluster, mirror: str) -> Paused | None:
    reader = LedgerReader(destination, mirror, [CONTROL])
    try:
        return reader.read_to_end(LEDGER_SECONDS).paused
    finally:
        reader.close()
