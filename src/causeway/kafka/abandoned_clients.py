"""Destroys clients that nothing refers to any more where librdkafka allows it.

librdkafka ends the process if one of a client's own threads destroys that client. Python does that as
follows:

1. An attempt ends while its admin client waits for a response. The exception's traceback refers to the
   client, in a cycle, so the client stays until the garbage collector runs.
2. The response arrives. A thread of the client's calls Python with it.
3. Python allocates memory there, and runs the garbage collector: in the client's own thread.

Tokens for OAUTHBEARER are requested in such a thread, too. So whatever a thread of a client's is about to
destroy goes to a thread of ours, which destroys it.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

Close = Callable[[], None]

_abandoned: SimpleQueue[tuple[object, Close | None]] = SimpleQueue()
"""A SimpleQueue, as its put() may be called while garbage is collected."""
_lock = threading.Lock()
_thread: threading.Thread | None = None


def watch() -> None:
    """Start the thread that destroys, before a client is created: the garbage collector cannot start one."""
    global _thread
    with _lock:
        if _thread is None:
            _thread = threading.Thread(
                target=_destroy, args=[_abandoned], name="abandoned-clients", daemon=True
            )
            _thread.start()


def destroy(client: object, close: Close | None = None) -> None:
    """For a client's `__del__`: close it, here, or elsewhere if this may be one of its own threads.

    Without `close`, the client is destroyed with the last reference to it.
    """
    if isinstance(threading.current_thread(), threading._DummyThread):  # Python did not start this thread
        _abandoned.put((client, close))
    elif close is not None:
        close()


def _destroy(abandoned: SimpleQueue[tuple[object, Close | None]]) -> None:
    while True:
        client, close = abandoned.get()
        if close is not None:
            close()
        del client, close  # the last references, or else those of a cycle. `__del__` is called once only
        gc.collect()


def _after_fork() -> None:
    """The child has no thread that destroys, and the parent's queue may be locked by it."""
    global _abandoned, _lock, _thread
    _abandoned, _lock, _thread = SimpleQueue(), threading.Lock(), None


os.register_at_fork(after_in_child=_after_fork)
