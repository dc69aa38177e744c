"""Drop producers during transactions, as failed attempts do. A program, since the client may end its process.

Arguments: bootstrap servers, topic, carrier, and how many producers to drop.
"""

from __future__ import annotations

import sys
import time
from random import Random

from causeway.core.choices import CarrierChoice
from causeway.core.cluster import Cluster
from causeway.core.task_order import Limits
from causeway.kafka.carrier import carrier
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.transaction import Transaction

LIMITS = Limits(1_000, 1 << 20, 1, 10, 1 << 24, 10_000, 100_000, 1)
LONGEST_SECONDS = 0.0016
"""From produce to close: the client failed if that took 0.8 to 1.6 ms (two cores, a loaded machine)."""


def drop(servers: str, topic: str, kind: CarrierChoice, count: int) -> None:
    destination = Cluster("destination", {"bootstrap.servers": servers})
    waits = Random(1)
    for _ in range(count):
        producer = DestinationProducer(
            destination, LIMITS, "none", Transaction(topic), kind=carrier(kind, "").producer
        )
        producer.fence()
        producer.begin()
        producer.client.handle.produce(topic, b"value", b"key", 0)
        until = time.monotonic() + waits.uniform(0, LONGEST_SECONDS)
        while time.monotonic() < until:
            pass
        producer.close()


if __name__ == "__main__":
    drop(sys.argv[1], sys.argv[2], "native" if sys.argv[3] == "native" else "object", int(sys.argv[4]))
