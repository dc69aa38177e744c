"""The tables inside a mirror (filters, settings for one source), and the base class of all tables."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from causeway.config import fields, secrets
from causeway.config.fields import Dotted, Shown
from causeway.core.choices import OnError


class ConfigTable(BaseModel):
    """What all tables of the configuration have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    def __repr_args__(self) -> Any:
        for name, value in super().__repr_args__():
            yield name, secrets.redacted(name or "", value)


class FilterSettings(ConfigTable):
    """A filter: Python code that decides which records are carried. Several must all keep a record."""

    filter: fields.FilterName = Field(
        description="What makes the filter: `package.module:name`, importable where the shards run, or "
        "`path/to/file.py:name`, relative to this file, which is sent there. A file's default name is "
        "`Filter`.",
        examples=["filters/europe.py:Europe"],
    )
    config: Annotated[dict[str, Any], AfterValidator(fields.as_text), Shown("table")] = Field(
        default={},
        description="Handed to the filter as it is; dates become text.",
        examples=[{"countries": ["fr", "de"]}],
    )
    on_error: OnError = Field(
        default="stop",
        description="What happens to a record whose filter raises: its partition stops before it, or the "
        "record is kept, or dropped.",
    )


class SourceSettings(ConfigTable):
    """Settings for one source of a mirror. Keys that are left out have the mirror's value."""

    topics: Annotated[fields.Topics | None, Shown("string or list of strings")] = Field(
        default=None, description="Topics to carry from this source."
    )
    exclude: Annotated[fields.Exclusions | None, Shown("string or list of strings")] = Field(
        default=None, description="Topics of this source to leave out."
    )
    prefix: Annotated[fields.Affix | None, Shown("string")] = Field(
        default=None, description="Put before the names of its topics."
    )
    suffix: Annotated[fields.Affix | None, Shown("string")] = Field(
        default=None, description="Put behind the names of its topics."
    )
    rename: Annotated[fields.Renames | None, Dotted(), Shown("table of topics")] = Field(
        default=None, description="Names of its topics at the destination."
    )
    start: Annotated[fields.Start | None, Shown('"earliest", "latest" or a timestamp')] = Field(
        default=None, description="Where to begin with its topics."
    )
    source_group_name: Annotated[fields.GroupName | None, Shown("string")] = Field(
        default=None, description="Consumer group that is advanced on this source."
    )
