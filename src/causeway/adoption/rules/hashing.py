"""Which partition a key chooses, as producers compute it: Java's murmur2, Sarama's FNV-1a.

The client places records, not this module: it only computes where to look for another tool's records.
"""

from __future__ import annotations

from typing import Literal

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995


def partition_of(key: bytes, partitions: int, partitioner: Literal["murmur2", "fnv1a"]) -> int:
    if partitioner == "murmur2":
        return (murmur2(key) & 0x7FFFFFFF) % partitions
    hashed = fnv1a(key)
    return (hashed if hashed < 1 << 31 else (1 << 32) - hashed) % partitions


def murmur2(data: bytes) -> int:
    """As org.apache.kafka.common.utils.Utils.murmur2, without its sign."""
    state = (0x9747B28C ^ len(data)) & _MASK
    whole = len(data) - len(data) % 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ (word >> 24)) * _MULTIPLIER & _MASK
        state = (state * _MULTIPLIER & _MASK) ^ word
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    state = (state ^ (state >> 13)) * _MULTIPLIER & _MASK
    return state ^ (state >> 15)


def fnv1a(data: bytes) -> int:
    state = 0x811C9DC5
    for byte in data:
        state = (state ^ byte) * 0x01000193 & _MASK
    return state
