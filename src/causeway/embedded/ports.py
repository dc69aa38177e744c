"""Ports of 127.0.0.1 that a broker can keep across restarts.

They come from below the range that the kernel hands out for outgoing connections (32768 and up on
Linux, 49152 on macOS). A port of that range, as binding to port 0 gives, is not safe while its broker
is down: any connection may take it as its own end, and a client that keeps trying to reconnect to it
will, once in some ten thousand tries, be connected to itself and hold the port against the broker.
"""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

HOST = "127.0.0.1"

_FIRST, _LAST = 20000, 32000


def free_ports(count: int) -> list[int]:
    """Different ports that nobody listens on; all are held until the last one is found."""
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
    """Whether a broker could listen there now; like a broker's, the socket ignores TIME_WAIT."""
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
