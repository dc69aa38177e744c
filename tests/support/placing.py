"""Where other tools' producers put records, computed independently of the code under test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from support.records import Rec


def sarama(key: bytes, partitions: int) -> int:
    """Sarama's hash partitioner: FNV-1a as a signed number, the remainder without its sign."""
    state = 0x811C9DC5
    for byte in key:
        state = (state ^ byte) * 0x01000193 & 0xFFFFFFFF
    signed = state - (1 << 32) if state >= 1 << 31 else state
    return abs(signed) % partitions  # Go's remainder has the sign of the dividend


def java(key: bytes, partitions: int) -> int:
    """The Java producer's default: murmur2 with its sign bit off."""
    multiplier, mask = 0x5BD1E995, 0xFFFFFFFF
    state = (0x9747B28C ^ len(key)) & mask
    whole = len(key) // 4 * 4
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        state = state * multiplier & mask ^ word
    if rest := key[whole:]:
        state = (state ^ int.from_bytes(rest, "little")) * multiplier & mask
    state = (state ^ state >> 13) * multiplier & mask
    return ((state ^ state >> 15) & 0x7FFFFFFF) % partitions


def assert_all_in_order(source: Mapping[int, Sequence[Rec]], arrived: Mapping[int, Sequence[Rec]]) -> None:
    """Every record once, unchanged, and those of a source partition in its order wherever they went.

    Records must differ from each other.
    """
    wanted = {rec: (partition, place) for partition, recs in source.items() for place, rec in enumerate(recs)}
    assert len(wanted) == sum(map(len, source.values())), "records must differ"
    records = [rec for recs in arrived.values() for rec in recs]
    assert len(records) == len(set(records)), f"{len(records) - len(set(records))} records arrived twice"
    assert set(records) == set(wanted), (
        f"missing: {[*wanted.keys() - set(records)][:3]}, foreign: {[*set(records) - wanted.keys()][:3]}"
    )
    for there, recs in arrived.items():
        for here in source:
            places = [wanted[rec][1] for rec in recs if wanted[rec][0] == here]
            assert places == sorted(places), f"partition {here} is out of order in partition {there}"
