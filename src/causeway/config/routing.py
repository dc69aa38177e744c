"""The tables inside a mirror (filters, settings for one source), and the base class of all tables."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SerializationInfo, model_serializer

from causeway.config import fields, secrets
from causeway.config.fields import Dotted, Shown
from causeway.core.choices import OnError


class ConfigTable(BaseModel):
    """What all tables of the configuration have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    def __repr_args__(self) -> Any:
        for name, value in super().__repr_args__():
            yield name, secrets.redacted(name or "", value)

    @model_serializer(mode="wrap")
    def _without_secrets(self, handler: Any, info: SerializationInfo) -> dict[str, Any]:
        """JSON has references, and no secrets."""
        made: dict[str, Any] = handler(self)
        return secrets.redacted_table(made, secrets.OMITTED) if info.mode == "json" else made

    def __getstate__(self) -> dict[Any, Any]:
        """A pickle has references, and no secrets."""
        state = super().__getstate__()
        return {**state, "__dict__": secrets.redacted_table(state["__dict__"], secrets.OMITTED)}


class FilterSettings(ConfigTable):
    """A filter: code that decides which records are replicated. All of them must keep a record."""

    filter: fields.FilterName = Field(
        description="The filter's class or function: `package.module:name`, importable on the executors, or "
        "`path/to/file.py:name`, relative to this file, which is sent to them. The default name in a file is "
        "`Filter`. Or a Go plugin of kaf-relay: `path/to/testfilter.filter`; its ID is the file's name "
        "without extension, or given as `path/to/file.so:id`.",
        examples=["filters/europe.py:Europe"],
    )
    config: Annotated[dict[str, Any], AfterValidator(fields.as_text), Shown("table")] = Field(
        default={},
        description="Passed to the filter unchanged; dates become text.",
        examples=[{"countries": ["fr", "de"]}],
    )
    on_error: OnError = Field(
        default="stop",
        description="What to do with a record whose filter raises: stop its partition before it, keep it, "
        "or drop it.",
    )


class SourceSettings(ConfigTable):
    """Settings for one source of a mirror. Keys that are left out have the mirror's value."""

    topics: Annotated[fields.Topics | None, Shown("string or list of strings")] = Field(
        default=None, description="Topics to replicate from this source."
    )
    exclude: Annotated[fields.Exclusions | None, Shown("string or list of strings")] = Field(
        default=None, description="Topics of this source that are not replicated."
    )
    prefix: Annotated[fields.Affix | None, Shown("string")] = Field(
        default=None, description="Prefix of the names of its topics at the destination."
    )
    suffix: Annotated[fields.Affix | None, Shown("string")] = Field(
        default=None, description="Suffix of the names of its topics at the destination."
    )
    rename: Annotated[fields.Renames | None, Dotted(), Shown("table of topics")] = Field(
        default=None, description="Names of its topics at the destination."
    )
    start: Annotated[fields.Start | None, Shown('"earliest", "latest" or a timestamp')] = Field(
        default=None, description="Where to start its topics."
    )
    source_group_name: Annotated[fields.GroupName | None, Shown("string")] = Field(
        default=None, description="Consumer group on this source to which replicated offsets are committed."
    )
