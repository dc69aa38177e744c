"""A command in a terminal: it asks for confirmation, and shows tables."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def in_terminal(
    *arguments: str | Path,
    answer: bytes = b"",
    columns: int = 160,
    env: Mapping[str, str] | None = None,
    seconds: float = 60.0,
) -> tuple[int, str]:
    """Run `causeway` with this input; returns the exit code and what the terminal shows, without styles."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "causeway", *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm", **(env or {})},
    )
    os.close(theirs)
    os.write(ours, answer)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is closed when the process ends
        while some := os.read(ours, 65536):
            shown += some
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    return process.wait(seconds), text.replace("\r\n", "\n")
