"""What the demo's records look like. Pure: the same number gives the same record.

Four topics of a shop, and an `edge-cases` topic with every kind of record that Kafka accepts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle, product
from typing import NamedTuple

DemoHeaders = tuple[tuple[str, bytes | None], ...]

ORDERS, PAYMENTS, CLICKS, CUSTOMERS, EDGE_CASES = "orders", "payments", "clicks", "customers", "edge-cases"

DAY_MS = 24 * 60 * 60 * 1000
SIZE = 200
TOMBSTONE_EVERY = 4
_MIX = (CLICKS,) * 10 + (ORDERS,) * 7 + (PAYMENTS,) * 2 + (CUSTOMERS,)
_STRIDE = 7  # coprime to the mix, so that neighbours go to different topics
# Hexadecimal digits compress to a half, as much business data does.
_FILLER = random.Random(4).randbytes(4 * SIZE).hex()


class DemoRecord(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None
    headers: DemoHeaders = ()
    timestamp: int = 0  # 0: now
    partition: int = -1  # -1: by key


@dataclass(frozen=True)
class DemoTopic:
    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


TOPICS = (
    DemoTopic(ORDERS, 4),
    DemoTopic(PAYMENTS, 2),
    DemoTopic(CLICKS, 6),
    DemoTopic(CUSTOMERS, 1, {"cleanup.policy": "compact"}),
    # Kafka 4 rejects timestamps more than an hour ahead, unless configured otherwise.
    DemoTopic(EDGE_CASES, 3, {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2 * DAY_MS)}),
)
SELECTION = (ORDERS, PAYMENTS, "clicks|customers", "edge-.+")
"""The same topics as a mirror names them: names and regular expressions."""


def business(number: int) -> DemoRecord:
    """The number-th record of the shop; every twentieth number goes to the same topic."""
    topic = _MIX[number * _STRIDE % len(_MIX)]
    if topic == CLICKS:
        return DemoRecord(topic, None, _value(number, "page", f"/shelf/{number % 997}"))
    if topic == CUSTOMERS:
        gone = number // len(_MIX) % TOMBSTONE_EVERY == 0
        customer = f"customer-{number % 1_013}"
        return DemoRecord(topic, customer.encode(), None if gone else _value(number, "name", customer))
    headers: DemoHeaders = ()
    if topic == ORDERS and number % 10 == 0:
        headers = (("trace", f"{number:016x}".encode()), ("hop", b"web"), ("hop", b"basket"), ("via", None))
    return DemoRecord(
        topic, f"{topic}-{number % 5_003}".encode(), _value(number, "amount", number % 9_973), headers
    )


def edge_cases(now_ms: int) -> Iterator[DemoRecord]:
    """Every unusual key with every unusual value and every unusual set of headers, at times around now."""
    keys = (None, b"", b"key", b"\x00\xff\xfe")
    values = (None, b"", b"text", bytes(range(256)), b"large " * 50_000)
    headers: tuple[DemoHeaders, ...] = (
        (),
        (("twice", b"1"), ("twice", b"2"), ("once", b"3"), ("twice", b"1")),
        (("null", None), ("empty", b"")),
        (("", b"a header without a name"),),
        (("naïve 名前", "ü".encode()), ("binary", b"\x00\xff")),
    )
    times = cycle((now_ms, now_ms - DAY_MS, now_ms + DAY_MS))
    for number, (key, value, some) in enumerate(product(keys, values, headers)):
        if value is not None and len(value) > SIZE * 100 and some:
            continue  # one large record for each key is enough
        yield DemoRecord(EDGE_CASES, key, value, some, next(times), number % 3)


def _value(number: int, name: str, content: object) -> bytes:
    start = number * 31 % len(_FILLER) // 2
    text = json.dumps({"number": number, name: content})[:-1]
    return f'{text}, "note": "{_FILLER[start : start + SIZE - len(text) - 13]}"}}'.encode()
