"""The effective configuration as readable text: defaults filled in, secrets left out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from causeway.config import secrets
from causeway.config.mirror import MirrorSettings
from causeway.config.routing import ConfigTable
from causeway.config.schema import Settings
from causeway.config.toml import written


def effective(settings: Settings, mirror: MirrorSettings) -> str:
    """The settings that concern this mirror, as TOML."""
    pools = {name: settings.pools[name] for name in mirror.source if name in settings.pools}
    sources = [pools[alias].nodes if alias in pools else (alias,) for alias in mirror.source]
    aliases = dict.fromkeys((*chain(*sources), mirror.destination))
    tables = [
        *((f"[clusters.{alias}]", settings.clusters[alias]) for alias in aliases),
        *((f"[pools.{name}]", pool) for name, pool in pools.items()),
        *((f"[registries.{name}]", settings.registries[name]) for name in registries_of(settings, mirror)),
        ("[[mirrors]]", mirror),
        ("[spark]", settings.spark),
        ("[web]", settings.web),
        ("[metrics]", settings.metrics),
        ("[log]", settings.log),
    ]
    return "\n".join(line for heading, table in tables for line in (heading, *_lines(table), ""))


def registries_of(settings: Settings, mirror: MirrorSettings) -> list[str]:
    """Names of the registries that the mirror uses: the sources', then the destination's."""
    if not mirror.copies_schemas:
        return []
    sources = [mirror.schemas.source] if mirror.schemas.source else mirror.source
    return list(dict.fromkeys((*sources, mirror.schemas.destination or mirror.destination)))


def _lines(table: ConfigTable) -> Iterator[str]:
    inner = {
        key: value.model_dump(exclude_defaults=True) for key, value in table if isinstance(value, ConfigTable)
    }
    unchanged = [key for key in inner if getattr(table, key) == type(table).model_fields[key].default]
    for key, value in {**table.model_dump(exclude=set(unchanged)), **inner}.items():
        if key not in unchanged and value is not None and (value != {} or key in inner):
            yield f"{key} = {written(_without_none(secrets.redacted(key, value)))}"


def _without_none(value: Any) -> Any:
    """TOML has no null."""
    if isinstance(value, dict):
        return {name: _without_none(inner) for name, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list | tuple) else value
