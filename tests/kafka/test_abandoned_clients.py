"""A client that nothing refers to any more, when one of its own threads runs the garbage collector.

Each case is a program of its own: librdkafka would end the process.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from causeway.local_kafka import EmbeddedCluster

COMMON = """
import gc, sys, threading, time
from causeway.core.cluster import Cluster
from causeway.kafka import clients, credentials
from causeway.kafka.native.consumer_handle import NativeConsumer
from causeway.kafka.native.producer_handle import NativeProducer

gc.disable()
DONE = threading.Event()

class Cycle:
    def __init__(self, client):
        self.itself, self.client = self, client

def native_threads():
    import os
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as comm:
                names.append(comm.read().strip())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since
    return names.count("rdk:bg")

def collect(*_):
    gc.collect()
    DONE.set()
"""

REQUEST = """
def begin():
    client = clients.admin(Cluster("paris", {"bootstrap.servers": sys.argv[1]}))
    client.list_topics(timeout=20)
    response = client.describe_cluster()
    cycle = Cycle(client)
    response.add_done_callback(collect)
    return response

response = begin()
"""

TOKEN = """
def token(_config):
    if BEGUN.is_set():
        collect()
    return "token", time.time() + 1, "user", {}  # so that it is requested again and again

BEGUN = threading.Event()
real = credentials.usable
credentials.usable = lambda alias, properties: {**real(alias, properties), "oauth_cb": token}
cluster = Cluster("paris", {
    "bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"
})

def begin():
    Cycle(MAKE)

begin()
BEGUN.set()
"""

END = """
if not DONE.wait(20):
    sys.exit("nothing ran the garbage collector")
deadline = time.monotonic() + 20
while native_threads() and time.monotonic() < deadline:
    time.sleep(0.01)
sys.exit(native_threads() and "the client was never destroyed")
"""

CLIENTS = {
    "consumer": 'clients.consumer(cluster, "g", make=NativeConsumer)',
    "native producer": "clients.producer(cluster, make=NativeProducer)",
    "object producer": "clients.producer(cluster)",
}


def run(program: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMON + program + END, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_a_response_arrives_for_a_client_that_is_garbage(source: EmbeddedCluster) -> None:
    """As after an attempt that failed while it waited for a description of its topics."""
    run(REQUEST, source.bootstrap_servers)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_token_is_requested_for_a_client_that_is_garbage(client: str) -> None:
    run(TOKEN.replace("MAKE", CLIENTS[client]))
