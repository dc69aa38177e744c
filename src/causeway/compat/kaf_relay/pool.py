"""kaf-relay's --mode failover: its nodes become a pool, with the settings of both generations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from causeway.compat.kaf_relay.clients import alias
from causeway.compat.kaf_relay.keys import Keys, Values
from causeway.compat.kaf_relay.nodes import Node
from causeway.compat.reading import fitting
from causeway.compat.translation import Translation
from causeway.config import PoolSettings
from causeway.config.units import format_duration

_WITHOUT_BACKOFF = 1_000.0
"""What kaf-relay waits between two attempts if its backoff is not enabled, in milliseconds."""

_LIMIT = "becomes max_failovers: how many nodes are left in a row without a record in between"
_LAG = (
    "becomes lag_threshold: a node is compared with the others in each partition, not in sum, and left when "
    "another one has had more records for 10s (hysteresis)"
)
_TIMEOUT = (
    "becomes request_timeout, for checks alone: a node is left after two failed checks in a row, not after "
    "one slow response"
)
_LEFT_ALONE = (
    "becomes backoff_min and backoff_max: how long a node that had to be left is left alone; clients "
    "reconnect with their own backoff"
)
_REMARKS = {
    "healthcheck_interval": "",
    "node_health_check_frequency": "",
    "offset_lag_threshold": _LAG,
    "lag_threshold": _LAG,
    "max_retries": _LIMIT,
    "max_failovers": _LIMIT,
    "request_timeout": _TIMEOUT,
    "max_request_duration": _TIMEOUT,
    "randomize_initial": "",
    **dict.fromkeys(("backoff_enable", "backoff_min", "backoff_max", "enable", "min", "max"), _LEFT_ALONE),
}


def in_failover_mode(keys: Keys) -> Keys:
    """The keys of a table with what becomes of them in this mode."""
    return {name: replace(key, remark=_REMARKS.get(name, key.remark)) for name, key in keys.items()}


def add_pool(
    translation: Translation, nodes: Sequence[Node], app: Values, retry: Values, settings: Values
) -> str:
    """Add a pool of all nodes, with the settings of [source_pool] or the older ones; returns its name."""
    name = alias(None, "pool", translation.clusters)
    pool: dict[str, Any] = {"nodes": [node.alias for node in nodes]}
    for key, new, old in (
        ("healthcheck_interval", "healthcheck_interval", "node_health_check_frequency"),
        ("request_timeout", "request_timeout", "max_request_duration"),
    ):
        found = _chosen(settings, app, new, old)
        if found is not None:
            pool[key] = _duration(translation, key, *found)
    lag = _chosen(settings, app, "offset_lag_threshold", "lag_threshold")
    if lag is not None:
        pool["lag_threshold"] = _count(translation, *lag)
    limit = _chosen(settings, app, "max_retries", "max_failovers")
    if limit is not None and limit[1] >= 0:
        pool["max_failovers"] = int(limit[1])
    pool |= _backoff(translation, settings, retry)
    if settings.get("randomize_initial"):
        pool["initial"] = "random"
    translation.pools[name] = pool
    return name


def _backoff(translation: Translation, settings: Values, retry: Values) -> dict[str, Any]:
    given = {key.removeprefix("backoff_"): value for key, value in settings.items() if "backoff_" in key}
    path = "source_pool.backoff_"
    if not given:
        given, path = dict(retry), "app.retry_backoff."
    if not given:
        return {}
    if not given.get("enable"):
        wait = _duration(translation, "backoff_min", path, _WITHOUT_BACKOFF)
        return {"backoff_min": wait, "backoff_max": wait, "jitter": 0.0}
    low, high = given.get("min"), given.get("max")
    if isinstance(low, float) and isinstance(high, float):
        low = min(low, high)  # as in kaf-relay, where the maximum wins
    elif isinstance(low, float):
        high = max(low, 1_000 * float(PoolSettings.model_fields["backoff_max"].default))
    elif isinstance(high, float):
        low = min(high, 1_000 * float(PoolSettings.model_fields["backoff_min"].default))
    return {
        f"backoff_{end}": _duration(translation, f"backoff_{end}", f"{path}{end}", value)
        for end, value in (("min", low), ("max", high))
        if isinstance(value, float)
    }


def _chosen(settings: Values, app: Values, new: str, old: str) -> tuple[str, float] | None:
    """The key of either generation, and its value."""
    for path, values in ((f"source_pool.{new}", settings), (f"app.{old}", app)):
        value = values.get(path.partition(".")[2])
        if isinstance(value, int | float):
            return path, value
    return None


def _duration(translation: Translation, ours: str, theirs: str, milliseconds: float) -> str:
    field = PoolSettings.model_fields[ours]
    kind: Any = Annotated[field.annotation, field]
    if milliseconds < 0:
        translation.problem(theirs, "must not be negative")
        return "1s"
    return fitting(translation, theirs, format_duration(milliseconds / 1_000), kind)


def _count(translation: Translation, key: str, value: float) -> int:
    if value < 0:
        translation.problem(key, f"must not be negative, not {value}")
    return max(0, int(value))
