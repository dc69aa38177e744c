"""The commented file that `causeway init` writes, generated from the schema.

A line that begins with "# " is prose, one with "#" alone before a key is a setting with its default:
the file works as it is, and with every setting uncommented.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from causeway.config.mirror import MirrorSettings
from causeway.config.pools import PoolSettings
from causeway.config.reference import defaults, type_name
from causeway.config.registries import RegistrySettings
from causeway.config.routing import ConfigTable
from causeway.config.schema import TABLES, ClusterSettings, SparkSettings, inner_tables, is_property_table
from causeway.config.toml import written

_HEAD = """\
# Causeway's configuration. `causeway config reference` describes every key, and how environment
# variables (CAUSEWAY__…) and -X options override it. `causeway check FILE` tests the connections.
#
# ${env:NAME} and ${file:/path} stand for a variable or a file, in any value: keep secrets out of here.
"""
_POOL = "Clusters with the same records at the same offsets. A mirror's source may name them."
_REGISTRY = "The schema registry of a cluster, for mirrors that copy schemas."


def render() -> str:
    """The sample file."""
    servers = ClusterSettings.model_fields["bootstrap_servers"].examples or []
    return "\n".join(
        [
            _HEAD,
            "[clusters.paris]",
            *_keys(ClusterSettings),
            *_property_tables(ClusterSettings, "clusters.paris"),
            "[clusters.tokyo]",
            f"bootstrap_servers = {written(str(servers[0]).replace('paris', 'tokyo'))}",
            "",
            *_optional(PoolSettings, "pools.france", _POOL, {"nodes": ["paris"]}),
            *_optional(RegistrySettings, "registries.paris", _REGISTRY, {}),
            "[[mirrors]]",
            *_keys(MirrorSettings),
            *_mirror_tables(),
            "[spark]",
            *_keys(SparkSettings),
            *_property_tables(SparkSettings, "spark"),
            *(line for name in ("web", "metrics", "log") for line in (f"[{name}]", *_keys(TABLES[name]))),
        ]
    )


def _keys(table: type[ConfigTable]) -> Iterator[str]:
    known = defaults(table)
    for key, field in table.model_fields.items():
        if (is_property_table(table, key) and table is not MirrorSettings) or key in inner_tables(table):
            continue
        yield from _prose(f"{field.description} ({type_name(field)})")
        if key in known:
            yield f"#{key} = {written(known[key])}"
        else:
            yield f"{key} = {written((field.examples or [''])[0])}"
        yield ""


def _optional(table: type[ConfigTable], path: str, why: str, values: Mapping[str, object]) -> Iterator[str]:
    """All of it is a comment, since most mirrors need none."""
    yield from _prose(why)
    yield f"#[{path}]"
    for line in _keys(table):
        key = line.partition(" = ")[0]
        if key in values:
            line = f"{key} = {written(values[key])}"
        yield f"#{line}" if line and not line.startswith("#") else line
    yield from _property_tables(table, path)


def _mirror_tables() -> Iterator[str]:
    for key, table in inner_tables(MirrorSettings).items():
        yield from _optional(table, f"mirrors.{key}", MirrorSettings.model_fields[key].description or "", {})


def _property_tables(table: type[ConfigTable], path: str) -> Iterator[str]:
    for key, field in table.model_fields.items():
        if is_property_table(table, key) or key in inner_tables(table):
            yield from _prose(field.description or "")
            yield f"#[{path}.{key}]"
            for name, value in (field.examples or [{}])[0].items():
                yield f"#{name} = {written(value)}"
            yield ""


def _prose(text: str) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
