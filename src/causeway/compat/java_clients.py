"""Properties of Java's Kafka clients in another tool's files, by the configuration's own table of names.

A property that a mirror does not need gets a note here, since its file was written for the tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from causeway.compat.translation import Translation
from causeway.config import client_names
from causeway.config.java_names import JAVA_ALONE, RENAMED, SHARED, TRANSLATED, UNSUPPORTED, UNUSED_HERE
from causeway.config.problems import nearest
from causeway.config.properties import REFUSED


class GivenProperty(NamedTuple):
    value: str
    where: str  # file, line and key, for messages


SECURITY = re.compile(r"security\.protocol|security\.providers|(?:sasl|ssl)\..+")
"""What MirrorMaker 2 applies to all clients of a cluster, besides its brokers."""

_UNUSED = {
    **UNUSED_HERE,
    **JAVA_ALONE,
    "max.request.size": "the destination's own limits decide",  # it is there to raise Java's 1 MB
}
_USED = SHARED | {*RENAMED, *TRANSLATED, *UNSUPPORTED}


def translated(
    given: Mapping[str, GivenProperty],
    translation: Translation,
    beside: Mapping[str, GivenProperty] | None = None,
) -> dict[str, str]:
    """librdkafka's properties; every other property becomes a note or a problem.

    `beside` has what else the same clients get, such as the type of a store.
    """
    used: dict[str, str] = {}
    for name, (value, where) in given.items():
        if name in _UNUSED or name.startswith("metrics.context."):
            translation.note(where, f"not needed: {_UNUSED.get(name, 'it tunes the Java client')}")
        elif name in REFUSED:
            translation.note(where, f"Causeway sets it itself: {REFUSED[name]}")
        elif name in _USED:
            used[name] = value
        else:
            translation.problem(where, f"unknown key{nearest(name, _USED | {*_UNUSED, *REFUSED})}")
    around = {name: other.value for name, other in (beside or {}).items()}
    names = client_names.translated(used, around)
    for name, problem in names.problems:
        translation.problem(given[name].where, problem)
    return names.properties
