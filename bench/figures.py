"""Percentiles, medians and spreads. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}


@dataclass(frozen=True)
class Spread:
    """The results of several rounds."""

    median: float
    low: float
    high: float
    rounds: int


def spread(values: Sequence[float]) -> Spread:
    """Raises ValueError if nothing was measured."""
    if not values:
        raise ValueError("nothing was measured")
    return Spread(float(median(values)), min(values), max(values), len(values))


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest rank: the smallest measured value that at least this share of all values does not exceed.

    Raises ValueError for no values, or an invalid share.
    """
    if not values:
        raise ValueError("nothing was measured")
    if not 0 < share <= 1:
        raise ValueError(f"{share} is not a share")
    # A rounding error must not lead to the next rank: 0.999 × 1000 is 999.0000000000001.
    return sorted(values)[math.ceil(round(share * len(values), 6)) - 1]


def percentiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {name: percentile(ordered, share) for name, share in PERCENTILES.items()}
