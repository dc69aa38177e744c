"""The lowest Kafka release that a broker can be, judged by the requests that it supports.

Each release raised the version of some request. The result is conservative: a release counts only if the
marks of all releases before it are there too, since other implementations choose what they support.
"""

from __future__ import annotations

from collections.abc import Mapping

PRODUCE, FETCH, LIST_OFFSETS, METADATA, JOIN_GROUP, LIST_GROUPS = 0, 1, 2, 3, 11, 16
INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, END_TXN, DESCRIBE_LOG_DIRS = 22, 24, 26, 35

TRANSACTIONS = {
    INIT_PRODUCER_ID: "InitProducerId",
    ADD_PARTITIONS_TO_TXN: "AddPartitionsToTxn",
    END_TXN: "EndTxn",
}
"""The requests that a destination must support for exactly-once."""

_MARKS = (
    ("0.11", PRODUCE, 3),
    ("1.0", PRODUCE, 5),
    ("1.1", FETCH, 7),
    ("2.0", PRODUCE, 6),
    ("2.1", FETCH, 10),
    ("2.2", LIST_OFFSETS, 5),
    ("2.3", FETCH, 11),
    ("2.4", PRODUCE, 8),
    ("2.5", INIT_PRODUCER_ID, 3),
    ("2.6", LIST_GROUPS, 4),
    ("2.7", FETCH, 12),
    ("2.8", PRODUCE, 9),
    ("3.0", LIST_OFFSETS, 7),
    ("3.1", FETCH, 13),
    ("3.2", JOIN_GROUP, 9),
    ("3.3", DESCRIBE_LOG_DIRS, 4),
    ("3.5", FETCH, 15),
    ("3.6", ADD_PARTITIONS_TO_TXN, 4),
    ("3.7", PRODUCE, 10),
    ("3.8", PRODUCE, 11),
    ("3.9", FETCH, 17),
    ("4.0", PRODUCE, 12),
    ("4.1", PRODUCE, 13),
    ("4.2", LIST_OFFSETS, 11),
    ("4.3", DESCRIBE_LOG_DIRS, 5),
)  # 3.4 changed nothing that a client sees


def at_least(highest: Mapping[int, int]) -> str | None:
    """The release, from the highest version of each request by API key; None if it is unknown."""
    release = None
    for name, key, version in _MARKS:
        if highest.get(key, -1) < version:
            break
        release = name
    return release
