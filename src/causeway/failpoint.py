"""Places where tests pull the plug.

`CAUSEWAY_FAILPOINT=name:hit:action:flag` makes the process that reaches the place `name` for the
`hit`-th time do `action`, once in the life of the file `flag` (created by whoever acts first):

    kill     SIGKILL this process (a Spark worker, where the relay runs)
    driver   SIGKILL the process in CAUSEWAY_DRIVER_PID, and go on
    stop     SIGSTOP this process

Without the variable a failpoint is a dictionary look-up that finds nothing.
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
    """Say that this place was reached."""
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
