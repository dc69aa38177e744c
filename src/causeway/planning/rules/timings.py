"""Names of timings topics, and routes with which they would clash. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.core.route import Route
from causeway.planning.rules.naming import LONGEST
from causeway.rules.timings import timings_topic


def timings_of(routes: Iterable[Route]) -> dict[str, str]:
    """The destination topic that each timings topic is about, by the name of the timings topic."""
    return {name: route.to for route in routes if (name := timings_topic(route.source.name, route.to))}


def timings_clash(route: Route, timings: Mapping[str, str], replicated: Mapping[str, str]) -> tuple[str, str]:
    """Why timings and this route cannot go together, and what to do; ("", "") if they can.

    `timings` are those of all routes of the mirror; `replicated`: what other mirrors write to on the
    destination, and their names.
    """
    own = timings_topic(route.source.name, route.to)
    if route.to in timings:
        why = f"its destination topic {route.to} is the one for the timings of topic {timings[route.to]}"
        return why, "exclude it, or give it another name with prefix, suffix or rename"
    if len(own) > LONGEST:
        why = f"{own[:40]}…, the topic for its timings, is not a valid topic name ({len(own)} characters)"
        return why, "give it another name with rename"
    if own in replicated:
        why = f'{own}, the topic for its timings, is a destination topic of mirror "{replicated[own]}"'
        return why, "give one of the two another name with prefix, suffix or rename"
    return "", ""
