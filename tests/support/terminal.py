"""A command in a terminal: it asks for confirmation, and shows tables."""

from __future__ import annotations

import contextlib
import os
import pty
import re
from collections.abc import Mapping
from pathlib import Path

from support import forked_command


def in_terminal(
    *arguments: str | Path,
    answer: bytes = b"",
    columns: int = 160,
    env: Mapping[str, str] | None = None,
    seconds: float = 60.0,
    spark: bool = False,
) -> tuple[int, str]:
    """Run `causeway` with this input; returns the exit code and what the terminal shows, without styles."""
    ours, theirs = pty.openpty()
    terminal = Path(os.ttyname(theirs))
    environ = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", **(env or {})}
    process = forked_command.start(
        [*map(str, arguments)], environ, terminal, terminal, stdin=terminal, spark=spark
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
