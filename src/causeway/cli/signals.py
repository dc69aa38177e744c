"""Signal handlers for the duration of a command. A signal that the caller had ignored stays ignored."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Handler = Callable[[int, Any], Any]
_CALLERS = (signal.SIGINT, signal.SIGHUP)
"""A shell ignores SIGINT for background jobs of a script, nohup ignores SIGHUP. SIGTERM is always handled."""


@contextlib.contextmanager
def handling(handlers: Mapping[signal.Signals, Handler]) -> Iterator[None]:
    """Install these handlers, and restore the previous ones at the end."""
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        ignored = number in _CALLERS and before[number] is signal.SIG_IGN
        signal.signal(number, signal.SIG_IGN if ignored else handler)
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
