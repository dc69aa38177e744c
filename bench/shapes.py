"""The shapes of the records: a centre, one factor changed at a time, or all combinations. Pure."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Literal

Compression = Literal["none", "lz4"]

SIZES = (100, 200, 1_000, 10_000)
PARTITIONS = (1, 4, 64)
COMPRESSIONS: tuple[Compression, ...] = ("lz4", "none")


@dataclass(frozen=True)
class Shape:
    """The shape of the records of one topic, and of the topic."""

    size: int = 200  # bytes of the value; there is no key
    headers: bool = False
    compression: Compression = "lz4"
    partitions: int = 4

    @property
    def name(self) -> str:
        headers = "with headers" if self.headers else "no headers"
        size = f"{self.size // 1000} KB" if self.size >= 1000 else f"{self.size} B"
        compression = "uncompressed" if self.compression == "none" else self.compression
        number = f"{self.partitions} partition{'s' if self.partitions > 1 else ''}"
        return f"{size}, {headers}, {compression}, {number}"

    def counts(self, records: int) -> list[int]:
        """How many records each partition holds: record n is in partition n modulo their number."""
        return [len(range(partition, records, self.partitions)) for partition in range(self.partitions)]


CENTRE = Shape()


def around(centre: Shape = CENTRE) -> list[Shape]:
    """The centre, and from there one factor changed at a time."""
    return [
        centre,
        *(replace(centre, size=size) for size in SIZES if size != centre.size),
        replace(centre, headers=not centre.headers),
        *(replace(centre, compression=name) for name in COMPRESSIONS if name != centre.compression),
        *(replace(centre, partitions=number) for number in PARTITIONS if number != centre.partitions),
    ]


def combinations() -> list[Shape]:
    """All combinations, the centre first, so that an interrupted run includes it."""
    every = [
        Shape(size, headers, compression, partitions)
        for size, headers, compression, partitions in itertools.product(
            SIZES, (False, True), COMPRESSIONS, PARTITIONS
        )
    ]
    return sorted(every, key=lambda shape: shape != CENTRE)


def records_of(shape: Shape, most: int, megabytes: int) -> int:
    """Number of records in a run: fewer if they are large, so that every run fits the page cache."""
    return max(shape.partitions, min(most, megabytes * 1_000_000 // shape.size))
