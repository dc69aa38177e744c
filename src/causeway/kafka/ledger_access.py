"""For commands that write to a ledger: who runs the command, and whether the ledger's mirror is running."""

from __future__ import annotations

import getpass
import os
import socket
import time

from causeway.config import MirrorSettings
from causeway.core.clock import now_ms
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import CONTROL
from causeway.errors import IntegrityError
from causeway.kafka.ledger import LedgerReader

LEDGER_SECONDS = 60.0
RECENT_BEATS = 5.0
"""A driver that wrote nothing for this many heartbeats is not running."""

WATCHED_BEATS = 2.5
"""A driver with a recent heartbeat is watched for this many heartbeats: it may just have ended."""


def who() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())  # the user id has no name, as in some containers
    return f"{name}@{socket.gethostname()}"


def refuse_running(destination: Cluster, mirror: MirrorSettings, *, why: str = "", todo: str = "") -> None:
    """Raise IntegrityError where the mirror's driver writes heartbeats."""
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
            or "stop it first, with Ctrl-C or SIGTERM"
            + (f" (kill {lease.pid} on {lease.host})" if lease else ""),
        )
    finally:
        reader.close()
