"""Worker processes without a JVM: what `pyspark.daemon` is for Spark, for the tests' own executor.

A server process is forked from the driver before the driver has threads. It forks a worker whenever the
driver asks for one, so a worker starts with every module loaded. Workers live on and get one task after the
other. When the driver dies, the server kills them all.

    driver ──fork──► server ──fork──► worker, worker, …      driver ◄──tasks, results──► each worker
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import select
import signal
import socket
import sys
import threading
import warnings
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

_OUTPUT, _WORKER, _END = b"o", b"w", b"e"
_SHORT = 4096


@dataclass
class Ended:
    """A task has ended: the rows that it returned, and what it added to counters, by their number."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    counted: dict[int, int] = field(default_factory=dict)
    failure: str = ""


_counted: dict[int, int] = {}
"""What the running task of this worker has added."""


class WorkerCounter:
    """A counter as a task sees it."""

    def __init__(self, number: int) -> None:
        self._number = number

    @property
    def value(self) -> int:
        raise TypeError("a task cannot read a counter")  # as with Spark's accumulators

    def add(self, term: int) -> None:
        _counted[self._number] = _counted.get(self._number, 0) + term


class WorkerServer:
    """The driver's side of the server. Create it while the process has one thread."""

    def __init__(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._line, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's own threads, which it can do without in a fork
            self.pid = os.fork()
        if self.pid == 0:
            with _exit_afterwards():
                self._line.close()
                _serve(theirs)
        theirs.close()

    def output_into(self, path: str) -> None:
        """Where workers write what they print. Otherwise they would keep the driver's own output open."""
        self._line.sendall(_OUTPUT + path.encode().ljust(_SHORT))

    def worker(self) -> tuple[int, Connection]:
        """Start another worker: its process id, and the connection to it. Raises OSError without a server."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            socket.send_fds(self._line, [_WORKER], [theirs.fileno()])
        connection = Connection(ours.detach())
        try:
            return int(connection.recv()), connection
        except (EOFError, OSError):
            connection.close()
            raise OSError("the server of the workers has ended") from None

    def alive(self) -> bool:
        with contextlib.suppress(ChildProcessError):
            return os.waitpid(self.pid, os.WNOHANG) == (0, 0)
        return False

    def end_workers(self) -> None:
        """End all workers, and wait until they have ended. The next executor gets others."""
        with self._lock, contextlib.suppress(OSError):  # without a server there are no workers
            self._line.sendall(_END)
            self._line.recv(1)

    def close(self) -> None:
        """End the server and all workers, and wait until they have ended."""
        with self._lock:
            self._line.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def send_task(connection: Connection, task: Any, row: pa.Table) -> None:
    """Send a task and its row to a worker; a closure goes by value, as Spark sends it."""
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, row.schema) as writer:
        writer.write_table(row)
    connection.send_bytes(cloudpickle.dumps((task, buffer.getvalue())))  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _exit_afterwards() -> Any:
    """A forked process must not return into what its parent was doing, nor run its exit handlers."""
    code = 1
    try:
        yield
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _serve(line: socket.socket) -> None:
    os.setpgid(0, 0)  # Ctrl-C in a terminal is for the driver, as with Spark's daemon
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()  # what is loaded by now stays, and need not be copied into each worker
    workers: set[int] = set()
    try:
        while True:
            ready = select.select([line], [], [], 1.0)[0]
            _reap(workers)
            if not ready:
                continue
            request, descriptors, _, _ = socket.recv_fds(line, 1, 1)
            if request == _OUTPUT:
                path = line.recv(_SHORT, socket.MSG_WAITALL).decode().rstrip()
                file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
                os.dup2(file, 1)
                os.dup2(file, 2)
                os.close(file)
            elif request == _WORKER:
                pid = os.fork()
                if pid == 0:
                    with _exit_afterwards():
                        line.close()
                        _work(Connection(descriptors[0]))
                os.close(descriptors[0])
                workers.add(pid)
            elif request == _END:
                _end(workers)
                line.sendall(_END)
            else:
                return  # the driver has closed its end, or it is dead
    finally:
        _end(workers)


def _end(workers: set[int]) -> None:
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    while workers:
        os.waitpid(workers.pop(), 0)


def _reap(workers: set[int]) -> None:
    for pid in list(workers):
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            workers.discard(pid)


def _work(connection: Connection) -> None:
    """Run task after task, until the driver closes the connection."""
    connection.send(os.getpid())
    while True:
        try:
            data = connection.recv_bytes()
        except EOFError:
            return
        connection.send(_run(data))
        del data
        gc.collect()  # as Spark's workers do between two tasks


def _run(data: bytes) -> Ended:
    _counted.clear()
    try:
        task, row = pickle.loads(data)
        with pa.ipc.open_stream(row) as reader:
            rows = [row for batch in task(iter(reader)) for row in batch.to_pylist()]
        return Ended(rows, dict(_counted))
    except Exception as error:
        return Ended(failure=f"{type(error).__name__}: {error}")
