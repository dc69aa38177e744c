"""The name of a source topic at the destination."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LONGEST = 249


def destination_name(topic: str, prefix: str, suffix: str, rename: Mapping[str, str]) -> str:
    """The name from `rename`, if any; otherwise prefix and suffix, each unless the name has it already.

    Without that exception `.*` with a prefix would mirror its own output: dc1_dc1_dc1_orders.
    """
    if topic in rename:
        return rename[topic]
    name = topic if topic.startswith(prefix) else prefix + topic
    return name if name.endswith(suffix) else name + suffix


def alike(names: Iterable[str]) -> dict[str, str]:
    """Names that Kafka rejects since they differ from an earlier one only in `.` and `_`, with that name."""
    first: dict[str, str] = {}
    collisions = {}
    for name in names:
        other = first.setdefault(name.replace(".", "_"), name)
        if other != name:
            collisions[name] = other
    return collisions
