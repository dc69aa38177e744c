"""`causeway pause` and `resume` where the mirror does not run: written to the ledger, which a start obeys."""

from __future__ import annotations

from typing import NamedTuple

from causeway.config import MirrorSettings, Settings
from causeway.errors import PlanRefused, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.outcome import Again, Fenced
from causeway.mirror.clusters import cluster_of, limits_of
from causeway.mirror.lease import Control
from causeway.mirror.operator import LEDGER_SECONDS, refuse_running
from causeway.model.cluster import Cluster
from causeway.model.order import ledger_topic
from causeway.model.record import CONTROL, Paused
from causeway.pipeline.memory import now_ms

RUNNING = (
    "what runs is asked over its API: set `token` under [web] and start it again, or --url where it serves"
)


class Noted(NamedTuple):
    """What the ledger says from now on, and whether it said so before."""

    record: Paused | None  # None: nobody ever paused it
    before: bool


def note(settings: Settings, mirror: MirrorSettings, by: str, why: str) -> Noted:
    """Stand still from the next start on, by whose word; or, by nobody's, go on.

    `why` the mirror could not be asked itself: raises IntegrityError with it where the mirror runs.
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
