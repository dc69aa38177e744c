"""Failpoints: places where tests kill or stop a process.

With `CAUSEWAY_FAILPOINT=name:hit:action:flag`, the process that reaches the failpoint `name` for the
`hit`-th time performs `action`, once in the life of the file `flag` (the first process to act creates it):

    kill     SIGKILL this process (a Spark worker, where the task runs)
    driver   SIGKILL the process in CAUSEWAY_DRIVER_PID, and continue
    stop     SIGSTOP this process

Without the variable, a failpoint costs one dictionary look-up.
"""

from __future__ import annotations

import os
import signal

_armed: dict[str, tuple[int, str, str]] = {}
_hits: dict[str, int] = {}

if _spec := os.environ.get("CAUSEWAY_FAILPOINT"):
    _name, _hit, _action, _flag = _spec.split(":", 3)
    _armed[_name] = (int(_hit), _action, _flag)


def reach(name: str) -> None:
    """Report that this failpoint was reached; perform its action if it is armed."""
    if name not in _armed:
        return
    hit, action, flag = _armed[name]
    _hits[name] = _hits.get(name, 0) + 1
    if _hits[name] < hit:
        return
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return
    if action == "driver":
        os.kill(int(os.environ["CAUSEWAY_DRIVER_PID"]), signal.SIGKILL)
    else:
        os.kill(os.getpid(), signal.SIGKILL if action == "kill" else signal.SIGSTOP)
