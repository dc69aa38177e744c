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
    "what runs is asked over its API: set `token` under [web] and start it again, or --url where it serves"
)


class Noted(NamedTuple):
    """The ledger's pause record now, and whether it already was as requested."""

    record: Paused | None  # None: it was never paused
    before: bool


def note(settings: Settings, mirror: MirrorSettings, by: str, why: str) -> Noted:
    """Pause from the next start on, with `by` as the operator's name; an empty `by` resumes.

    `why`: the reason the mirror could not be asked itself. Raises IntegrityError with it if the mirror runs.
    """
    destination = cluster_of(settings, mirror.destination)
    view = ClusterView(destination)
    view.connect()
    topic = ledger_topic(mirror.name)
    ledger = view.describe([topic]).get(topic)
    if ledger is None:
        raise PlanRefused(
            "the mirror has no ledger yet, and nothing to write that to: it never ran",
            where=f'mirror "{mirror.name}", topic {topic} on "{mirror.destination}"',
            todo="it carries nothing before `causeway run CONFIG`",
        )
    known = _known(destination, mirror.name)
    if bool(known and known.by) == bool(by):
        return Noted(known, before=True)
    refuse_running(destination, mirror, why=why, todo=RUNNING)
    record = Paused(by, now_ms())
    control = Control(destination, mirror.name, mirror.delivery, limits_of(mirror))
    try:
        control.acquire(ledger.topic_id)
        control.write([(CONTROL, record)])
    except (Again, Fenced) as error:
        raise Unreachable(
            "it could not be written to the ledger, or nobody knows whether it was",
            where=f'mirror "{mirror.name}"',
            why=str(error),
            todo="the same command again tells whether it was",
        ) from None
    finally:
        control.close()
    return Noted(record, before=False)


def _known(destination: Cluster, mirror: str) -> Paused | None:
    reader = LedgerReader(destination, mirror, [CONTROL])
    try:
        return reader.read_to_end(LEDGER_SECONDS).paused
    finally:
        reader.close()
