"""The schema registries of a mirror, and what its tasks must know of schemas."""

from __future__ import annotations

from collections.abc import Iterable

from causeway.config import MirrorSettings, Settings
from causeway.config.registries import RegistrySettings, RegistryTlsSettings
from causeway.core.schema import Part, Registry
from causeway.core.task_order import SchemaPolicy
from causeway.planning.rules.selection import select


def registry_of(settings: Settings, name: str) -> Registry:
    registry = settings.registries[name]
    tls = registry.tls or RegistryTlsSettings()
    return Registry(
        name,
        registry.url,
        registry.username,
        registry.password,
        registry.token,
        tls.ca,
        tls.certificate,
        tls.key,
        tls.key_password,
        registry.context,
        registry.timeout,
    )


def source_registries(settings: Settings, mirror: MirrorSettings) -> dict[str, Registry]:
    """The sources' registries, by the sources' aliases; none where schemas are not copied."""
    if not mirror.copies_schemas:
        return {}
    return {alias: registry_of(settings, mirror.schemas.source or alias) for alias in mirror.source}


def destination_registry(settings: Settings, mirror: MirrorSettings) -> Registry:
    return registry_of(settings, mirror.schemas.destination or mirror.destination)


def schema_policy(mirror: MirrorSettings, topics: Iterable[str]) -> SchemaPolicy | None:
    """What the tasks do with records of these source topics; None where schemas are not copied."""
    schemas = mirror.schemas
    if not mirror.copies_schemas:
        return None
    strategies: dict[Part, str] = {"key": schemas.keys, "value": schemas.values}
    excluded = select(sorted(set(topics)), schemas.exclude, ()) if schemas.exclude else ()
    return SchemaPolicy(
        tuple(part for part, strategy in strategies.items() if strategy != "none"),
        schemas.unknown_ids,
        tuple(excluded),
    )


def registry_warnings(name: str, registry: RegistrySettings) -> list[str]:
    """A line for each danger that a registry's table allows, for the log at each start."""
    if not registry.exposes_login:
        return []
    return [f'registry "{name}": the login is sent unencrypted (registries.{name}.unsafe = true)']
