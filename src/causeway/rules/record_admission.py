"""Whether a consumed record may be replicated: the one rule, for each record of each partition.

Three loops apply it to every record, and keep conditions of their own because they are hot: the object
carrier's and the compiled loop take ordinary records by themselves, the record filter runs before the
producer. `tests/kafka/test_record_admission.py` compares each of them with this rule.
"""

from __future__ import annotations

from enum import IntEnum


class Admission(IntEnum):
    REPLICATE = 0
    IGNORE = 1  # its partition is stopped, or the record was replicated before
    CHECK_LOG = 2  # before the next offset, or the first one that comes: it shows if the log is the same
    BARRIER = 3  # at or after an offset that must not be passed: a lost range, or a rejected record
    NO_TIMESTAMP = 4  # the client would replace it with the current time
    HEADERS = 5  # they cannot be read, or not be written unchanged


def offset_admission(
    offset: int, *, stopped: bool, recognized: bool, next_offset: int, barrier: int
) -> Admission:
    """What the state of its partition says about a record, by its offset alone.

    `recognized`: a record, or the end of the partition, has shown that the log is the one that was read
    before. `next_offset` is the first one that was not replicated.
    """
    if stopped:
        return Admission.IGNORE
    if not recognized or offset < next_offset:
        return Admission.CHECK_LOG
    if offset >= barrier:
        return Admission.BARRIER
    return Admission.REPLICATE


def content_admission(timestamp: int, *, headers_usable: bool) -> Admission:
    """Whether a record can be written unchanged."""
    if timestamp <= 0:
        return Admission.NO_TIMESTAMP
    if not headers_usable:
        return Admission.HEADERS
    return Admission.REPLICATE
