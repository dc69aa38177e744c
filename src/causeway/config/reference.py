"""The reference of the configuration, as Markdown, generated from the schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import get_args

from pydantic.fields import FieldInfo

from causeway.config.fields import Between, Shown
from causeway.config.java_names import JAVA_ALONE, RENAMED, TRANSLATED, UNSUPPORTED
from causeway.config.properties import REFUSED, SPARK_REFUSED
from causeway.config.routing import ConfigTable, SourceSettings
from causeway.config.schema import NESTED, TABLES, inner_tables
from causeway.config.toml import written

_HEADINGS = {
    "clusters": "[clusters.<alias>]",
    "pools": "[pools.<name>]",
    "registries": "[registries.<name>]",
    "mirrors": "[[mirrors]]",
}
_NESTED_HEADINGS = {"filters": "[[mirrors.filters]]", "per_source": "[mirrors.per_source.<alias>]"}

_INTRODUCTION = """\
# Configuration

A TOML file. Environment variables override it, and `-X path.to.key=value` overrides both.

| for the key | variable | option |
|---|---|---|
| `bootstrap_servers` of the cluster "paris" | `CAUSEWAY__CLUSTERS__PARIS__BOOTSTRAP_SERVERS` | \
`-X clusters.paris.bootstrap_servers=…` |
| `shards` of the mirror "paris-to-tokyo" | `CAUSEWAY__MIRRORS__PARIS_TO_TOKYO__SHARDS` | \
`-X mirrors.paris-to-tokyo.shards=…` |
| the same, of the first mirror | `CAUSEWAY__MIRRORS__0__SHARDS` | `-X mirrors.0.shards=…` |
| the client property `sasl.password` | `CAUSEWAY__CLUSTERS__PARIS__PROPERTIES__SASL_PASSWORD` | \
`-X clusters.paris.properties.sasl.password=…` |

- Durations have a unit: `"500ms"`, `"30s"`, `"5m"`, `"2h"`, `"1d"`. Sizes have one, too: `"512B"`, \
`"64KiB"`, `"1MiB"`, `"1GiB"`, or decimal `"1KB"`, `"1MB"`, `"1GB"`.
- `${env:NAME}` and `${file:/path}` stand for the content of a variable or a file, in any value; `$${` is a \
literal `${`. In client properties they are resolved where the client is created, on the executors too.
- A property name in capitals becomes lower case; write it in lower or mixed case in the variable to keep \
its case (`CAUSEWAY__SPARK__PROPERTIES__spark_executor_memoryOverhead`).
"""


_JAVA = """\
Java's names are understood beside librdkafka's, where they have a counterpart. Both names of one thing in \
one table are rejected."""


def render() -> str:
    """The whole reference."""
    parts = [_INTRODUCTION]
    for section, table in TABLES.items():
        heading = _HEADINGS.get(section, f"[{section}]")
        parts += [f"## `{heading}`", "", cleandoc(table.__doc__ or ""), "", *_rows(table), ""]
        inner = {f"{heading[:-1]}.{key}]": table for key, table in inner_tables(table).items()}
        if section == "mirrors":
            inner = {_NESTED_HEADINGS[key]: nested for key, nested in NESTED.items()}
            inner |= {f"[{section}.{key}]": table for key, table in inner_tables(table).items()}
        for heading, nested in inner.items():
            parts += [f"### `{heading}`", "", cleandoc(nested.__doc__ or ""), "", *_rows(nested), ""]
    parts += ["## Client properties that are rejected", "", *_reasons(REFUSED), ""]
    java = {name: f"in librdkafka it is `{same}`" for name, same in RENAMED.items()} | dict(TRANSLATED)
    parts += ["## Names of the Java client", "", _JAVA, "", *_reasons(java, "means"), ""]
    parts += [
        "## Names of the Java client that are rejected",
        "",
        *_reasons({**UNSUPPORTED, **JAVA_ALONE}),
        "",
    ]
    parts += ["## Spark properties that are rejected", "", *_reasons(SPARK_REFUSED), ""]
    return "\n".join(parts)


def defaults(table: type[ConfigTable]) -> dict[str, object]:
    """The defaults of a table's optional keys, as TOML would have them."""
    made = table.model_construct().model_dump(warnings=False)
    return {key: made[key] for key, field in table.model_fields.items() if not field.is_required()}


def type_name(field: FieldInfo) -> str:
    """The values that a user may write."""
    bounds = "".join(f", {mark.low} to {mark.high}" for mark in field.metadata if isinstance(mark, Between))
    for mark in field.metadata:
        if isinstance(mark, Shown):
            return mark.name + bounds
    parts = (field.annotation, *get_args(field.annotation))
    choices = [choice for part in parts for choice in get_args(part)]
    return ", ".join(written(choice) for choice in choices if isinstance(choice, str)) or "string"


def _rows(table: type[ConfigTable]) -> Iterator[str]:
    yield "| key | type | default | description |"
    yield "|---|---|---|---|"
    known = defaults(table)
    inner = inner_tables(table)
    for key, field in table.model_fields.items():
        default = f"`{written(known[key])}`" if key in known else "required"
        if key in inner and key in known:
            default = "none"
        elif key in known and known[key] is None:
            default = "the mirror's" if table is SourceSettings else "none"
        example = f" Example: `{written(field.examples[0])}`." if field.examples else ""
        kind = "table, see below" if key in inner else type_name(field)
        cells = (f"`{key}`", kind, default, f"{field.description}{example}")
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _reasons(table: Mapping[str, str], what: str = "why") -> Iterator[str]:
    yield f"| property | {what} |"
    yield "|---|---|"
    yield from (f"| `{name}` | {reason} |" for name, reason in table.items())
