"""Generates the tables of docs/api.md and docs/metrics.md from the code that they describe.

    PYTHONPATH=tests .venv/bin/python -m support.generated_docs

A table is between two comments in the page, and is replaced there. The text around it is written by hand.

    <!-- fields: ApiMirror -->            every field of a model
    <!-- fields: ApiMirrorDetail - ApiMirror -->    without those of another model
    <!-- metrics: causeway_build_info … -->         the metric families of these names
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel

from causeway.cli import status_report
from causeway.reporting.families import FAMILIES
from causeway.web import api_schema

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "api.md", DOCS / "metrics.md")
MODELS: dict[str, type[BaseModel]] = {
    name: value
    for module in (api_schema, status_report)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, BaseModel) and value is not BaseModel
}
LINKS = {
    "ApiPool": "[pools](#a-source-pool)",
    "ApiNode": "[nodes](#a-node)",
    "ApiNodeMove": "[moves](#a-move-to-another-node)",
    "ApiMirror": "[mirrors](#a-mirror)",
    "ApiPartition": "[partitions](#a-partition)",
    "ApiShard": "[shards](#a-shard)",
    "ApiEvent": "[events](#an-event)",
    "ApiGap": "[gaps](#a-gap)",
    "ApiFinding": "[findings](#a-finding)",
}
"""How lists of these models are called in the tables, and where they are described."""
WORDS = {
    int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null",
}  # fmt: skip
BLOCK = re.compile(r"(<!-- (fields|metrics): (.*?) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def generated(page: str) -> str:
    """The page with its tables generated again."""

    def replaced(block: re.Match[str]) -> str:
        make = field_table if block[2] == "fields" else metric_table
        return f"{block[1]}{make(block[3])}{block[5]}"

    return BLOCK.sub(replaced, page)


def field_table(wanted: str) -> str:
    name, _, without = wanted.partition(" - ")
    omitted = MODELS[without].model_fields if without else {}
    rows = [
        f"| `{field}` | {type_text(info.annotation)} | {info.description} |\n"
        for field, info in MODELS[name].model_fields.items()
        if field not in omitted
    ]
    return "| field | type | |\n|---|---|---|\n" + "".join(rows)


def metric_table(wanted: str) -> str:
    families = {family.name: family for family in FAMILIES}
    rows = []
    for family in (families[name] for name in wanted.split()):
        labels = ", ".join(f"`{label}`" for label in family.labels)
        rows.append(f"| `{family.name}` | {family.kind} | {labels} | {family.help} |\n")
    return "| metric | type | labels | |\n|---|---|---|---|\n" + "".join(rows)


def type_text(annotation: Any) -> str:
    """A field's type in JSON's terms."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return type_text(arguments[0])
    if origin is Literal:
        return "string"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(type_text, arguments))
    if origin is list:
        (item,) = arguments
        model = getattr(item, "__name__", "")
        return f"list of {LINKS[model]}" if model in LINKS else f"list of {_plural(item)}"
    if origin is dict:
        return "object"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        names = ", ".join(f'"{field}"' for field in annotation.model_fields)
        return f"`{{{names}}}`"
    return WORDS[annotation]


def _plural(item: Any) -> str:
    text = type_text(item)
    if text.startswith("`"):
        return text
    first, *others = text.split(" or ")
    return " or ".join([f"{first}s", *others])


def undescribed() -> Iterator[str]:
    """Fields without a description."""
    for name, model in MODELS.items():
        yield from (f"{name}.{field}" for field, info in model.model_fields.items() if not info.description)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(generated(path.read_text()))
