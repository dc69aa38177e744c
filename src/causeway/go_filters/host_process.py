"""A process with a Go plugin in it. The protocol is described in host.go."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import struct
import subprocess
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO

LOADED, NOT_OPENED, NO_FILTER, NOT_MADE = range(4)
"""The statuses of host.go."""

_DROPPED, _KEPT, _PANICKED = range(3)
_NULL = 0xFFFFFFFF
_CHUNK = 64 * 1024
_PRINTED = 256 * 1024
_END_SECONDS = 1.0
_FATAL = re.compile(r"^(?:fatal error|panic): .*", re.M)
_TEXT_LENGTH = 500


class HostDied(Exception):
    """The process ended; the text says how, with what Go wrote at the end."""


class HostProcess:
    """Ends with its owner: at `close`, when it is forgotten, or when this process ends, however it ends."""

    def __init__(self, host: Path, plugin: Path, config: bytes) -> None:
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        try:
            # A group of its own: Ctrl-C in a terminal is for Causeway, which ends the process at its end.
            self._process = subprocess.Popen(
                [str(host), str(plugin), str(to_read), str(from_write)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(to_read, from_write),
                process_group=0,
            )
        except BaseException:
            os.close(to_write)
            os.close(from_read)
            raise
        finally:
            os.close(to_read)
            os.close(from_write)
        self._to, self._from = open(to_write, "wb", buffering=0), open(from_read, "rb")  # noqa: PTH123, SIM115
        assert self._process.stdout is not None
        self._printed = bytearray()
        self._printing = threading.Thread(
            target=_collect, args=(self._process.stdout, self._printed), name="go-filter-output", daemon=True
        )
        self._printing.start()
        self.close = weakref.finalize(self, _end, self._process, self._printing, self._to, self._from)
        try:
            self._send(struct.pack("<I", len(config)) + config)
            self.status = self._receive(1)[0]
            self.text = self._text()
            """The plugin's ID, or why it cannot be used."""
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, values: Sequence[bytes | None]) -> list[bool | str]:
        """For each value whether the plugin allows it or, as text, its panic."""
        lengths = [_NULL if value is None else len(value) for value in values]
        head = struct.pack(f"<{len(values) + 1}I", len(values), *lengths)
        self._send(b"".join([head, *(value for value in values if value)]))
        verdicts = self._receive(len(values))
        if _PANICKED not in verdicts:
            return [verdict == _KEPT for verdict in verdicts]
        return [self._text() if verdict == _PANICKED else verdict == _KEPT for verdict in verdicts]

    def _send(self, content: bytes) -> None:
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._to.write(rest) :]
        except (OSError, ValueError):
            raise HostDied(self._end_text()) from None

    def _receive(self, size: int) -> bytes:
        try:
            content = self._from.read(size)
        except (OSError, ValueError):
            content = b""
        if len(content) < size:
            raise HostDied(self._end_text())
        return content

    def _text(self) -> str:
        (length,) = struct.unpack("<I", self._receive(4))
        return self._receive(length).decode("utf-8", "replace")

    def _end_text(self) -> str:
        """How the process ended, and the line in its output that gives the reason."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._printing.join(_END_SECONDS)
        code = self._process.poll()
        if code is None:
            how = "its process closed the connection"
        elif code < 0:
            how = f"its process was ended by {signal.Signals(-code).name}"
        else:
            how = f"its process ended with exit status {code}"
        printed = self._printed.decode("utf-8", "replace")
        # After Go's own line come those that describe goroutines.
        lines = _FATAL.findall(printed) or [line for line in printed.splitlines() if line.strip()]
        return f"{how}: {lines[-1][:_TEXT_LENGTH]}" if lines else how


def _collect(output: IO[bytes], printed: bytearray) -> None:
    """Keep the end of what the plugin prints, for the error if it ends its process."""
    with output:
        while chunk := os.read(output.fileno(), _CHUNK):
            printed += chunk
            del printed[:-_PRINTED]


def _end(process: subprocess.Popen[bytes], printing: threading.Thread, *pipes: IO[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in pipes:
        with contextlib.suppress(OSError):
            pipe.close()
    printing.join(_END_SECONDS)  # a child of the plugin may still hold the output open
