"""The longest common subsequence of two windows of digests: what kept its order.

Hunt and Szymanski's algorithm: for almost unique elements it costs n·log n, whatever the differences
are. Digests that repeat very often are paired only near the frontier, so the cost stays bounded; the
result is then still a common subsequence, but not always the longest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

NEAREST = 16
"""This many places are tried for a digest that repeats more often than that."""

Pairs = list[tuple[int, int]]


def common_subsequence(left: Sequence[bytes], right: Sequence[bytes]) -> Pairs:
    """Index pairs of equal elements, ascending on both sides; among equal choices see `_lean`."""
    places: dict[bytes, list[int]] = {}
    for index, digest in enumerate(left):
        places.setdefault(digest, []).append(index)
    ends: list[int] = []  # ends[n]: the smallest left index that ends a common run of n + 1
    nodes: list[int] = []  # nodes[n]: the entry in `trail` that ends it
    trail: list[tuple[int, int, int]] = []  # left index, right index, entry before or -1
    for j, digest in enumerate(right):
        for i in _candidates(places.get(digest), ends):
            length = len(ends) if not ends or i > ends[-1] else bisect_left(ends, i)
            trail.append((i, j, nodes[length - 1] if length else -1))
            if length == len(ends):
                ends.append(i)
                nodes.append(len(trail) - 1)
            else:
                ends[length] = i
                nodes[length] = len(trail) - 1
    pairs: Pairs = []
    entry = nodes[-1] if nodes else -1
    while entry >= 0:
        i, j, entry = trail[entry]
        pairs.append(_lean((i, j), pairs[-1] if pairs else None, left, right))
    pairs.reverse()
    return pairs


def _candidates(places: list[int] | None, ends: list[int]) -> Sequence[int]:
    """Descending, so that one element of the right side extends each run once at most."""
    if places is None:
        return ()
    if len(places) > NEAREST:
        frontier = bisect_left(places, ends[-1] + 1) if ends else 0
        low = max(0, frontier - NEAREST // 2)
        places = places[low : low + NEAREST]
    return places[::-1] if len(places) > 1 else places


def _lean(
    pair: tuple[int, int], following: tuple[int, int] | None, left: Sequence[bytes], right: Sequence[bytes]
) -> tuple[int, int]:
    """Among equal choices, the one next to the pair that follows: matches form runs, gaps lie before."""
    if following is None:
        return pair
    i, j = pair
    digest = left[i]
    if left[following[0] - 1] == digest:
        i = following[0] - 1
    if right[following[1] - 1] == digest:
        j = following[1] - 1
    return i, j


def runs(pairs: Pairs, left: Sequence[bytes], length: int) -> Iterator[tuple[int, int]]:
    """First and last index into `pairs` of stretches that prove the same place, the last stretch first.

    A stretch is `length` pairs without a hole on at least one side (the other may have lost or gained
    records in between), with at least `length` / 2 different digests: a repeated record proves nothing.
    """
    for last in range(len(pairs) - 1, length - 2, -1):
        first = last - length + 1
        if length - 1 not in (pairs[last][0] - pairs[first][0], pairs[last][1] - pairs[first][1]):
            continue
        if 2 * len({left[i] for i, _ in pairs[first : last + 1]}) >= length:
            yield first, last
