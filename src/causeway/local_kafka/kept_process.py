"""A process with a directory of its own, where process.json identifies it.

So every later command finds it. It ends with the process that started it, unless it is detached.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from causeway.errors import SetupError
from causeway.local_kafka import process
from causeway.local_kafka.process import ProcessId, Watchdog

STOP_SECONDS = 20.0
_KILL_SECONDS = 20.0

_TROUBLE = (" ERROR ", " FATAL ", "Exception", "Error:", "Caused by")


class KeptProcess:
    def __init__(self, what: str, directory: Path, log: Path, *, detached: bool) -> None:
        self._what = what
        self._directory = directory
        self._log = log
        self._log_start = 0
        self._detached = detached
        self._watchdog: Watchdog | None = None
        self._file = directory / "process.json"

    @property
    def pid(self) -> int | None:
        running = self._current()
        return running.pid if running is not None else None

    @property
    def is_up(self) -> bool:
        return self.pid is not None

    def start(self, command: Sequence[str]) -> None:
        self._log_start = self._log.stat().st_size if self._log.exists() else 0
        running = process.spawn(command, self._directory, self._log)
        if not self._detached:
            self._watchdog = Watchdog(running)
        self._file.write_text(running.to_json())

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Stop it with SIGTERM; after the timeout, with SIGKILL."""
        self.ask_to_stop()
        running = self._current()
        if running is not None and not process.wait_gone(running, timeout):
            self.kill()
        self._forget()

    def ask_to_stop(self) -> None:
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)  # a paused process would never handle SIGTERM

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self.send(signal.SIGKILL)
        running = self._current()
        if running is not None and not process.wait_gone(running, _KILL_SECONDS):
            raise SetupError(f"{self._what} cannot be killed", where=f"pid {running.pid}")
        self._forget()

    def send(self, number: signal.Signals) -> None:
        running = self._current()
        if running is not None:
            process.send(running, number)

    def failure(self, what: str) -> SetupError:
        """The error of a start that failed, with the lines of the log that explain it."""
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        return SetupError(
            f"{self._what} {what}",
            where=f"log {self._log}",
            why="\n     ".join(meaningful(lines)) or "it wrote nothing",
        )

    def _current(self) -> ProcessId | None:
        """The current process, whichever command started it."""
        try:
            known = ProcessId.from_json(self._file.read_text())
            if process.is_alive(known):
                return known
        except FileNotFoundError:
            pass
        except (ValueError, TypeError) as error:
            raise SetupError(
                f"cannot tell which process is {self._what}",
                where=str(self._file),
                why="the file is damaged",
                todo=f"kill {self._what}, then remove the file",
            ) from error
        self._disarm()  # it has ended, and its pid may be reused
        return None

    def _disarm(self) -> None:
        if self._watchdog is not None:
            self._watchdog.disarm()
            self._watchdog = None

    def _forget(self) -> None:
        self._disarm()
        self._file.unlink(missing_ok=True)


def meaningful(lines: list[str], most: int = 5) -> list[str]:
    """The lines of a log that explain a failure: errors if there are any, else the last lines."""
    frames = ("\tat ", "\t... ")
    spoken = [line.rstrip() for line in lines if line.strip() and not line.startswith(frames)]
    complaints = [line for line in spoken if any(word in line for word in _TROUBLE)]
    return list(dict.fromkeys(complaints))[-most:] or spoken[-most:]
