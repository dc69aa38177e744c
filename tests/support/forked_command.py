"""Commands that are forked from one process that has imported Causeway.

A pytest worker starts one such template when it first needs it. A command that is forked from it has its own
session, environment, directory and output, as one that is started by itself. It imports nothing anew, so what
must be set before an import (`IMPORTED`) needs a process of its own.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, cast

PROGRAM = Path(__file__).with_name("without_spark.py")
IMPORTED = ("CAUSEWAY_FAILPOINT", "PYTHON", "NUMBA")
"""Prefixes of variables that are read at an import."""


class Command(NamedTuple):
    """What the template gets for each command."""

    arguments: list[str]
    environment: dict[str, str]
    directory: str
    files: tuple[str, str, str]
    spark: bool


class ForkedCommand:
    """What `subprocess.Popen` is for a process that the template has forked."""

    def __init__(self, template: Template, request: int, pid: int) -> None:
        self._template, self._request = template, request
        self.pid = pid
        self.returncode: Any = None  # an exit code, as Popen has it

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._template.exit_code(self._request)
        return cast("int | None", self.returncode)

    def wait(self, timeout: float | None = None) -> int:
        deadline = time.monotonic() + timeout if timeout is not None else None
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(PROGRAM), timeout or 0)
            time.sleep(0.01)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Template:
    """The process that commands are forked from. It ends when these tests do."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM), "--template", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._line = Connection(ours.detach())
        self._lock = threading.Lock()
        self._requests = itertools.count()
        self._ended: dict[int, int] = {}  # request → exit code

    def fork(self, command: Command) -> ForkedCommand:
        with self._lock:
            self._line.send(command)
            while not isinstance(reply := self._line.recv(), int):
                self._ended.update([reply])
            return ForkedCommand(self, next(self._requests), reply)

    def exit_code(self, request: int) -> int | None:
        with self._lock:
            while self._line.poll():
                self._ended.update([self._line.recv()])
            return self._ended.get(request)


@functools.cache
def _template() -> Template:
    return Template()


def can_be_forked(env: Mapping[str, str]) -> bool:
    return all(os.environ.get(name) == value for name, value in env.items() if name.startswith(IMPORTED))


def start(
    arguments: Sequence[str],
    env: Mapping[str, str],
    stdout: Path,
    stderr: Path,
    *,
    stdin: Path = Path(os.devnull),
    spark: bool,
) -> ForkedCommand:
    files = (str(stdin), str(stdout), str(stderr))
    return _template().fork(Command(list(arguments), dict(env), str(Path.cwd()), files, spark))
