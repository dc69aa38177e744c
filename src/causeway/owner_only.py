"""Directories and files that their owner alone can read, whatever the umask and whoever created them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

DIRECTORY, FILE = 0o700, 0o600
OURS = frozenset({"demo", "kafka", "logs"})
"""What is in the state directory."""


def state_part(state: Path, name: str) -> Path:
    """A directory in the state directory, closed to other users; raises OSError if it cannot be.

    The state directory itself is closed too, unless it has other content: then it is not Causeway's own, and
    closing a directory such as /var/lib would do harm.
    """
    state.mkdir(mode=DIRECTORY, parents=True, exist_ok=True)
    part = state / name
    part.mkdir(mode=DIRECTORY, exist_ok=True)
    _close(part)
    if all(entry.name in OURS for entry in state.iterdir()):
        _close(state)
    return part


def open_file(path: Path, *, append: bool = False) -> int:
    """A file descriptor for writing; the file is closed to others before anything is written.

    A link is refused: in a directory that others may write to, it could name any file of this user.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags | (os.O_APPEND if append else os.O_TRUNC), FILE)
    try:
        os.fchmod(handle, FILE)
    except OSError:
        os.close(handle)
        raise
    return handle


def _close(directory: Path) -> None:
    if stat.S_IMODE(directory.stat().st_mode) != DIRECTORY:
        directory.chmod(DIRECTORY)
