"""`causeway pause` and `resume` of a mirror that does not run: writes to the ledger; a start obeys it."""

from __future__ import annotations

from typing import NamedTuple

from causeway.config import MirrorSettings, Settings
from causeway.core.clock import now_ms
from causeway.core.ledger_record import Paused
from causeway.operations.control_write import find_ledger_topic, read_control, write_control
from causeway.planning.clusters import cluster_of


class PauseChange(NamedTuple):
    """The ledger's pause record now, and whether it already was as requested."""

    record: Paused | None  # None: it was never paused
    unchanged: bool


def write_pause(settings: Settings, mirror: MirrorSettings, by: str, why: str) -> PauseChange:
    """Pause from the next start on, with `by` as the operator's name; an empty `by` resumes.

    `why`: the reason the mirror's API could not be used. Raises IntegrityError with it if the mirror runs.
    """
    destination = cluster_of(settings, mirror.destination)
    ledger = find_ledger_topic(destination, mirror.name)
    current = read_control(destination, mirror.name).paused
    if bool(current and current.by) == bool(by):
        return PauseChange(current, unchanged=True)
    record = Paused(by, now_ms())
    write_control(destination, mirror, ledger, record, why)
    return PauseChange(record, unchanged=False)
