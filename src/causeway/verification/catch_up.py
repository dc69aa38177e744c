"""Waits until a running mirror has replicated everything before the captured ends: `verify --wait`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from causeway.core.cluster import Cluster
from causeway.core.plural import counted, is_are
from causeway.core.position import SourcePartition
from causeway.kafka.ledger import read_image
from causeway.rules.ledger_state import LedgerState
from causeway.verification.comparison_job import CompareProgress

SayLine = Callable[[str], None]

POLL_SECONDS = 1.0
SAY_SECONDS = 5.0
SILENT_SECONDS = 30.0
"""Stop waiting after this time: a running mirror writes a heartbeat to its ledger every few seconds."""


def wait_until_caught_up(
    destination: Cluster,
    mirror: str,
    ends: Mapping[SourcePartition, int],
    timeout: float | None,
    pause: Callable[[float], None],
    say: SayLine,
    progress: CompareProgress,
) -> tuple[LedgerState, str]:
    """Wait until every position has reached these ends, or will not.

    Returns the ledger's state, and why waiting ended early; "" if it did not.
    """
    started = changed_at = time.monotonic()
    said_at = -SAY_SECONDS
    largest_lag = 0
    last_signs: object = None
    while True:
        ledger = read_image(destination, mirror)
        lags = _lags(ledger, ends)
        if not lags:
            return ledger, ""
        now = time.monotonic()
        signs = (
            ledger.lease,
            ledger.heartbeats,
            {source: position.offset for source, position in ledger.positions.items()},
        )
        if signs != last_signs:
            last_signs, changed_at = signs, now
        if now - changed_at > SILENT_SECONDS:
            return ledger, "did not wait any longer: no mirror of this name seems to run"
        if timeout is not None and now - started > timeout:
            return ledger, f"not caught up within {timeout:.0f} s"
        lag = sum(lags.values())
        if now - said_at >= SAY_SECONDS:
            said_at = now
            lagging = f"{counted(len(lags), 'partition')} {is_are(len(lags))} lagging"
            say(f'waiting for mirror "{mirror}": {lagging} by {counted(lag, "offset")}')
        largest_lag = max(largest_lag, lag)
        progress(largest_lag - lag, largest_lag)
        pause(POLL_SECONDS)


def _lags(ledger: LedgerState, ends: Mapping[SourcePartition, int]) -> dict[SourcePartition, int]:
    """Offsets that are still to be replicated; stopped partitions are not waited for."""
    offsets = {source: position.offset for source, position in ledger.positions.items()}
    return {
        source: end - offsets.get(source, 0)
        for source, end in ends.items()
        if source not in ledger.stopped and (source not in offsets or offsets[source] < end)
    }
