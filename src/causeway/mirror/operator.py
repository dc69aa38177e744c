"""Who types a command that writes to a ledger, and whether the mirror runs that it belongs to."""

from __future__ import annotations

import getpass
import os
import socket
import time

from causeway.config import MirrorSettings
from causeway.errors import IntegrityError
from causeway.kafka.ledger import LedgerReader
from causeway.model.cluster import Cluster
from causeway.model.record import CONTROL
from causeway.pipeline.memory import now_ms

LEDGER_SECONDS = 60.0
RECENT_BEATS = 5.0
"""Whoever was silent for so many heartbeats does not run."""

WATCHED_BEATS = 2.5
"""Whoever ran a moment ago is listened to for so long: it may just have ended."""


def who() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())  # no name is known for it, as in some containers
    return f"{name}@{socket.gethostname()}"


def refuse_running(destination: Cluster, mirror: MirrorSettings, *, why: str = "", todo: str = "") -> None:
    """Raises IntegrityError where the mirror's driver gives signs of life."""
    reader = LedgerReader(destination, mirror.name, [CONTROL])
    try:
        image = reader.read_to_end(LEDGER_SECONDS)
        last = image.heartbeats.get(0)
        if last is None or now_ms() - last.at > RECENT_BEATS * 1_000 * mirror.heartbeat:
            return
        deadline = time.monotonic() + WATCHED_BEATS * mirror.heartbeat
        while image.heartbeats[0] == last:
            if time.monotonic() > deadline:
                return
            reader.poll(0.1)
        lease = image.lease
        raise IntegrityError(
            "the mirror is running" + (f" on {lease.host} (process {lease.pid})" if lease else ""),
            where=f'mirror "{mirror.name}"',
            why=why,
            todo=todo
            or "stop it first: Ctrl-C where it runs, or SIGTERM"
            + (f" (kill {lease.pid} on {lease.host})" if lease else ""),
        )
    finally:
        reader.close()
