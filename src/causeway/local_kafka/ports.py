"""Ports of 127.0.0.1 that a broker can keep across restarts.

They are below the range that the kernel uses for outgoing connections (32768 and up on Linux, 49152
on macOS). A port in that range, as bind to port 0 returns, is not safe while its broker is down: any
outgoing connection may get it as its local port, and a client that keeps reconnecting to it will, once
in some ten thousand attempts, connect to itself and keep the port from the broker.
"""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

HOST = "127.0.0.1"

_FIRST, _LAST = 20000, 32000


def free_ports(count: int) -> list[int]:
    """Distinct ports that no process listens on; all are held until the last one is found."""
    with ExitStack() as held:
        ports: list[int] = []
        for port in random.sample(range(_FIRST, _LAST), _LAST - _FIRST):
            if len(ports) == count:
                return ports
            listener = held.enter_context(socket.socket())
            try:
                listener.bind((HOST, port))
            except OSError:
                continue
            ports.append(port)
    raise OSError(f"no {count} free ports between {_FIRST} and {_LAST}")


def is_free(port: int) -> bool:
    """Whether a broker could listen there now; like a broker's socket, this one ignores TIME_WAIT."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
    return True


def answers(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=1):
            return True
    except OSError:
        return False
